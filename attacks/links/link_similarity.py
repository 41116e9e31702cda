"""Links from a randomised network and from how alike their ends are in it (Ying and Wu, KAIS 2011)."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from pydantic import Field, field_validator
from scipy.sparse import csr_array, diags_array
from scipy.special import expit

from ...graphs.network import Floats, Ints, Network
from ...graphs.pair_codes import codes, ends, listed
from .link_attack import Part
from .link_randomisation import PublishedLinkAttack, RandomisationSettings, perturbed

Likeness = Literal["common-neighbours", "adamic-adar", "katz"]
DAMPING = 0.05
"""Of each further step in Katz's measure, as in Liben-Nowell and Kleinberg (CIKM 2003)."""
AT_ONCE = 1 << 22
"""Entries of two-step neighbourhoods that are held at a time."""
OTHERS = 100_000
"""Unlinked pairs that a simulation looks at, at most; each weighs as many as it was drawn from."""


def walk_sums(network: Network, pairs: Ints, steps: Literal[2, 3], weight: Floats) -> Floats:
    """For each pair, a sum over all walks of 2 or 3 steps from one to the other, by nodes in between.

    Args:
        network: types count as one.
        pairs: nodes [s, 2].
        steps: 2: over x with one - x - other, of w_x; 3: over x, y with one - x - y - other, of w_x w_y. A walk may
            use the edge between the two, and more than once.
        weight: of each node [n].

    Returns:
        [s]. Time goes with the edges at neighbours of the nodes asked about, and memory with n.
    """
    adjacency, degrees = network.adjacency, network.plain().degrees
    later = csr_array(adjacency @ diags_array(weight))  # the weight of the node that a step leads to
    hub_second = degrees[pairs[:, 0]] < degrees[pairs[:, 1]]
    one, other = np.where(hub_second, pairs.T[::-1], pairs.T)  # what is found once for a node serves most at hubs
    order = np.argsort(one, kind="stable")
    sources, first = np.unique(one[order], return_index=True)
    asked = np.split(order, first[1:])
    found, reached = np.zeros(len(one)), np.zeros(network.nodes)
    for part in _blocks(adjacency[sources] @ degrees.astype(float)):
        rows = later[sources[part]]
        rows = csr_array(rows @ later) if steps == 3 else rows
        for place, source in enumerate(part):
            own = slice(rows.indptr[place], rows.indptr[place + 1])
            reached[rows.indices[own]] = rows.data[own]
            found[asked[source]] = _sums_at(reached, adjacency.indptr, adjacency.indices, other[asked[source]])
            reached[rows.indices[own]] = 0
    return found


def _blocks(work: Floats) -> list[Ints]:
    """Places in order, in parts of so much work that memory stays bounded; single ones may be larger."""
    block = np.asarray(np.cumsum(work) // AT_ONCE, dtype=np.int64)
    return np.split(np.arange(len(work)), np.flatnonzero(np.diff(block)) + 1) if len(work) else []


def _sums_at(values: Floats, start: np.ndarray, near: np.ndarray, nodes: Ints) -> Floats:
    """The sum of values over the neighbours of each node, [s]."""
    sizes = start[nodes + 1] - start[nodes]
    first = np.cumsum(sizes) - sizes
    places = np.arange(sizes.sum()) + np.repeat(start[nodes] - first, sizes)
    found, some = np.zeros(len(nodes)), sizes > 0
    if some.any():
        found[some] = np.add.reduceat(values[near[places]], first[some])
    return found


def common_neighbours(network: Network, pairs: Ints) -> Floats:
    """How many neighbours the two nodes of each pair [s, 2] share, [s]."""
    return walk_sums(network, pairs, 2, np.ones(network.nodes))


def adamic_adar(network: Network, pairs: Ints) -> Floats:
    """Common neighbours, each by one over the logarithm of its degree (Adamic and Adar 2003), [s]."""
    return walk_sums(network, pairs, 2, 1 / np.log(np.maximum(network.plain().degrees, 2)))


def katz(network: Network, pairs: Ints, damping: float = DAMPING) -> Floats:
    """Katz's measure cut off after three steps: walks of l steps between the two count ``damping``^l, [s].

    Walks over the pair's own edge are counted as in the full measure.
    """
    ones = np.ones(network.nodes)
    linked = listed(codes(pairs[:, 0], pairs[:, 1], network.nodes), network.plain().codes)
    two, three = (walk_sums(network, pairs, steps, ones) for steps in (2, 3))
    return damping * linked + damping**2 * two + damping**3 * three


Similarity = Callable[[Network, Ints], Floats]
SIMILARITIES: dict[Likeness, Similarity] = {
    "common-neighbours": common_neighbours,
    "adamic-adar": adamic_adar,
    "katz": katz,
}


class LinkSimilaritySettings(RandomisationSettings):
    """Settings of `LinkSimilarity`."""

    similarity: Likeness = Field("adamic-adar", description="how alike the two ends of a pair are")
    simulations: int = Field(
        2, ge=1, description="times that the published network is randomised again to learn from"
    )

    @field_validator("share")
    @classmethod
    def _share_is_known(cls, share: float | None) -> float | None:
        if share is None:
            raise ValueError("the attack randomises again as the publisher did: say how often")
        return share


class LinkSimilarity(PublishedLinkAttack):
    """The probability of each link, given whether it was published and how alike its ends are.

    Ying and Wu ("On link privacy in randomizing social networks", Knowledge and Information Systems 28, 2011): who
    looks at both is surer of links between similar nodes than who looks at the published edges alone. Here the two
    are put together by simulation. The published network stands for the original and is randomised once more in the
    known way; a logistic regression for published and one for unpublished pairs learn from the result which pairs
    were linked before: see `similarity_posterior`.
    """

    name = "link-similarity"
    Settings = LinkSimilaritySettings
    settings: LinkSimilaritySettings

    def score_pairs(self, network: Network, part: Part, rng: np.random.Generator) -> Floats:
        pairs = part.pairs.cpu().numpy()
        return similarity_posterior(network, pairs, self.settings, rng)


def similarity_posterior(
    network: Network, pairs: Ints, settings: LinkSimilaritySettings, rng: np.random.Generator
) -> Floats:
    """The probability that each pair [s, 2] was linked before the network was randomised, [s].

    What stands for the original in the simulation is noisier than the original. So the sums of probabilities over
    published edges and over all other pairs, which are known, are set right at last; the probabilities still
    differ less by similarity than they should.
    """
    network = network.plain()
    likeness = SIMILARITIES[settings.similarity]
    told = [_simulated(network, likeness, settings, rng) for _ in range(settings.simulations)]
    after, alike, before, weights = (np.concatenate(part) for part in zip(*told, strict=True))
    kept = float(np.sum(after & before)) / settings.simulations  # true ones among as many published edges
    sample, sampling_weight = _sample(network.codes, network.nodes, rng)
    now, values = listed(sample, network.codes), likeness(network, _ends(sample, network.nodes))
    asked, found = listed(codes(pairs[:, 0], pairs[:, 1], network.nodes), network.codes), np.zeros(len(pairs))
    asked_values = likeness(network, pairs)
    for state, wanted in ((True, kept), (False, network.size - kept)):
        rows = after == state
        score = _logistic(alike[rows], before[rows], weights[rows])
        shift = _shift(score(values[now == state]), sampling_weight[now == state], wanted)
        found[asked == state] = expit(score(asked_values[asked == state]) + shift)
    return found


def _simulated(
    network: Network, likeness: Similarity, settings: LinkSimilaritySettings, rng: np.random.Generator
) -> tuple[np.ndarray, Floats, np.ndarray, Floats]:
    """Of pairs in a network that is randomised again: linked after, similarity after, linked before, weights."""
    after = perturbed(network, settings, rng)
    pairs, weights = _sample(np.union1d(network.codes, after.codes), network.nodes, rng)
    values = likeness(after, _ends(pairs, network.nodes))
    return listed(pairs, after.codes), values, listed(pairs, network.codes), weights


def _sample(edges: Ints, nodes: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Codes of all these edges and of a sample of the other pairs, and how many pairs each stands for."""
    low, high = rng.integers(nodes, size=(2, OTHERS))
    others = np.setdiff1d(codes(low, high, nodes)[low != high], edges)
    room = nodes * (nodes - 1) // 2 - len(edges)
    weights = np.concatenate([np.ones(len(edges)), np.full(len(others), room / max(len(others), 1))])
    return np.concatenate([edges, others]), weights


def _ends(coded: Ints, nodes: int) -> Ints:
    return np.stack(ends(coded, nodes), 1)


def _logistic(values: Floats, linked: np.ndarray, weights: Floats) -> Callable[[Floats], Floats]:
    """The log-odds of a link by a similarity s, linear in log(1 + s); constant where all or none are linked."""
    from sklearn.linear_model import LogisticRegression

    if linked.all() or not linked.any():
        return lambda asked: np.zeros(len(asked))
    centre, spread = np.log1p(values).mean(), max(float(np.log1p(values).std()), 1e-12)
    model = LogisticRegression(C=1e4, max_iter=1000)
    model.fit((np.log1p(values)[:, None] - centre) / spread, linked, sample_weight=weights)

    def score(asked: Floats) -> Floats:
        odds: Floats = (np.log1p(asked) - centre) / spread * model.coef_[0, 0] + model.intercept_[0]
        return odds

    return score


def _shift(scores: Floats, weights: Floats, wanted: float) -> float:
    """What to add to log-odds so that the probabilities sum to ``wanted``; infinite where that is none or all."""
    from scipy.optimize import brentq

    if wanted <= 0:
        return -np.inf
    if wanted >= weights.sum():
        return np.inf
    low, high = -800.0 - float(scores.max()), 800.0 - float(scores.min())
    return float(brentq(lambda shift: float(weights @ expit(scores + shift)) - wanted, low, high))
