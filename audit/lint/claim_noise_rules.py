"""What is wrong with the noise of one release: too little of it, or another mechanism than its theorem has."""

import math
from collections.abc import Iterator

from ...mechanisms.gaussian import epsilon_of
from .claim_accounts import delta_of, group, needs_delta, scale_needed
from .claim_remark import ROUNDING, Remark, where
from .claim_statement import SAMPLED, Noise, Statement
from .noise_accounts import Account, failure_of_test, fits_whole_numbers, steps_of
from .sampled_noise import account_of, is_sampled, relations

NORMS = {"laplace": "L1", "discrete-laplace": "L1", "gaussian": "L2", "discrete-gaussian": "L2"}
SCALES = {
    "laplace": ("sensitivity / epsilon", "Dwork et al. 2006"),
    "discrete-laplace": ("sensitivity / epsilon", "Ghosh, Roughgarden and Sundararajan 2012"),
    "gaussian": ("the analytic Gaussian mechanism", "Balle and Wang 2018, Theorem 8"),
    "discrete-gaussian": ("the discrete Gaussian's own delta", "Canonne, Kamath and Steinke 2020, Theorem 7"),
    "randomised-response": ("ln(p / (1 - p)) for each bit", "Dwork and Roth 2014, section 3.2"),
    "k-ary-response": ("ln(p (k - 1) / (1 - p)) for each answer", "Kairouz, Bonawitz and Ramage 2016"),
    "exponential": ("2 x sensitivity / scale, half of it for monotone scores", "McSherry and Talwar 2007"),
    "permute-and-flip": ("2 x sensitivity / scale, half of it for monotone scores", "McKenna and Sheldon 2020"),
    "sparse-vector": (
        "sensitivity x (1 / threshold_scale + 2 x positives / query_scale + positives / value_scale)",
        "Lyu, Su and Li 2017, Theorems 2 to 5",
    ),
    "propose-test-release": ("1 / test_scale + sensitivity / scale", "Dwork and Lei 2009"),
    "smooth-sensitivity": (
        "Cauchy: scale 6 / epsilon and beta epsilon / 6; Laplace: 2 / epsilon and epsilon / (2 ln(2 / delta))",
        "Nissim, Raskhodnikova and Smith 2007, Lemmas 2.5 to 2.7",
    ),
}
"""How epsilon follows from the noise, and who showed it."""
AMPLIFIED = (
    "ln(1 + rate x (e^epsilon - 1)), with delta x rate",
    "Balle, Barthe and Gaboardi 2018, Theorems 8 to 10",
)


def noise_scale(statement: Statement) -> Iterator[Remark]:
    """Epsilon that follows from the noise, beside the one that is claimed."""
    for noise in statement.noise:
        epsilon, delta = statement.claimed_of(noise), _delta(noise, statement)
        # its own epsilon is for one of its own units, the claim's for all that change with one of the claim
        many = 1 if noise.epsilon is not None else group(noise, statement.claim) or 1
        kept = account_of(noise, statement.claim.adjacency, many)
        if epsilon is None or kept is None or epsilon >= kept.sound(delta) * (1 - ROUNDING):
            continue
        plain = not is_sampled(noise)
        needed = scale_needed(noise, epsilon, delta, many) if plain else None
        if needed is not None and noise.scale is not None and noise.scale >= needed * (1 - ROUNDING):
            continue
        least = kept.least(delta)
        if math.isinf(least) or (not delta and needs_delta(noise)):
            continue  # no noise is enough: rules of their own
        if epsilon >= least * (1 - ROUNDING):
            yield _unproven(noise, kept, epsilon, delta)
        else:
            yield _too_little(noise, many, needed, least, epsilon, delta)


def _delta(noise: Noise, statement: Statement) -> float:
    """What the noise may use of the claim's delta: noise that needs none has its own, or all if it is alone."""
    if needs_delta(noise) or noise.delta is not None:
        return delta_of(noise, statement)
    alone = len(statement.releases) == statement.counted(noise).times == 1 and noise.epsilon is None
    return statement.claim.delta if alone else 0.0


def _unproven(noise: Noise, kept: Account, epsilon: float, delta: float) -> Remark:
    """Between what is proven and what is surely too little."""
    how, source = AMPLIFIED if is_sampled(noise) else SCALES[noise.mechanism]
    sound = kept.sound(delta)
    proven = "no epsilon is proven for it" if math.isinf(sound) else f"epsilon {sound:.4g} is proven ({how})"
    says = f"these facts neither prove nor refute epsilon {epsilon:g}: {proven}"
    do = f"claim {sound:.4g}, or show how it was computed"
    if is_sampled(noise):
        do = 'say sensitivity_for = "both" if the sensitivity holds for units that go and for replaced ones'
    elif noise.mechanism in NORMS and noise.norm != "any":
        do += ', or say norm = "any" if it is one number'
    elif math.isinf(sound):
        do = "show how it was computed"
    return Remark("noise-scale", "doubt", where(noise), says, do, source)


def _too_little(
    noise: Noise, many: int, needed: float | None, least: float, epsilon: float, delta: float
) -> Remark:
    """The epsilon that the noise does keep, where so many of its units change together, and what it would take."""
    how, source = AMPLIFIED if is_sampled(noise) else SCALES[noise.mechanism]
    promise = f"epsilon {epsilon:g}" + (f" and delta {delta:.3g}" if delta else "")
    promise += f" for {many} {noise.unit}s that change together" if many > 1 else ""
    kept = f"what is there keeps epsilon {least:.4g}" + (" at best" if needed is None else "")
    mistake = mistaken_for(noise, many, epsilon, delta)
    kept += "" if mistake is None else f"; {mistake}"
    if needed is None:
        says = f"{promise} does not follow: {kept}"
        return Remark("noise-scale", "wrong", where(noise), says, f"claim that, or add noise ({how})", source)
    if noise.truthful is not None and noise.scale is None:
        says = f"{promise} allows true answers with probability {needed:.5g} at most, they have {noise.truthful:g}"
        return Remark("noise-scale", "wrong", where(noise), f"{says}; {kept}", f"lie more often: {how}", source)
    hidden = f"sensitivity {noise.sensitivity:g}" + (" each" if many > 1 else "")
    says = f"{promise} with {hidden} takes a scale of {needed:.5g}, it is {noise.scale:g}; {kept}"
    return Remark("noise-scale", "wrong", where(noise), says, f"take {needed:.5g} or more ({how})", source)


def mistaken_for(noise: Noise, many: int, epsilon: float, delta: float) -> str | None:
    """The formula of something else that gives what is claimed; None if no known one does."""
    for formula, value in _formulas(noise, many, delta):
        if value is not None and math.isclose(value, epsilon, rel_tol=2 * ROUNDING):
            return f"{epsilon:g} is {formula}"
    return None


def _formulas(noise: Noise, many: int, delta: float) -> Iterator[tuple[str, float | None]]:
    """Common mistakes, and the epsilon that each of them gives."""
    size = many * (noise.sensitivity or 0.0)
    ratio = size / noise.scale if noise.scale else None
    if noise.mechanism == "k-ary-response" and noise.truthful is not None and noise.truthful > 0.5:
        yield "the formula for two answers", size * math.log(noise.truthful / (1 - noise.truthful))
    if noise.mechanism in {"exponential", "permute-and-flip"}:
        yield "sensitivity / scale, which lacks a factor of two: scores may move apart from both sides", ratio
    if noise.mechanism == "sparse-vector" and noise.threshold_scale and noise.query_scale:
        sides = 1 if noise.monotone else 2
        once = size * (1 / noise.threshold_scale + sides / noise.query_scale)
        yield "what one answer above costs, however many there are", once
        yield "as if one unit moved all queries the same way", _all_one_way(noise, size)
    if noise.mechanism == "propose-test-release":
        yield "the epsilon of the release alone, without that of its test", ratio
    if noise.mechanism == "discrete-gaussian" and delta and ratio:
        yield "what continuous noise of this deviation keeps", epsilon_of(min(ratio, 1e4), delta)
    if noise.sample_rate is not None and noise.sampling in {None, "none", "poisson", "without-replacement"}:
        yield from _formulas_of_samples(noise, many, delta, noise.sample_rate)


def _all_one_way(noise: Noise, size: float) -> float | None:
    if not noise.threshold_scale or not noise.query_scale or not isinstance(noise.positives, int):
        return None
    return size * (
        (noise.positives if noise.refreshed else 1) / noise.threshold_scale + noise.positives / noise.query_scale
    )


def _formulas_of_samples(noise: Noise, many: int, delta: float, rate: float) -> Iterator[tuple[str, float | None]]:
    """Mistakes about the chance to be drawn."""
    whole = account_of(noise.model_copy(update={"sampling": "none"}), "add/remove", many)
    if whole is None:
        return
    for at in dict.fromkeys((delta, delta / rate if delta < rate else delta)):
        epsilon = whole.sound(at)
        yield "rate x epsilon, which is an approximation from below", rate * epsilon
        if math.isfinite(epsilon) and epsilon < 700:
            how = (
                "what a sample would keep, and all units are used"
                if noise.sampling == "none"
                else ("what a sample keeps for other neighbours")
            )
            yield how, math.log1p(rate * math.expm1(epsilon))


def norm_of_sensitivity(statement: Statement) -> Iterator[Remark]:
    """Laplace noise hides a change in L1, Gaussian noise one in L2."""
    for noise in statement.noise:
        due = NORMS.get(noise.mechanism)
        if due is None or noise.norm in (None, "any", due):
            continue
        says = (
            f"{noise.mechanism} noise hides a change that is bounded in {due}; this one is bounded in {noise.norm}"
        )
        if due == "L2":  # the L2 norm is never above the L1 norm
            do = "state the L2 norm, which is smaller or the same"
            yield Remark("norm", "note", where(noise), says, do, "Dwork and Roth 2014, appendix A")
            continue
        do = "bound the L1 norm (up to root d times as large in d dimensions), or add Gaussian noise"
        yield Remark("norm", "wrong", where(noise), says, do, SCALES["laplace"][1])


def off_the_grid(statement: Statement) -> Iterator[Remark]:
    """Discrete noise hides values on its own grid."""
    for noise in statement.noise:
        if noise.mechanism not in {"discrete-laplace", "discrete-gaussian"} or steps_of(noise) != 0.0:
            continue
        says = (
            f"discrete noise in steps of {noise.grid or 1:g} for values that change by {noise.sensitivity:g}: they "
            "lie off its grid, and what is left over by a step goes out as it is"
        )
        do = "round to the grid first, and state the sensitivity of what is rounded"
        source = "Canonne, Kamath and Steinke 2020, section 1.1"
        yield Remark("grid", "wrong", where(noise), says, do, source)


def sampling_relation(statement: Statement) -> Iterator[Remark]:
    """A sample's theorem is about the neighbours that its way of drawing treats alike."""
    for noise in statement.noise:
        if not is_sampled(noise) or noise.sampling is None or noise.sensitivity_for is None:
            continue
        proven, needed = relations(noise, statement.claim.adjacency)
        if proven is None:
            says = (
                "units come or go, and the sensitivity is that of a replaced one alone: nothing bounds the change"
            )
            do = "state the sensitivity for units that come or go"
        elif not proven.amplified and not needed.amplified:
            says = (
                "a replaced unit shows by whether it was drawn at all, unless the sensitivity also bounds one that "
                "goes: Poisson sampling takes nothing off epsilon then"
            )
            do = 'claim for add/remove, or say sensitivity_for = "both" if it bounds that too'
        elif needed.many > 1:
            says = (
                "of a fixed number of units another one is drawn in place of one that is gone: the sum changes by "
                "up to twice the sensitivity"
            )
            do = "draw each unit alone (poisson), or state the sensitivity for a replaced unit"
        else:
            continue
        if not _too_small(noise, statement):
            yield Remark("sampling", "note", where(noise), says, do, AMPLIFIED[1])
        else:
            yield Remark("sampling", "wrong", where(noise), says, do, AMPLIFIED[1])


def _too_small(noise: Noise, statement: Statement) -> bool:
    epsilon, kept = statement.claimed_of(noise), account_of(noise, statement.claim.adjacency)
    return (
        epsilon is not None and kept is not None and epsilon < kept.least(_delta(noise, statement)) * (1 - ROUNDING)
    )


def local_sensitivity(statement: Statement) -> Iterator[Remark]:
    """Noise whose size is read off the data tells what it was read off."""
    for noise in statement.noise:
        smooth = noise.mechanism == "smooth-sensitivity"
        if noise.calibrated_to == "local" and (smooth or noise.mechanism in SAMPLED):
            says = (
                "the noise is for the sensitivity of these data; a neighbour's may be another, and its size tells"
            )
            do = "take the largest sensitivity of any data, or a smooth bound of the local one (smooth-sensitivity)"
        elif noise.calibrated_to == "smooth" and noise.mechanism in SAMPLED:
            says = (
                "noise in proportion to a smooth bound has another scale on a neighbour; this formula leaves it out"
            )
            do = 'say mechanism = "smooth-sensitivity", with its law, scale and beta'
        else:
            continue
        yield Remark("local-sensitivity", "wrong", where(noise), says, do, SCALES["smooth-sensitivity"][1])


def failing_tests(statement: Statement) -> Iterator[Remark]:
    """A test of the sensitivity needs noise, and fails with some probability: the delta."""
    for noise in statement.noise:
        failure, delta = failure_of_test(noise), _delta(noise, statement)
        if noise.mechanism != "propose-test-release" or not (noise.test_scale == 0 or failure is not None):
            continue
        if noise.test_scale == 0:
            says = (
                "the test has no noise: it passes on one of two neighbours and not on the other, which all can see"
            )
            do = "add Laplace noise to the distance (test_scale), and count its epsilon"
        elif failure is not None and delta < failure * (1 - ROUNDING):
            says = f"the test passes by mistake with probability {failure:.3g}, and delta is {delta:.3g}"
            do = f"claim a delta of {failure:.3g} or more, or raise the threshold"
            if not statement.claim.delta:
                continue  # the rule of delta
        else:
            continue
        yield Remark("propose-test-release", "wrong", where(noise), says, do, SCALES[noise.mechanism][1])


ENDLESS = (
    (
        "threshold_scale",
        "the threshold has no noise: each answer tells something, those below too, and they are not counted",
        "add Laplace noise to the threshold once (threshold_scale)",
    ),
    (
        "query_scale",
        "queries have no noise: a threshold that is known closely enough parts any two neighbours",
        "add Laplace noise of 2 x positives x sensitivity / epsilon to each query (query_scale)",
    ),
)


def broken_sparse_vector(statement: Statement) -> Iterator[Remark]:
    """Variants of the sparse vector technique that promise nothing (Lyu, Su and Li 2017, Figure 2)."""
    source = "Lyu, Su and Li 2017, sections 3.2 and 3.3"
    for noise in statement.noise:
        if noise.mechanism != "sparse-vector":
            continue
        for field, says, do in ENDLESS:
            if getattr(noise, field) == 0:
                yield Remark("sparse-vector", "wrong", where(noise), says, do, source)
        if noise.positives == "unlimited":
            says = "it never stops: each answer above the threshold costs epsilon, and there may be any number"
            do = "stop after a number of answers above that is set beforehand (positives), and divide epsilon by it"
            yield Remark("sparse-vector", "wrong", where(noise), says, do, source)
        if noise.answers == "tested value":
            says = "the value that is told is the one that was tested: it gives away the noise of the threshold"
            do = 'tell a value with new noise (answers = "new value", value_scale), and count its epsilon'
            pure = not _delta(noise, statement)
            yield Remark("sparse-vector", "wrong" if pure else "doubt", where(noise), says, do, source)


def whole_numbers(noise: Noise) -> bool:
    """Whether the grid of discrete noise is known, or may be that of whole numbers."""
    return noise.grid is not None or noise.sensitivity is None or fits_whole_numbers(noise)
