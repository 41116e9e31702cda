"""What is wrong with the sums of a claim: a budget that is spent more than once, deltas, and settings tried."""

from collections.abc import Iterator

from .claim_accounts import Spent, delta_of, needs_delta, own_delta, spent
from .claim_composition import least_together, together
from .claim_remark import ROUNDING, Remark
from .claim_statement import Noise, Release, Statement
from .sampled_noise import account_of

BASIC = "Dwork and Roth 2014, section 3.5"


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
    """Wrong where some inputs need more than is claimed, a doubt where no composition here gives as little."""
    claim = statement.claim
    ways = together(found, claim.delta)
    if not ways:
        return  # Gaussian noise and no delta: a rule of its own
    best, stated = min(ways.values()), ways.get(claim.composition)
    listed = ", ".join(f"{name} {epsilon:.4g}" for name, epsilon in ways.items())
    if claim.epsilon < best * (1 - ROUNDING):
        parts = " + ".join(f"{part.name} {part.epsilon:.4g}" for part in found)
        says = f"releases on the same data add up: {parts}; together {listed}, claimed is {claim.epsilon:g}"
        do = "split the epsilon between them, release less often, or claim what they add up to"
        wrong = claim.epsilon < least_together(statement) * (1 - ROUNDING)
        if not wrong:
            do = "show the sum: a numerical composition may give less than those that are recomputed here"
        source = f"{BASIC}; Mironov 2017, Proposition 1"
        yield Remark("budget", "wrong" if wrong else "doubt", "[claim]", says, do, source)
    elif claim.composition != "prv" and (stated is None or claim.epsilon < stated * (1 - ROUNDING)):
        says = f"by {claim.composition} composition these do not add up to {claim.epsilon:g} or less: {listed}"
        do = f'say composition = "{min(ways, key=lambda name: ways[name])}", by which the claim holds'
        yield Remark("budget", "doubt", "[claim]", says, do, "Mironov 2017; Dong, Roth and Su 2022")


def deltas(statement: Statement) -> Iterator[Remark]:
    """Deltas add up too, and Gaussian noise needs one."""
    claim, total = (
        statement.claim,
        sum(r.times * (own_delta(r) or 0.0) for r in statement.releases if _uses(r, statement)),
    )
    needy = [release.name for release in statement.releases if needs_delta(release)]
    if needy and not claim.delta:
        kinds = ", ".join(dict.fromkeys(_kind(release) for release in statement.releases if needs_delta(release)))
        says = f"{kinds} ({', '.join(needy)}) promises nothing with delta 0, however much noise there is"
        do = "claim a delta below one over the number of units, or add noise that needs none"
        yield Remark("delta", "wrong", "[claim]", says, do, "Balle and Wang 2018, Theorem 8; Nissim et al. 2007")
    elif total > claim.delta * (1 + ROUNDING):
        says = f"the deltas of the releases add up to {total:.3g}, claimed is {claim.delta:.3g}"
        do = "split the delta between them"
        yield Remark("delta", "wrong", "[claim]", says, do, "Dwork and Roth 2014, Theorem 3.16")
    elif any(own_delta(r) is None and needs_delta(r) and not delta_of(r, statement) for r in statement.releases):
        says = f"cannot be judged: releases that state a delta leave nothing of it for others ({', '.join(needy)})"
        do = "say the delta of each release, and claim their sum"
        yield Remark("delta", "doubt", "[claim]", says, do, "Dwork and Roth 2014, Theorem 3.16")


def _uses(release: Release, statement: Statement) -> bool:
    """Whether a delta that is stated is needed: noise that keeps its epsilon with delta 0 does without."""
    if not isinstance(release, Noise) or needs_delta(release):
        return release.delta is not None or release.times > 1 or len(statement.releases) > 1
    kept, epsilon = account_of(release, statement.claim.adjacency), statement.claimed_of(release)
    return kept is None or epsilon is None or kept.sound(0.0) > epsilon * (1 + ROUNDING)


def _kind(release: Release) -> str:
    """Noise that needs a delta, in words."""
    if isinstance(release, Noise) and release.mechanism == "propose-test-release":
        return "a test that may fail"
    if isinstance(release, Noise) and release.mechanism == "smooth-sensitivity" and release.law == "laplace":
        return "Laplace noise in proportion to a smooth bound"
    return "Gaussian noise"


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
