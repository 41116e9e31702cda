"""What is wrong with a promise itself: its unit, its delta, what its noise rests on, and what goes around it."""

from collections.abc import Iterator

from ...settings import Settings
from .claim_accounts import GROUPS, group, rate_of
from .claim_noise_rules import whole_numbers
from .claim_remark import Remark, lacking, where
from .claim_sensitivity import couples, owns_many
from .claim_statement import LINKS, Bound, Claim, Noise, Release, Statement, Training, Unit

WITH_A_NODE: tuple[Unit, ...] = ("node-label", "edge", "event", "edge-history")
COVERS: dict[Unit, frozenset[Unit]] = {
    "edge": frozenset({"edge"}),
    "event": frozenset({"event"}),
    "edge-history": frozenset({"edge-history", "event", "edge"}),
    "node-label": frozenset({"node-label"}),
    "node": frozenset({"node", *WITH_A_NODE}),
    "client": frozenset({"client", "node", *WITH_A_NODE}),
    "graph": frozenset({"graph", "node", *WITH_A_NODE}),
}
"""For which units a promise holds: those that are part of its own."""

TAKEN = {
    "degree": "the largest degree of these data as the bound: noise and release then tell how large it is",
    "clip": "a clipping norm read off these data",
    "support": "only what occurs in these data: a cell that is not there tells that nobody is in it",
    "classes": "the classes that occur in these data: a class of one person appears with that person",
    "clusters": "a number of clusters found in these data",
    "nodes": "the number of nodes, which is as private as a node is",
    "range": "the range of these data: its ends are two people's values",
    "other": "a bound that was read off these data",
}

HARMLESS: dict[str, frozenset[Unit]] = {
    "nodes": LINKS | {"node-label"},
    "classes": LINKS,
    "degree": frozenset({"node-label"}),
}
"""What is public under a unit of which it says nothing."""


GROUP_PRIVACY = "Hay et al. 2009; Dwork and Roth 2014, Theorem 2.2"
SOURCES: dict[Unit, str] = {"event": "Dwork et al. 2010 (event and user level); Fichtenberger et al. 2021"}
CHOICES = frozenset({"randomised-response", "k-ary-response", "exponential", "permute-and-flip"})
"""Mechanisms that tell one of a few answers, and no number with noise on it."""


def unit_told(statement: Statement) -> Iterator[Remark]:
    """A promise for edges is none for people; one for a part is none for the whole."""
    claim = statement.claim
    if claim.told is not None and claim.told not in COVERS[claim.unit]:
        says = f"the promise is for one {claim.unit}, readers are told of one {claim.told}"
        yield _other_unit("[claim]", says, claim.unit, claim.told)
    elif claim.told not in (None, claim.unit) and claim.adjacency != "replace":
        says = f"a {claim.told} that changes is one {claim.unit} that goes and another that comes"
        do = f"tell readers twice the epsilon for one {claim.told}, or claim for replaced units"
        yield Remark("unit", "doubt", "[claim]", says, do, "Dwork and Roth 2014, Theorem 2.2")
    for release in statement.releases:
        unit = release.unit
        if unit is not None and claim.unit not in COVERS[unit] and group(release, claim) is None:
            says = f"this release protects one {unit}, the claim is for one {claim.unit}"
            yield _other_unit(where(release), says, unit, claim.unit)


def _other_unit(place: str, says: str, less: Unit, more: Unit) -> Remark:
    bound = {"edge": "edges_per_unit", "event": "events_per_unit"}.get(less, "")
    if (less, more) == ("edge", "edge-history"):
        says += "; an edge-history is in every snapshot: T of them protect it at T times epsilon"
    elif more in GROUPS.get(less, ()):
        says += f"; a unit with d {less}s is protected at d times epsilon (2 d times if it is replaced)"
    how = f"bound what it has ({bound})" if bound else "bound what it has"
    do = f"tell readers of one {less}, or {how} and claim so many times epsilon"
    if (less, more) == ("edge", "edge-history"):
        do = "claim for the edge-history (unit), and say of each release how often it is made (times)"
    return Remark("unit", "wrong", place, says, do, SOURCES.get(less, GROUP_PRIVACY))


def unit_of_example(statement: Statement) -> Iterator[Remark]:
    """Clipping per example protects an example, of which one unit may have many."""
    for training in statement.training:
        unit = training.unit or statement.claim.unit
        if not owns_many(training, unit) or couples(training, unit) or training.examples_per_unit is not None:
            continue
        says = f"each {training.example} is clipped and counted as a record; one {unit} has many of them"
        do = f"clip what one {unit} adds in all, or bound how many it has (examples_per_unit)"
        yield Remark("unit", "wrong", where(training), says, do, "McMahan et al. 2018")


def data_dependent_bound(statement: Statement) -> Iterator[Remark]:
    """Noise that is fitted to these data hides other data."""
    for bound in statement.bound:
        if bound.source == "data" and not _says_nothing(bound, statement.claim):
            says = f"taken is {TAKEN[bound.what]}; a neighbouring graph would have another"
            do = "choose it without looking at the data, or release it with noise and list that as a [[noise]]"
            source = "Nissim, Raskhodnikova and Smith 2007"
            if bound.what == "clip":
                source = "Andrew et al. 2021 (adaptive clipping has a cost of its own)"
            yield Remark("bound-from-the-data", "wrong", where(bound), says, do, source)
        elif bound.source == "released" and bound.release is None:
            says = "is said to be released with noise, and no release is named"
            do = "say release = the name of its [[noise]] table, so that its epsilon is counted"
            yield Remark("bound-from-the-data", "doubt", where(bound), says, do, "Dwork and Roth 2014, section 3.5")
        elif bound.source == "public" and bound.what == "nodes" and not _says_nothing(bound, statement.claim):
            says = "is said to be public, and a graph that lacks one node has another number of them"
            do = "claim for zero-out, where a node's place stays blank, or let nothing follow from the number"
            yield Remark(
                "bound-from-the-data", "doubt", where(bound), says, do, "Ponomareva et al. 2023 (zero-out)"
            )


def _says_nothing(bound: Bound, claim: Claim) -> bool:
    """Whether neighbouring inputs of a claim have this number in common anyway."""
    stays = bound.what == "nodes" and claim.adjacency != "add/remove"
    return stays or claim.unit in HARMLESS.get(bound.what, ())


def large_delta(statement: Statement) -> Iterator[Remark]:
    """Delta must be far below one over the number of units."""
    claim = statement.claim
    if not claim.delta or claim.units is None or claim.delta * claim.units < 1:
        return
    says = (
        f"delta {claim.delta:g} is not below 1/{claim.units}: to publish one {claim.unit} outright, drawn from "
        f"{claim.units}, would keep this promise too"
    )
    do = f"claim a delta far below {1 / claim.units:.2g}"
    yield Remark("large-delta", "doubt", "[claim]", says, do, "Dwork and Roth 2014, section 2.3")


def seeds(statement: Statement) -> Iterator[Remark]:
    """Whoever knows the seed subtracts the noise."""
    says = {
        "published": "whoever has the seed draws the same noise and takes it off",
        "reused": "two releases that start from one seed have the same noise, which their difference is free of",
    }
    for release in statement.releases:
        if release.seed in says:
            do = "set no seed in what is released; draw from the system's entropy"
            yield Remark("seed", "wrong", where(release), says[release.seed], do, "Garfinkel and Leclerc 2020")


def float_noise(statement: Statement) -> Iterator[Remark]:
    """Floating-point noise has gaps, which tell what it was added to."""
    for release in statement.releases:
        if release.sampler == "float" and getattr(release, "mechanism", None) not in CHOICES:
            says = "noise in floating point has gaps that can give away what it was added to; no proof covers it"
            do = "use discrete noise (gaudit.mechanisms.exact_noise), or Opacus with secure_mode=True"
            yield Remark("float-noise", "note", where(release), says, do, "Mironov 2012")


def inference(statement: Statement) -> Iterator[Remark]:
    """Parameters may be private while predictions read neighbours anew."""
    asked = statement.inference
    if asked is None or asked.reads == "nothing private" or asked.noised:
        return
    whose = {"training graph": "the training graph", "new graph": "a graph that is private too"}[asked.reads]
    says = f"a prediction reads neighbours in {whose} without noise: parameters are private, predictions leak edges"
    do = "read noised aggregates that are listed here, ask with a node's own features, or keep predictions inside"
    source = "Wu et al. 2022 (LinkTeller); Sajadmanesh et al. 2023"
    yield Remark("inference", "doubt", "[inference]", says, do, source)


def missing_facts(statement: Statement) -> Iterator[Remark]:
    """What cannot be judged, and what would have to be said."""
    claim = statement.claim
    parts: list[tuple[str, Settings, list[str]]] = [("[claim]", claim, _of_claim(claim))]
    parts += [(where(noise), noise, _of_noise(noise)) for noise in statement.noise]
    parts += [(where(training), training, _of_training(training, claim)) for training in statement.training]
    parts += [("the statement", statement, _of_statement(statement))]
    for place, part, names in parts:
        if names:
            fields = type(part).model_fields
            wanted = "; ".join(f"{name} ({fields[name].description})" for name in names)
            says = f"cannot be judged: {len(names)} facts are missing" if len(names) > 1 else "cannot be judged"
            yield Remark("missing-facts", "doubt", place, says, f"say {wanted}", "gaudit lint-claim --example")


def _of_claim(claim: Claim) -> list[str]:
    return lacking(claim, "told", *(["units"] if claim.delta else []))


NEEDED: dict[str, tuple[str, ...]] = {
    "randomised-response": ("sensitivity", "truthful"),
    "k-ary-response": ("sensitivity", "truthful", "choices"),
    "exponential": ("sensitivity", "scale"),
    "permute-and-flip": ("sensitivity", "scale"),
    "sparse-vector": ("sensitivity", "threshold_scale", "query_scale", "positives", "answers"),
    "propose-test-release": ("sensitivity", "scale", "test_scale", "threshold"),
    "smooth-sensitivity": ("norm", "scale", "law", "beta"),
    "other": ("epsilon",),
}
"""Facts that a mechanism's account needs; of other noise sensitivity, norm and scale."""


def _of_noise(noise: Noise) -> list[str]:
    names = [*NEEDED.get(noise.mechanism, ("sensitivity", "norm", "scale"))]
    if noise.clipping == "per-tensor":
        names += ["tensors", "clip"]
    if noise.sampling not in (None, "none") or noise.sample_rate is not None:
        names += ["sampling", "sample_rate"]
    if noise.answers == "new value":
        names.append("value_scale")
    if noise.mechanism in {"discrete-laplace", "discrete-gaussian"} and not whole_numbers(noise):
        names.append("grid")
    return lacking(noise, *names, "seed", "sampler")


def _of_training(training: Training, claim: Claim) -> list[str]:
    names = ["example", "layers", "clipping", "normalisation", "noise_multiplier", "sensitivity"]
    names += ["sampling", "steps", "accountant", "seed", "sampler"]
    if training.accountant == "hypergeometric":
        names += ["batch_size", "examples"]
    elif rate_of(training) is None:
        names.append("sample_rate")
    if training.clipping == "per-tensor":
        names.append("tensors")
    unit = training.unit or claim.unit
    if training.example == "client" and training.layers:
        names.append("exchanges")
    if couples(training, unit):
        names += ["neighbour_bound", "bound_on"]
    return lacking(training, *names)


def _of_statement(statement: Statement) -> list[str]:
    """Sections that a statement of this kind needs."""
    names = []
    bounded = any(training.neighbour_bound is not None for training in statement.training)
    grouped = statement.claim.edges_per_unit is not None
    unbounded = (bounded or grouped) and not any(bound.what == "degree" for bound in statement.bound)
    if unbounded or (statement.claim.events_per_unit is not None and not statement.bound):
        names.append("bound")
    if statement.training:
        names += lacking(statement, "selection")
        if any(_reads_edges(release, statement.claim) for release in statement.releases):
            names += lacking(statement, "inference")
    return names


def _reads_edges(release: Release, claim: Claim) -> bool:
    """Whether a model was trained on what reads edges, in a graph where one of them or a node is to be hidden."""
    unit = release.unit or claim.unit
    if isinstance(release, Training):
        return bool(release.layers) and unit in LINKS | {"node"}
    return unit in LINKS | {"node"}  # aggregates, noised before a model is trained on them
