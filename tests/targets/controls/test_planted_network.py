"""The control of attacks on published networks gives persons and links away, and tells nobody who they are."""

import numpy as np
import pytest

from gaudit.attacks.identity.colour_refinement import colours_at, structure
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.running.trial import run_trial
from gaudit.audit.statistics.metrics import auc
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.graphs.pair_codes import ends
from gaudit.graphs.pyg import network_of_data
from gaudit.registry import find
from gaudit.targets.controls.planted_network import ACCOUNTS, PlantedNetwork
from gaudit.targets.defense import Defense
from gaudit.targets.messages import PUBLISHED_KIND
from gaudit.targets.published import network_of


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


def test_it_tells_what_became_of_the_network(run):
    """Under the ids of persons, as an adversary learns of it who knows facts of the published network."""
    (message,) = run.transcript.seen_by("public").of_kind(PUBLISHED_KIND)
    original, image = run.secrets["identity"].original, run.secrets["identity"].image
    told = original.published.degrees[: original.people]
    assert np.array_equal(network_of(message).degrees[image[: original.people]], told)


def test_an_attack_finds_it_that_knows_facts_of_the_published_network():
    plan = TrialPlan(
        "planted-network", {}, "none", {}, (AttackPlan("refinement", {"of": "published", "depth": 2}),), 0, 0
    )
    result = run_trial(plan, load_dataset("planted-network"))
    assert not result.refused
    (found,) = result.attacked
    assert auc(found.judged.truth, found.judged.score) > 0.99


def test_every_secret_link_is_published(run):
    (message,) = run.transcript.seen_by("public").of_kind(PUBLISHED_KIND)
    published, who, links = network_of(message), run.secrets["identity"], run.secrets["edge-presence"]
    image = who.image[: who.people]
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
