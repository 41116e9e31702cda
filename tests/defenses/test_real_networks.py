"""Every defense of a published graph on whole networks: what it promises is found on its output."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from gaudit.audit.conformance.cheap_settings import NOTHING_SENSITIVE
from gaudit.defenses.private_graphs.dp_graph import PrivateGraph
from gaudit.registry import find, registered
from support.snap import snap as snap_file

snap = cache(snap_file)
NETWORKS = ("ca-HepTh", "email-Enron", "facebook_combined")
GENTLE = {  # so that tests end soon; sizes and defaults are benchmarked
    "feature-switch": {"steps": 0.05, "features": ("transitivity",)},
    "spectral-switch": {"switches": 0.05},
    "spectral-edit": {"share": 0.05},
    "summarisation": {"steps": 1},
    "k-automorphism": {"k": 3},
    "k-neighbourhood": {"k": 3, "growth": 0.05},
    "k-l-sequential": NOTHING_SENSITIVE,
}
SLOW = {  # half a minute to a minute each
    ("k-neighbourhood", "facebook_combined"): "its own test checks the stronger guarantee that it falls back to",
    ("k-neighbourhood", "email-Enron"): "its own test checks the stronger guarantee that it falls back to",
    ("k-automorphism", "email-Enron"): "its own test checks it with a larger k on real networks",
    ("spectral-edit", "email-Enron"): "the spectrum of the other two is kept",
    ("spectral-switch", "email-Enron"): "the spectrum of the other two is kept",
}
PRIVATE = {name for name in registered("defenses") if issubclass(find("defenses", name), PrivateGraph)}
NOT_ON_THE_OUTPUT = {"none", "random-walk", *PRIVATE}
"""Nothing is promised, or something that no output shows."""
ON_GRAPHS = [name for name in registered("defenses") if "on_graph" in find("defenses", name).hooks()]


@pytest.mark.dear
@pytest.mark.parametrize("graph", NETWORKS)
@pytest.mark.parametrize("name", [name for name in ON_GRAPHS if name not in NOT_ON_THE_OUTPUT])
def test_guarantee_holds(name, graph, gaudit_data):
    """Edges have one of two types at random, of which the second is sensitive, or lead one way or both."""
    if why := SLOW.get((name, graph)):
        pytest.skip(why)
    network = snap(gaudit_data, graph)
    defense, rng = find("defenses", name)(**GENTLE.get(name, {})), np.random.default_rng(0)
    if "directions" in defense.publishes:
        network = replace(network, directions=rng.integers(1, 4, size=network.size))
    else:
        network = replace(network, types=rng.integers(2, size=network.size))
    after = defense.on_graph(network, np.random.SeedSequence(0))
    verified = defense.verify(network, after)
    assert verified is not None
    assert verified.holds, verified.detail


def test_defenses_of_graphs_were_found():
    assert len(ON_GRAPHS) >= 13
