"""What is wrong with training under a claim: terms that share records, batches, clipping, and the accountant."""

import math
from collections.abc import Iterator

from ...mechanisms.renyi import epsilon_of_renyi, terms_of
from .claim_accounts import (
    PRV_ERROR,
    delta_of,
    fixed_size_epsilon,
    prv_epsilon,
    rate_of,
    renyi_of_training,
    unsampled_epsilon,
)
from .claim_composition import least_of_training
from .claim_remark import ROUNDING, Remark, Severity, where
from .claim_sensitivity import clips_needed, couples, owns_many
from .claim_statement import LINKS, Noise, Statement, Training

DAIGAVANE = "Daigavane et al. 2021 (arXiv 2111.15521)"

MIXES = {
    "batch": "batch normalisation takes mean and variance over all examples of a batch",
    "graph": "graph normalisation takes mean and variance over all nodes of a graph",
    "pair": "pair normalisation takes the mean over all nodes of a graph",
}
"""Layers in which, in training, an example's output depends on other examples."""


def message_passing(statement: Statement) -> Iterator[Remark]:
    """A sum of terms that read neighbours does not change by one clip if a node or an edge goes."""
    for training in statement.training:
        unit = training.unit or statement.claim.unit
        if not couples(training, unit):
            continue
        parts = _unbounded(training) or _too_few_clips(training, statement)
        if parts is not None:
            says, do = parts
            yield Remark("message-passing", "wrong", where(training), says, do, DAIGAVANE)


def _unbounded(training: Training) -> tuple[str, str] | None:
    """Nothing bounds how many nodes read one. A missing bound is no missing fact if noise is for one record."""
    bounded = training.neighbour_bound is not None and training.bound_on == "readers"
    unknown = training.neighbour_bound is not None and training.bound_on is None
    if bounded or (unknown and (training.sensitivity or 0) > 2):
        return None
    if training.example == "client":
        says = "clients send each other what their nodes hold, so one client changes the uploads of others"
        return says, "let each upload depend on its own client alone, or bound how many clients read one"
    says = (
        f"{training.layers} message-passing layers read neighbours, so one node is in the gradients of all nodes "
        f"within {training.layers} hops; clipping each gradient bounds none of that"
    )
    if training.bound_on == "read":
        says += "; a fan-out bounds how many nodes one reads, not how many read it"
    do = "sample edges once so that at most K nodes read any node, and add noise for all terms that this leaves"
    return says, do


def _too_few_clips(training: Training, statement: Statement) -> tuple[str, str] | None:
    """The bound is there, and noise is for less than it allows."""
    needed, bound, layers = clips_needed(training, statement.claim), training.neighbour_bound, training.layers
    if needed is None or bound is None or layers is None or training.sensitivity is None:
        return None
    if training.sensitivity >= needed * (1 - ROUNDING):
        return None
    unit = training.unit or statement.claim.unit
    terms = 2 * terms_of(bound, layers - 1) if unit in LINKS else terms_of(bound, layers)
    says = (
        f"with at most {bound} readers and {layers} layers one {unit} changes up to {terms} terms, the sum by up "
        f"to {needed:g} clips; the noise is for {training.sensitivity:g}"
    )
    return says, f"add noise for 2 x {terms} clips, or lower the bound or the layers"


def clipped_terms(statement: Statement) -> Iterator[Remark]:
    """Independent terms: one clip for one that comes or goes, two for one that is replaced."""
    for training in statement.training:
        unit = training.unit or statement.claim.unit
        needed = clips_needed(training, statement.claim)
        if couples(training, unit) is not False or needed is None or training.sensitivity is None:
            continue
        if training.clipping == "per-tensor" or training.sensitivity >= needed * (1 - ROUNDING):
            continue
        why = f"a {unit} that is replaced changes its term from one end of the clip to the other"
        if owns_many(training, unit):
            why = f"one {unit} has up to {training.examples_per_unit} examples"
        says = f"{why}: by {needed:g} clips, where the noise is for {training.sensitivity:g}"
        do = f"add noise for {needed:g} clips, or state the claim for what the noise does hide"
        yield Remark("too-few-clips", "wrong", where(training), says, do, "Abadi et al. 2016, section 3.1")


def clipping(statement: Statement) -> Iterator[Remark]:
    """What bounds a contribution must act before the noise, and over all tensors together."""
    for release in statement.releases:
        if release.clipping == "after noise":
            says = "clipping after the noise bounds what goes out; what comes in drowns its noise"
            do = "clip first, then add noise"
        elif release.clipping == "none" and isinstance(release, Training):
            says = "without clipping no noise is enough: one example's gradient can be of any size"
            do = "clip each example's gradient, over all tensors together"
        else:
            continue
        yield Remark("clipping", "wrong", where(release), says, do, "Abadi et al. 2016, section 3.1")


def tensors_clipped_apart(statement: Statement) -> Iterator[Remark]:
    """With t tensors, each clipped on its own to C, one contribution has a norm of up to sqrt(t) C."""
    for release in statement.releases:
        needed = _apart(release, statement)
        if release.clipping != "per-tensor" or needed is None:
            continue
        stated = release.sensitivity if isinstance(release, Noise | Training) else None
        if stated is None or stated >= needed * (1 - ROUNDING):
            continue
        says = (
            f"each of {release.tensors} tensors is clipped on its own, so that one contribution adds up to "
            f"{needed:.4g}; the noise is for {stated:g}"
        )
        do = "clip over all tensors together, or multiply the noise by the root of their number"
        yield Remark(
            "clip-per-tensor",
            "wrong",
            where(release),
            says,
            do,
            "McMahan et al. 2018 (flat clipping and per-layer clipping)",
        )


def _apart(release: object, statement: Statement) -> float | None:
    if isinstance(release, Training):
        return None if release.tensors is None else clips_needed(release, statement.claim)
    if not isinstance(release, Noise) or release.tensors is None or release.clip is None:
        return None
    gone = 2 if statement.claim.adjacency == "replace" else 1
    return gone * release.clip * (release.tensors if release.norm == "L1" else math.sqrt(release.tensors))


def mixed_samples(statement: Statement) -> Iterator[Remark]:
    """A layer that normalises over examples makes each one's gradient depend on all."""
    for training in statement.training:
        inside = training.example == "client" or (training.example == "graph" and training.normalisation != "batch")
        if training.normalisation not in MIXES or inside:
            continue
        says = f"{MIXES[training.normalisation]}: one record changes the gradients of all others"
        do = "use layer or group normalisation; try the module with gaudit.audit.claims.sample_coupling"
        source = "Opacus, validator of batch normalisation"
        yield Remark("mixed-samples", "wrong", where(training), says, do, source)


def sampling(statement: Statement) -> Iterator[Remark]:
    """Batches must be made as the accountant reckons: amplification is a theorem about one way of sampling."""
    for training in statement.training:
        remark = _not_as_reckoned(training, statement) or _rate_of_another(training)
        if remark is not None:
            yield remark


def _not_as_reckoned(training: Training, statement: Statement) -> Remark | None:
    """The theorem is about other batches, or about sums that nobody else's record is in."""
    rate, sampled, accountant = rate_of(training), training.sampling, training.accountant
    if sampled is None or accountant is None:
        return None
    if accountant == "hypergeometric":
        if sampled in {"fixed-size", "full batch"}:
            return None
        says = f"the accountant is for batches of fixed size, drawn anew at each step; these are {sampled}"
        return _mismatch(training, statement, says, "draw each batch uniformly, without replacement", DAIGAVANE)
    if rate is None or rate == 1:
        return None
    if couples(training, training.unit or statement.claim.unit):
        says = (
            f"the {accountant} accountant amplifies by the rate {rate:g}, as if a record were in a batch with that "
            "probability; here a node is in the terms of others, so it is in far more batches"
        )
        do = "take the hypergeometric accountant with batches of fixed size, or full batches at rate 1"
        return _mismatch(training, statement, says, do, DAIGAVANE)
    return None if sampled == "poisson" else _not_poisson(training, statement, f"{accountant}", sampled)


def _not_poisson(training: Training, statement: Statement, accountant: str, sampled: str) -> Remark:
    how = {"shuffled": "shuffled", "fixed-size": "of fixed size", "full batch": "all of the data"}[sampled]
    rate = rate_of(training)
    says = f"the {accountant} accountant amplifies by rate {rate:g}, for Poisson sampling; batches are {how}"
    do = "draw batches by Poisson sampling (Opacus: make_private with poisson_sampling=True)"
    if sampled == "full batch":
        do = "give the accountant rate 1"
    return _mismatch(training, statement, says, do, "Chua et al. 2024 (How Private are DP-SGD Implementations?)")


def _mismatch(training: Training, statement: Statement, says: str, do: str, source: str) -> Remark:
    """Wrong, unless terms are independent and the claim so large that it holds without amplification."""
    sure, claimed = unsampled_epsilon(training, delta_of(training, statement)), statement.claimed_of(training)
    if sure is None or couples(training, training.unit or statement.claim.unit):
        return Remark("sampling", "wrong", where(training), says, do, source)
    says += f"; without amplification this noise promises epsilon {sure:.4g}"
    fixed = fixed_size_epsilon(training, delta_of(training, statement))
    if fixed is not None and fixed < sure and not owns_many(training, training.unit or statement.claim.unit):
        says, sure = f"{says}, for batches of fixed size {fixed:.4g}", fixed
    holds = claimed is not None and claimed >= sure * (1 - ROUNDING)
    return Remark("sampling", "doubt" if holds else "wrong", where(training), says, do, source)


def _rate_of_another(training: Training) -> Remark | None:
    """A rate that is not that of the batches, or an accountant for records that come and go."""
    rate, batch, examples = training.sample_rate, training.batch_size, training.examples
    if rate is None or batch is None or examples is None or batch / examples <= rate * (1 + ROUNDING):
        return None
    says = (
        f"batches of {batch} of {examples} are a rate of {batch / examples:.4g}; the accountant was given {rate:g}"
    )
    source = "Mironov, Talwar and Zhang 2019"
    return Remark("sampling", "wrong", where(training), says, "give the accountant the rate of the batches", source)


def replaced_in_a_sample(statement: Statement) -> Iterator[Remark]:
    """Opacus' accountants amplify for records that come or go."""
    for training in statement.training:
        rate = rate_of(training)
        if statement.claim.adjacency != "replace" or rate in (None, 1) or training.accountant not in {"rdp", "prv"}:
            continue
        says = f"the {training.accountant} accountant is for records that come or go; here they are replaced"
        do = "state the claim for add/remove, where it is half as far"
        yield Remark("replaced-in-a-sample", "doubt", where(training), says, do, "Mironov, Talwar and Zhang 2019")


def training_epsilon(statement: Statement) -> Iterator[Remark]:
    """Epsilon recomputed from noise multiplier, rate, steps and delta must not exceed the one that is claimed."""
    for training in statement.training:
        claimed, delta = statement.claimed_of(training), delta_of(training, statement)
        renyi = renyi_of_training(training, statement.claim)
        if claimed is None or not delta:
            continue
        if renyi is None:
            says = "cannot be recomputed: no epsilon follows from what is stated"
            do = "say what is missing; for edges under message passing no sampled analysis is built in"
            yield Remark("training-epsilon", "doubt", where(training), says, do, "Mironov, Talwar and Zhang 2019")
            continue
        by_renyi = epsilon_of_renyi(renyi, delta)
        if claimed >= by_renyi * (1 - ROUNDING):
            continue
        by_prv = prv_epsilon(training, delta)
        sharper = by_prv is not None and claimed >= by_prv * (1 - ROUNDING) - 2 * PRV_ERROR
        if sharper and training.accountant == "prv":
            continue
        wrong = not sharper and claimed < least_of_training(training, statement.claim, delta) * (1 - ROUNDING)
        yield _too_low(training, claimed, (by_renyi, by_prv), delta, "wrong" if wrong else "doubt")


def _too_low(
    training: Training, claimed: float, epsilons: tuple[float, float | None], delta: float, severity: Severity
) -> Remark:
    """Below what Renyi divergences give; a doubt where a sharper accountant gives as little, or may."""
    by_renyi, by_prv = epsilons
    name = "hypergeometric" if training.accountant == "hypergeometric" else "rdp"
    say = f"{name} accountant: epsilon {by_renyi:.4g}" + ("" if by_prv is None else f", prv: {by_prv:.4g}")
    rate = "" if training.accountant == "hypergeometric" else f", rate {rate_of(training):g}"
    facts = f"noise multiplier {training.noise_multiplier:g}{rate}, {training.steps} steps, delta {delta:g}"
    says = f"{say} from {facts}; claimed is {claimed:g}"
    do, source = "claim the larger number, or add noise", "Mironov, Talwar and Zhang 2019; Gopi et al. 2021"
    if training.accountant == "hypergeometric":
        source = DAIGAVANE
    if severity == "doubt":
        do = 'say accountant = "prv" if it is its number'
        if by_prv is None:
            do = "show how it was computed: the prv accountant fails here or takes long, and can give less"
    return Remark("training-epsilon", severity, where(training), says, do, source)
