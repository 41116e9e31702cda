"""The planted leak of existence: two networks with one sequence of degrees, of which one is published."""

import numpy as np

from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.controls.planted_presence import PlantedPresence
from gaudit.targets.defense import Defense
from gaudit.targets.published import network_of


def test_degrees_tell_nothing_and_the_release_is_one_of_both():
    data = load_dataset("planted-network")
    run = PlantedPresence().run(data, Defense(), np.random.SeedSequence(3), lambda message: True)
    game, nodes = run.secrets["existence"], data.num_nodes
    degrees, edges = game.network.degrees, [set(), set()]
    assert np.array_equal(degrees[:nodes], degrees[nodes:])
    for a, b in game.network.edges.T.tolist():
        assert (a < nodes) == (b < nodes)
        edges[a >= nodes].add((a % nodes, b % nodes))
    assert len(edges[0]) == len(edges[1])
    assert len(edges[0] & edges[1]) < len(edges[0]) / 2
    (message,) = run.transcript.seen_by("public").messages
    assert sorted(network_of(message).degrees) == sorted(degrees[:nodes])
    assert game.truth[game.subjects < nodes].all()
    assert not game.truth[game.subjects >= nodes].any()
