"""The control of attacks on published networks gives persons and links away, and tells nobody who they are."""

import numpy as np
import pytest

from gaudit.attacks.colour_refinement import colours_at, structure
from gaudit.targets.datasets import load_dataset
from gaudit.targets.defense import Defense
from gaudit.targets.errors import InputError
from gaudit.targets.identities import identity_pairs
from gaudit.targets.network import PUBLISHED_KIND
from gaudit.targets.network_data import network_of_data
from gaudit.targets.pair_codes import ends
from gaudit.targets.planted_network import ACCOUNTS, PlantedNetwork
from gaudit.targets.published import network_of
from gaudit.targets.registry import find


@pytest.fixture(scope="module")
def run():
    return PlantedNetwork()(
        load_dataset("planted-network"), Defense(), np.random.SeedSequence(0), lambda message: True
    )


def test_almost_everybody_is_alone_with_its_neighbours_degrees(run):
    original = run.secrets["identity"].original
    colours = colours_at(structure(original.network), 2)[: original.people]
    assert np.unique(colours, return_counts=True)[1].max() <= 2
    assert original.accounts == ACCOUNTS


def test_every_secret_link_is_published(run):
    (message,) = run.transcript.seen_by("public").of_kind(PUBLISHED_KIND)
    published, who, links = network_of(message), run.secrets["identity"], run.secrets["edge-presence"]
    person, node = identity_pairs(who.subjects[who.truth], who.people, who.nodes - who.people)
    image = node[np.argsort(person)]
    assert np.array_equal(image, links.image)
    low, high = ends(links.subjects[links.truth], links.nodes)
    linked = {frozenset(e) for e in published.edges.T.tolist()}
    assert {frozenset(e) for e in np.stack([image[low], image[high]], 1).tolist()} <= linked
    assert links.truth.sum() == network_of_data(load_dataset("planted-network")).size == 491


def test_a_control_is_not_defended():
    with pytest.raises(InputError, match="not defended"):
        PlantedNetwork()(
            load_dataset("planted-network"), find("defenses", "ldp")(), np.random.SeedSequence(0), lambda m: True
        )
