"""What is wrong with the sums of a claim: noise that is too small, and a budget that is spent more than once."""

from collections.abc import Iterator

from .claim_accounts import Spent, delta_of, group, needs_delta, noise_epsilon, noise_needed, spent, together
from .claim_remark import ROUNDING, Remark, Severity, where
from .claim_statement import Noise, Statement

NORMS = {"laplace": "L1", "discrete-laplace": "L1", "gaussian": "L2", "discrete-gaussian": "L2"}
BASIC = "Dwork and Roth 2014, section 3.5"
SCALES = {
    "laplace": ("sensitivity / epsilon", "Dwork et al. 2006"),
    "gaussian": ("the analytic Gaussian mechanism", "Balle and Wang 2018, Theorem 8"),
    "randomised-response": ("ln(p / (1 - p)) for each bit", "Dwork and Roth 2014, section 3.2"),
}


def noise_scale(statement: Statement) -> Iterator[Remark]:
    """Noise that follows from sensitivity and epsilon, beside what is there."""
    for noise in statement.noise:
        epsilon, delta = statement.claimed_of(noise), delta_of(noise, statement)
        if epsilon is None or noise.sensitivity is None:
            continue
        # its own epsilon is for one of its own units, the claim's for all that change with one of the claim
        many = 1 if noise.epsilon is not None else group(noise, statement.claim) or 1
        hidden = noise.model_copy(update={"sensitivity": many * noise.sensitivity})
        needed, got = noise_needed(hidden, epsilon, delta), noise_epsilon(hidden, delta)
        have = noise.truthful if noise.mechanism == "randomised-response" else noise.scale
        if needed is None or got is None or have is None:
            continue
        truthful = noise.mechanism == "randomised-response"
        if got <= epsilon * (1 + ROUNDING) if truthful else have >= needed * (1 - ROUNDING):
            continue
        yield _too_little(noise, many, have, needed, got, epsilon, delta)


def _too_little(
    noise: Noise, many: int, have: float, needed: float, got: float, epsilon: float, delta: float
) -> Remark:
    """Both numbers, and the epsilon that the noise does keep, where so many of its units change together."""
    how, source = SCALES[noise.mechanism.removeprefix("discrete-")]
    promise = f"epsilon {epsilon:g}" + (f" and delta {delta:.3g}" if needs_delta(noise) else "")
    promise += f" for {many} edges that change together" if many > 1 else ""
    kept = f"what is there keeps epsilon {got:.4g}"
    if noise.mechanism == "randomised-response":
        says = f"{promise} allows true answers with probability {needed:.5g} at most, they have {have:g}; {kept}"
        return Remark("noise-scale", "wrong", where(noise), says, f"lie more often: {how}", source)
    hidden = f"sensitivity {noise.sensitivity:g}" + (" each" if many > 1 else "")
    says = f"{promise} with {hidden} takes a scale of {needed:.5g}, it is {have:g}; {kept}"
    return Remark("noise-scale", "wrong", where(noise), says, f"take {needed:.5g} or more ({how})", source)


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


def budget(statement: Statement) -> Iterator[Remark]:
    """Everything that is released on the same data adds up, and must not exceed the claim."""
    releases = statement.releases
    if len(releases) == 1 and releases[0].times == 1 and releases[0].epsilon is None:
        return  # a single release is the rule of noise-scale or training-epsilon
    found = [part for part in (spent(release, statement) for release in releases) if part is not None]
    if len(found) == len(releases):
        yield from _too_much(statement, found)
        return
    unknown = {release.name for release in releases} - {part.name for part in found}
    says = f"cannot be added up: no epsilon follows for {', '.join(sorted(unknown))}"
    do = "say what is missing there, or its epsilon for one unit of the claim"
    yield Remark("budget", "doubt", "[claim]", says, do, BASIC)


def _too_much(statement: Statement, found: list[Spent]) -> Iterator[Remark]:
    """Wrong where no composition gives as little as is claimed, a doubt where another one than is named does."""
    claim = statement.claim
    ways = together(found, claim.delta)
    if not ways:
        return  # Gaussian noise and no delta: a rule of its own
    best, stated = min(ways.values()), ways.get(claim.composition)
    listed = ", ".join(f"{name} {epsilon:.4g}" for name, epsilon in ways.items())
    numerical = claim.composition == "prv" and claim.epsilon >= best / 2
    if claim.epsilon < best * (1 - ROUNDING):
        parts = " + ".join(f"{part.name} {part.epsilon:.4g}" for part in found)
        says = f"releases on the same data add up: {parts}; together {listed}, claimed is {claim.epsilon:g}"
        do = "split the epsilon between them, release less often, or claim what they add up to"
        if numerical:
            do = "show the sum: numerical composition is not recomputed here, and can give less"
        severity: Severity = "doubt" if numerical else "wrong"
        yield Remark("budget", severity, "[claim]", says, do, f"{BASIC}; Mironov 2017, Proposition 1")
    elif claim.composition != "prv" and (stated is None or claim.epsilon < stated * (1 - ROUNDING)):
        says = f"by {claim.composition} composition these do not add up to {claim.epsilon:g} or less: {listed}"
        do = f'say composition = "{min(ways, key=lambda name: ways[name])}", by which the claim holds'
        yield Remark("budget", "doubt", "[claim]", says, do, "Mironov 2017; Dong, Roth and Su 2022")


def deltas(statement: Statement) -> Iterator[Remark]:
    """Deltas add up too, and Gaussian noise needs one."""
    claim, total = statement.claim, sum(r.times * (r.delta or 0.0) for r in statement.releases)
    needy = [release.name for release in statement.releases if needs_delta(release)]
    if needy and not claim.delta:
        says = f"Gaussian noise ({', '.join(needy)}) promises nothing with delta 0, however much of it there is"
        do = "claim a delta below one over the number of units, or add Laplace noise"
        yield Remark("delta", "wrong", "[claim]", says, do, "Balle and Wang 2018, Theorem 8")
    elif total > claim.delta * (1 + ROUNDING):
        says = f"the deltas of the releases add up to {total:.3g}, claimed is {claim.delta:.3g}"
        do = "split the delta between them"
        yield Remark("delta", "wrong", "[claim]", says, do, "Dwork and Roth 2014, Theorem 3.16")
    elif any(r.delta is None and needs_delta(r) and not delta_of(r, statement) for r in statement.releases):
        says = f"cannot be judged: releases that state a delta leave nothing of it for others ({', '.join(needy)})"
        do = "say the delta of each release, and claim their sum"
        yield Remark("delta", "doubt", "[claim]", says, do, "Dwork and Roth 2014, Theorem 3.16")


def selection(statement: Statement) -> Iterator[Remark]:
    """Choosing the best of several private models by private data is one more release."""
    chosen = statement.selection
    if chosen is None or chosen.tried == 1 or chosen.judged_on == "public":
        return
    if chosen.judged_on == "within the budget":
        trained = sum(training.times for training in statement.training)
        if not statement.training or trained >= chosen.tried:
            return
        says = f"{chosen.tried} settings were tried within the budget, and {trained} trainings are listed"
        do = "list every trial, or give times = the number of trials"
        yield Remark("selection", "wrong", "[selection]", says, do, "Papernot and Steinke 2022")
        return
    says = f"{chosen.tried} settings were trained on the private data and one was chosen by it: a release in itself"
    do = "choose on public data, list every trial as a release, or choose by a private selection"
    yield Remark("selection", "wrong", "[selection]", says, do, "Papernot and Steinke 2022")
