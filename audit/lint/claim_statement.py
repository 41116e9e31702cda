"""What somebody says of a private release, in a file: the claim, and the facts that it is said to follow from."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from ...errors import InputError
from ...mechanisms.guarantee import Adjacency, Model
from ...settings import Settings
from ...untrusted import json_of, read_text, toml_of

LARGEST_STATEMENT = 2**20
TINY, HUGE, MANY = 1e-12, 1e12, 10**9
"""Beyond these, numbers are slips of the pen, and what is computed from them may overflow."""

Unit = Literal["edge", "event", "edge-history", "node", "node-label", "client", "graph"]
LINKS: frozenset[Unit] = frozenset({"edge", "event", "edge-history"})
"""What links two nodes: who reads the one reads it at both ends."""
Composition = Literal["basic", "zcdp", "rdp", "gaussian", "prv"]

Mechanism = Literal[
    "laplace",
    "discrete-laplace",
    "gaussian",
    "discrete-gaussian",
    "randomised-response",
    "k-ary-response",
    "exponential",
    "permute-and-flip",
    "sparse-vector",
    "propose-test-release",
    "smooth-sensitivity",
    "other",
]
SAMPLED = ("laplace", "discrete-laplace", "gaussian", "discrete-gaussian")
"""Mechanisms for which a sample of the units is accounted for."""


class Claim(Settings):
    """What is promised."""

    title: str = Field("", max_length=200, description="what the promise is about")
    unit: Unit = Field(
        description="what the analysis protects: an edge of one snapshot, an event (one message), an edge-history "
        "(all messages of a pair), a node, node-label, client, or a whole graph"
    )
    told: Unit | None = Field(
        None, description="what readers are told is protected; for 'your data' that is a node"
    )
    adjacency: Adjacency = Field(
        description="a unit comes or goes (add/remove), leaves a blank (zero-out), or is another one (replace)"
    )
    model: Model = Field("central", description="who adds noise: one who holds all (central), or each (local)")
    epsilon: float = Field(gt=0, le=1e6, description="claimed for all that is released together")
    delta: float = Field(0.0, ge=0, lt=1, description="claimed with it; 0 for a promise without exceptions")
    units: int | None = Field(
        None, ge=1, le=MANY, description="how many such units the data have, to hold delta against"
    )
    edges_per_unit: int | None = Field(
        None,
        ge=1,
        le=MANY,
        description="most edges that one unit has, by a public bound; a replaced unit changes twice as many",
    )
    events_per_unit: int | None = Field(
        None,
        ge=1,
        le=MANY,
        description="most events that one unit has over all time, by a public bound; a replaced unit changes "
        "twice as many",
    )
    composition: Composition = Field("basic", description="how releases add up: basic, zcdp, rdp, gaussian or prv")


class Release(Settings):
    """What all releases are asked."""

    name: str = Field(min_length=1, max_length=200, description="to tell it from others")
    unit: Unit | None = Field(None, description="what this release protects, where that is another unit")
    epsilon: float | None = Field(
        None, gt=0, le=1e6, description="of it alone, each time; else it follows from the noise"
    )
    delta: float | None = Field(None, ge=0, lt=1, description="of it alone, each time")
    times: int = Field(1, ge=1, le=MANY, description="how often on the same data: hops, rounds, questions")
    seed: Literal["secret", "published", "reused"] | None = Field(
        None, description="of its noise: secret (fresh and kept, or none set), published, or reused elsewhere"
    )
    sampler: Literal["exact", "float"] | None = Field(
        None, description="exact (discrete noise, or hardened as in Opacus' secure_mode), or plain float"
    )
    clipping: Literal["joint", "per-tensor", "after noise", "none"] | None = Field(
        None, description="joint: one norm over all tensors before the noise; per-tensor, after noise, or none"
    )
    tensors: int | None = Field(None, ge=1, le=MANY, description="how many tensors are clipped each on its own")


class Noise(Release):
    """Numbers with noise on them, or answers that are true with some probability."""

    mechanism: Mechanism = Field(description="what the noise is; other: its epsilon is taken as stated")
    sensitivity: float | None = Field(
        None,
        ge=TINY,
        le=HUGE,
        description="most that one unit changes what noise is added to; of edges in a node: one more or less",
    )
    norm: Literal["L1", "L2", "any"] | None = Field(
        None, description="in which norm that is; any, if it is one number"
    )
    scale: float | None = Field(
        None,
        ge=TINY,
        le=HUGE,
        description="of Laplace noise; the deviation of Gaussian noise; in smooth bounds for smooth-sensitivity; "
        "the fall of a score by which its chance falls e-fold, for a choice",
    )
    grid: float | None = Field(
        None, ge=TINY, le=HUGE, description="discrete noise: the step of its values, 1 for whole numbers"
    )
    calibrated_to: Literal["global", "local", "smooth"] | None = Field(
        None,
        description="for which sensitivity the noise is: the most of any data (global), of these data (local), or "
        "a smooth bound of that",
    )
    law: Literal["laplace", "gaussian", "cauchy"] | None = Field(
        None, description="smooth-sensitivity: what the noise is, cauchy with density 1 / (pi (1 + z^2))"
    )
    beta: float | None = Field(
        None, gt=0, le=HUGE, description="smooth-sensitivity: the bound changes by e^beta at most for one unit"
    )
    sampling: Literal["poisson", "without-replacement", "none"] | None = Field(
        None,
        description="how units are drawn for Laplace or Gaussian noise: each alone (poisson), so many of them "
        "(without-replacement), or all (none)",
    )
    sample_rate: float | None = Field(None, gt=0, le=1, description="the chance of a unit to be drawn")
    sensitivity_for: Literal["add/remove", "replace", "both"] | None = Field(
        None, description="with sampling: for which change of a unit the sensitivity is, if not the claim's"
    )
    truthful: float | None = Field(
        None, gt=0, lt=1, description="randomised response: probability that an answer is told as it is"
    )
    choices: int | None = Field(
        None, ge=2, le=MANY, description="k-ary-response: possible answers; false ones are all as likely"
    )
    monotone: bool = Field(
        False, description="a choice or sparse-vector: one unit can only raise all scores, or only lower all"
    )
    test_scale: float | None = Field(
        None, ge=0, le=HUGE, description="propose-test-release: scale of Laplace noise on the distance; 0: none"
    )
    threshold: float | None = Field(
        None, ge=0, le=HUGE, description="propose-test-release: noisy distance above which there is a release"
    )
    threshold_scale: float | None = Field(
        None, ge=0, le=HUGE, description="sparse-vector: scale of Laplace noise on the threshold; 0: none"
    )
    query_scale: float | None = Field(
        None, ge=0, le=HUGE, description="sparse-vector: scale of Laplace noise on each query; 0: none"
    )
    positives: int | Literal["unlimited"] | None = Field(
        None, description="sparse-vector: answers above the threshold after which it stops, or unlimited"
    )
    refreshed: bool = Field(
        False, description="sparse-vector: the threshold's noise is drawn anew after each answer above"
    )
    answers: Literal["above or below", "tested value", "new value"] | None = Field(
        None,
        description="sparse-vector: what is told of a query above: that it is, the noisy value that was tested, or "
        "one with new noise",
    )
    value_scale: float | None = Field(
        None, ge=TINY, le=HUGE, description="sparse-vector: scale of Laplace noise on new values"
    )
    windows: int | None = Field(
        None,
        ge=1,
        le=MANY,
        description="windows of time side by side, with public bounds: one release for each, which reads that one "
        "alone",
    )
    clip: float | None = Field(
        None,
        ge=TINY,
        le=HUGE,
        description="norm that one unit's part of what is released is clipped to, where it is clipped",
    )

    @model_validator(mode="after")
    def _is_possible(self) -> "Noise":
        counted = self.mechanism in {"randomised-response", "k-ary-response"} and self.sensitivity is not None
        if counted and self.sensitivity % 1:  # type: ignore[operator]
            raise ValueError("sensitivity counts the answers that one unit changes: expected a whole number")
        if self.mechanism == "randomised-response" and (self.choices or 2) > 2:
            raise ValueError("randomised-response has 2 choices: for more say mechanism = 'k-ary-response'")
        if self.mechanism == "randomised-response" and (self.truthful or 0.5) < 0.5:
            raise ValueError("truthful is below 0.5: count the other answer as the true one")
        if isinstance(self.positives, int) and not 1 <= self.positives <= MANY:
            raise ValueError(f"positives is {self.positives}: expected a number from 1, or 'unlimited'")
        if self.sampling not in (None, "none") and self.mechanism not in SAMPLED:
            raise ValueError(f"sampling is known for {', '.join(SAMPLED)} noise, and this is {self.mechanism}")
        return self


class Training(Release):
    """A model trained with clipped gradients and Gaussian noise (DP-SGD), or rounds of clipped uploads."""

    example: Literal["node", "edge", "graph", "client"] | None = Field(
        None, description="what one clipped term belongs to: a node, an edge, a whole graph, a client's upload"
    )
    layers: int | None = Field(
        None, ge=0, le=20, description="layers in which a node reads its neighbours' private data; 0 for an MLP"
    )
    exchanges: bool | None = Field(
        None, description="whether clients send each other what their nodes hold, without noise"
    )
    neighbour_bound: int | None = Field(
        None, ge=1, le=MANY, description="bound on neighbours, kept by sampling edges once"
    )
    bound_on: Literal["readers", "read"] | None = Field(
        None, description="what it bounds: nodes that read one node (readers), or only those that a node reads"
    )
    examples_per_unit: int | None = Field(
        None, ge=1, le=MANY, description="most examples of one unit, where it has many"
    )
    normalisation: Literal["none", "layer", "group", "instance", "batch", "graph", "pair"] | None = Field(
        None, description="layers that normalise: none, layer, group, instance, batch, graph or pair"
    )
    noise_multiplier: float | None = Field(
        None, ge=1e-3, le=HUGE, description="deviation of the noise over what one unit changes (sensitivity x clip)"
    )
    sensitivity: float | None = Field(
        None,
        ge=TINY,
        le=HUGE,
        description="clips that one unit changes the sum of a batch by, for which noise is added",
    )
    sampling: Literal["poisson", "shuffled", "fixed-size", "full batch"] | None = Field(
        None, description="how batches are made: poisson, shuffled epochs, fixed-size draws, or full batch"
    )
    sample_rate: float | None = Field(None, gt=0, le=1, description="the rate that the accountant was given")
    batch_size: int | None = Field(None, ge=1, le=MANY, description="examples in a batch")
    examples: int | None = Field(None, ge=1, le=MANY, description="examples in all")
    steps: int | None = Field(None, ge=1, le=MANY, description="noisy steps, or rounds")
    accountant: Literal["rdp", "prv", "hypergeometric"] | None = Field(
        None, description="rdp or prv (as Opacus has them), or hypergeometric (Daigavane et al. 2021)"
    )


class Bound(Settings):
    """A number or a set that the noise or the support of a release rests on."""

    what: Literal["degree", "clip", "support", "classes", "clusters", "nodes", "range", "other"] = Field(
        description="degree, clip, support (what may be released at all), classes, clusters, nodes, range, other"
    )
    source: Literal["public", "data", "released"] = Field(
        description="known to everybody, read off the data, or itself released with noise"
    )
    release: str | None = Field(None, description="which release it comes from, where it is one")


class Selection(Settings):
    """How settings were chosen."""

    tried: int = Field(ge=1, le=MANY, description="settings that were trained on the private data")
    judged_on: Literal["public", "private", "within the budget"] = Field(
        description="by which data one was chosen; within the budget: all trials are listed as releases"
    )


class Inference(Settings):
    """What happens when the model is asked."""

    reads: Literal["nothing private", "training graph", "new graph"] = Field(
        description="whose edges a prediction reads: nothing private, training graph, or new graph (private too)"
    )
    noised: bool = Field(
        False, description="whether what it reads is noised by a release listed here, and read from there"
    )


class Statement(Settings):
    """A claim with the facts behind it."""

    claim: Claim = Field(description="what is promised")
    noise: tuple[Noise, ...] = Field((), description="numbers with noise, one table each")
    training: tuple[Training, ...] = Field((), description="models trained with noise, one table each")
    bound: tuple[Bound, ...] = Field((), description="what noise and support rest on, one table each")
    selection: Selection | None = Field(None, description="how settings were chosen")
    inference: Inference | None = Field(None, description="what happens when the model is asked")

    @model_validator(mode="after")
    def _says_something(self) -> "Statement":
        names = [release.name for release in self.releases]
        if not names:
            raise ValueError("nothing is released: give a [[noise]] or a [[training]] table")
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two releases are called '{name}'")
        for bound in self.bound:
            if bound.release is not None and bound.release not in names:
                raise ValueError(f"no release is called '{bound.release}': known: {', '.join(names)}")
        return self

    @property
    def releases(self) -> tuple[Release, ...]:
        """All of them: numbers first, then models."""
        return (*map(self.counted, self.noise), *self.training)

    def counted(self, release: Noise) -> Noise:
        """With ``times`` as many as read the same unit: all its windows, or the one that an event lies in.

        An event, or an edge of one snapshot, is in one window: the other releases do not change (parallel
        composition, McSherry 2009, Theorem 4). Other units may be in all of them.
        """
        if release.windows is None or self.claim.unit in {"event", "edge"}:
            return release
        return release.model_copy(update={"times": release.times * release.windows, "windows": None})

    def claimed_of(self, release: Release) -> float | None:
        """The epsilon that one release is to keep: its own, or the claim's if there is no other."""
        if release.epsilon is not None:
            return release.epsilon
        return self.claim.epsilon if len(self.releases) == self._times(release) == 1 else None

    def _times(self, release: Release) -> int:
        return (self.counted(release) if isinstance(release, Noise) else release).times

    @classmethod
    def read(cls, path: Path) -> "Statement":
        """From a TOML file, or a JSON one if its name ends so.

        Raises:
            InputError: it cannot be read, or says something that is no statement; in one line.
        """
        content = _content(path)
        if not isinstance(content, dict):
            raise InputError(f"statement {path}: expected a table with a [claim], got {type(content).__name__}")
        return cls.checked(f"statement {path}", content)


def _content(path: Path) -> Any:
    """The plain values of a file."""
    text = read_text(path, "statement", LARGEST_STATEMENT)
    if path.suffix != ".json":
        return toml_of(text, f"statement {path}")
    try:
        return json_of(text)
    except ValueError as error:
        raise InputError(f"statement {path} is not JSON: {error}") from error
