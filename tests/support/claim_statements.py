"""Claims that hold, as the files that state them say it; and a way to change one fact of them."""

import copy
import math

from gaudit.mechanisms.gaussian import distance_of

FRESH = {"seed": "secret", "sampler": "exact"}
NOWHERE = {"reads": "nothing private"}
PUBLIC = {"tried": 1, "judged_on": "public"}
SGD = {"layers": 0, "clipping": "joint", "normalisation": "none", "sensitivity": 1, "accountant": "rdp", **FRESH}


def claim(unit, epsilon, delta=0.0, **more):
    units = {"units": 10_000} if delta else {}
    return (
        {"unit": unit, "told": unit, "adjacency": "add/remove", "epsilon": epsilon, "delta": delta} | units | more
    )


def edge_response(epsilon=2.0):
    """Every pair of nodes: linked or not, told as it is with probability e^epsilon / (1 + e^epsilon)."""
    truthful = 1 / (1 + math.exp(-epsilon))
    bits = {"name": "pairs", "mechanism": "randomised-response", "sensitivity": 1, "truthful": truthful, **FRESH}
    return {"claim": claim("edge", epsilon, model="local"), "noise": [bits]}


def degrees(epsilon=0.5):
    """Sorted degrees: an edge changes two of them by one."""
    noise = {"name": "degrees", "mechanism": "discrete-laplace", "sensitivity": 2, "norm": "L1"}
    return {"claim": claim("edge", epsilon), "noise": [noise | {"scale": 2 / epsilon, **FRESH}]}


def laplace(epsilon=1.0, sensitivity=3.0, scale=None):
    noise = {"name": "counts", "mechanism": "laplace", "sensitivity": sensitivity, "norm": "L1", **FRESH}
    return {"claim": claim("edge", epsilon), "noise": [noise | {"scale": scale or sensitivity / epsilon}]}


def gaussian(epsilon, delta, sensitivity, scale):
    noise = {"name": "sums", "mechanism": "gaussian", "sensitivity": sensitivity, "norm": "L2", **FRESH}
    return {"claim": claim("edge", epsilon, delta, units=2), "noise": [noise | {"scale": scale}]}


def mlp():
    """An MLP on nodes' own features with Opacus: noise multiplier 1.1, rate 0.01, 1000 steps: epsilon 1.71."""
    facts = {"name": "mlp", "example": "node", "noise_multiplier": 1.1, "sampling": "poisson", "steps": 1000}
    training = [{**facts, "sample_rate": 0.01, **SGD}]
    return {"claim": claim("node", 1.72, 1e-5), "training": training, "selection": PUBLIC, "inference": NOWHERE}


def dp_gnn():
    """One layer, at most 5 readers, 6 terms of two clips each, batches of 500 of 10,000 nodes."""
    facts = {"name": "gnn", "example": "node", "sampling": "fixed-size", "batch_size": 500, "examples": 10_000}
    facts |= {"noise_multiplier": 2.0, "steps": 300, "neighbour_bound": 5, "bound_on": "readers"}
    training = [{**SGD, **facts, "layers": 1, "sensitivity": 12, "accountant": "hypergeometric"}]
    stated = {"claim": claim("node", 4.35, 1e-5), "training": training, "selection": PUBLIC}
    return stated | {"bound": [{"what": "degree", "source": "public"}], "inference": NOWHERE}


def gap():
    """Two hops of noised aggregates, at most 100 readers of rows of norm 1, and a classifier on them."""
    hops = {
        "name": "hops",
        "times": 2,
        "mechanism": "gaussian",
        "sensitivity": 10,
        "norm": "L2",
        "scale": 20,
        **FRESH,
    }
    facts = {"name": "head", "example": "node", "noise_multiplier": 1.2, "sampling": "poisson", "steps": 1000}
    stated = {"claim": claim("node", 5.1, 1e-6, composition="rdp"), "noise": [hops], "selection": PUBLIC}
    stated |= {
        "training": [{**facts, "sample_rate": 0.02, **SGD}],
        "bound": [{"what": "degree", "source": "public"}],
    }
    return stated | {"inference": {"reads": "training graph", "noised": True}}


def fedavg():
    """Rounds of clipped uploads: GNNs that clients train on their own graphs."""
    facts = {"name": "rounds", "example": "client", "noise_multiplier": 1.0, "sampling": "poisson", "steps": 100}
    training = [{**SGD, **facts, "sample_rate": 0.05, "layers": 2, "exchanges": False, "normalisation": "batch"}]
    return {"claim": claim("client", 4.04, 1e-5), "training": training, "selection": PUBLIC}


def graphs():
    """Molecules: one graph is one record, whatever its nodes read of each other."""
    facts = {"name": "gin", "example": "graph", "noise_multiplier": 1.1, "sampling": "poisson", "steps": 1000}
    training = [{**SGD, **facts, "sample_rate": 0.01, "layers": 4}]
    return {"claim": claim("graph", 1.72, 1e-5), "training": training, "selection": PUBLIC}


def labels():
    """Labels alone are private: each is read by its own node's term, whatever that reads of features and edges."""
    facts = {"name": "gcn", "example": "node", "noise_multiplier": 8.0, "sampling": "full batch", "steps": 40}
    stated = {"claim": claim("node-label", 3.62, 1e-5), "training": [{**SGD, **facts, "layers": 2}]}
    return stated | {"selection": PUBLIC}


def one_release(epsilon, delta=0.0, adjacency="add/remove", **facts):
    """A single table of noise for one node."""
    return {
        "claim": claim("node", epsilon, delta, adjacency=adjacency),
        "noise": [{"name": "it", **facts, **FRESH}],
    }


def whole_counts():
    """A count with discrete Gaussian noise of deviation 1: epsilon 4.430, where continuous noise has 4.377."""
    return one_release(4.431, 1e-5, mechanism="discrete-gaussian", sensitivity=1, norm="any", scale=1)


def k_ary(epsilon=1.0, choices=5):
    """One of five classes, told as it is with probability e^epsilon / (e^epsilon + 4)."""
    truthful = 1 / (1 + (choices - 1) * math.exp(-epsilon))
    return one_release(
        epsilon, mechanism="k-ary-response", sensitivity=1, truthful=truthful, choices=choices, adjacency="replace"
    )


def sampled_counts():
    """Counts over a tenth of the nodes, Laplace noise of epsilon 1: ln(1 + 0.1 (e - 1)) = 0.1586."""
    facts = {"mechanism": "laplace", "sensitivity": 1, "norm": "L1", "scale": 1}
    return one_release(0.1587, **facts, sampling="poisson", sample_rate=0.1)


def sampled_sums():
    """Sums over a fixed number of nodes, for nodes that are replaced: delta 1e-5 is 1e-4 without the sample."""
    scale = 2 / distance_of(1.0, 1e-4)
    facts = {"mechanism": "gaussian", "sensitivity": 2, "norm": "L2", "scale": scale}
    sample = {"sampling": "without-replacement", "sample_rate": 0.1}
    return one_release(0.1587, 1e-5, **facts, **sample, adjacency="replace")


def tested_first():
    """A median whose local sensitivity is tested to be at most 2: epsilon 0.5 for the test, 0.5 for the release."""
    facts = {"sensitivity": 2, "scale": 4, "test_scale": 2, "threshold": 24}
    return one_release(1.0, 1e-5, mechanism="propose-test-release", **facts)


def smooth_cauchy(epsilon=1.0):
    """Triangles with Cauchy noise in proportion to their smooth sensitivity."""
    facts = {"mechanism": "smooth-sensitivity", "norm": "any", "law": "cauchy"}
    return one_release(epsilon, **facts, scale=6 / epsilon, beta=epsilon / 6)


def smooth_laplace(epsilon=1.0, delta=1e-5):
    """The same with Laplace noise, which needs a delta."""
    facts = {"mechanism": "smooth-sensitivity", "norm": "any", "law": "laplace"}
    return one_release(epsilon, delta, **facts, scale=2 / epsilon, beta=epsilon / (2 * math.log(2 / delta)))


def above_threshold():
    """Which of many degrees lie above a threshold, three at most: 0.4 for the threshold, 0.6 for the answers."""
    facts = {"mechanism": "sparse-vector", "sensitivity": 1, "positives": 3, "answers": "above or below"}
    return one_release(1.0, **facts, threshold_scale=2.5, query_scale=10)


def best_community():
    """The community of the highest score, chosen by permute-and-flip."""
    return one_release(1.0, mechanism="permute-and-flip", sensitivity=1, scale=2)


RIGHT = {
    make.__name__: make
    for make in (
        *(edge_response, degrees, laplace, mlp, dp_gnn, gap, fedavg, graphs, labels),
        *(whole_counts, k_ary, sampled_counts, sampled_sums, tested_first, smooth_cauchy, smooth_laplace),
        *(above_threshold, best_community),
    )
}


def changed(stated, **facts):
    """A copy with other facts: ``claim__told``, ``training__sampling`` (of the first), or a whole section.

    A fact that becomes None is no longer stated.
    """
    stated = copy.deepcopy(stated)
    for path, value in facts.items():
        section, _, name = path.partition("__")
        into = stated if not name else stated.setdefault(section, {})
        into = into[0] if isinstance(into, list) else into
        if value is None:
            into.pop(name or section)
        else:
            into[name or section] = value
    return stated
