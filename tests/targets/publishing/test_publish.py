"""A graph is published under random ids, and the truth about persons and links is kept beside."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.running.trial import run_trial
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.graphs.network import Network, Verified
from gaudit.graphs.pair_codes import ends
from gaudit.graphs.pyg import data_of, network_of_data
from gaudit.registry import find
from gaudit.targets.defense import Defense
from gaudit.targets.federated.fedavg import FedAvg
from gaudit.targets.messages import ACCOUNTS_KIND, PUBLISHED_KIND
from gaudit.targets.published import network_of
from gaudit.targets.publishing.publish import Publish
from support.random_networks import uneven_network

FEW = {"measures": ("degree-distribution",)}


def published(graph, defense=None, seed=0, **settings):
    run = Publish(**FEW, **settings)(
        graph, defense or Defense(), np.random.SeedSequence(seed), lambda message: True
    )
    (message,) = run.transcript.seen_by("public").of_kind(PUBLISHED_KIND)
    return run, network_of(message)


def image_of(run) -> np.ndarray:
    secrets = run.secrets["identity"]
    return secrets.image[: secrets.people]


class Twist(Defense):
    """Drops the first edge and adds a node."""

    name = "twist"

    def __init__(self, holds=True):
        super().__init__()
        self.holds = holds

    def on_graph(self, network, seed):
        return network.with_edges(network_codes(network)[1:], np.random.default_rng(seed), network.nodes + 1)

    def verify(self, before, after):
        return Verified("one edge fewer", self.holds, f"{before.size} and {after.size}")


def network_codes(network):
    low, high = network.edges
    return low * (network.nodes + 1) + high


def test_only_the_names_change():
    graph = load_dataset("karate")
    run, network = published(graph)
    image = image_of(run)
    original = network_of_data(graph)
    assert not np.array_equal(image, np.arange(34))
    assert np.array_equal(original.renamed(image).edges, network.edges)


def test_names_differ_by_seed_and_not_by_defense():
    graph = load_dataset("planted-network")
    assert np.array_equal(image_of(published(graph)[0]), image_of(published(graph)[0]))
    assert not np.array_equal(image_of(published(graph)[0]), image_of(published(graph, seed=1)[0]))


def test_links_in_question_are_those_of_the_original():
    graph = load_dataset("planted-network")
    run, _ = published(graph, Twist())
    secrets = run.secrets["edge-presence"]
    low, high = ends(secrets.subjects[secrets.truth], secrets.nodes)
    assert np.array_equal(np.sort(low * 120 + high), network_of_data(graph).codes)


def test_one_type_of_edge_may_be_the_secret():
    plain = network_of_data(load_dataset("planted-network"))
    types = np.arange(plain.size) % 3
    graph = data_of(replace(plain, types=types))
    run, network = published(graph, sensitive=2, keep=("types",))
    secrets = run.secrets["edge-presence"]
    assert secrets.truth.sum() == (types == 2).sum()
    assert np.array_equal(np.bincount(network.types), np.bincount(types))
    with pytest.raises(InputError, match="sensitive=7: no edge is of this type; types here: 0, 1, 2"):
        published(graph, sensitive=7)


def test_what_a_defense_did_is_told_and_its_guarantee_checked():
    graph = load_dataset("planted-network")
    run, network = published(graph, Twist())
    assert network.nodes == 121
    assert "490 linked pairs, 490 of them original (99.8 % of 491 kept), 0 new" in run.notes[0]
    assert run.notes[1] == "verified on the output: one edge fewer (491 and 490)"
    assert "DOES NOT HOLD" in published(graph, Twist(holds=False))[0].notes[1]


def test_accounts_of_an_adversary_join_before_a_release_of_their_own():
    graph = load_dataset("planted-network")
    run, network = published(graph, accounts=8)
    (message,) = run.transcript.seen_by("public").of_kind(ACCOUNTS_KIND)
    who, apart = run.secrets["identity"], run.secrets["identity"].with_accounts
    assert (who.original.accounts, network.nodes) == (0, 120)
    original = apart.original
    assert (original.people, original.accounts, network_of(message).nodes) == (120, 8, 128)
    inside = original.network.edges[:, original.network.edges[0] >= 120]
    assert inside.shape[1] >= 7  # the path among the accounts
    assert np.array_equal(network_of(message).degrees[apart.image[:120]], original.network.degrees[:120])
    assert "8 accounts are in a release of their own" in run.notes[-1]


@pytest.mark.parametrize("defense", [("none", {}), ("k-degree", {"k": 5}), ("random-edit", {})])
def test_accounts_of_one_attack_change_nothing_for_the_others(defense):
    """With and without the active attack in the plan the others' guesses are the same numbers to the last bit."""
    names = ("refinement", "hub-fingerprint", "passive-coalition", "seedless-matching", "link-randomisation")
    others, graph = tuple(AttackPlan(name) for name in names), load_dataset("planted-network")
    alone = run_trial(TrialPlan("publish", FEW, *defense, others, 0, 0), graph)
    beside = (AttackPlan("active-walk"), *others)
    joined = run_trial(TrialPlan("publish", {**FEW, "accounts": 10}, *defense, beside, 0, 0), graph)
    assert not {**alone.refused, **joined.refused}
    assert (alone.kept, alone.utility.test) == (joined.kept, joined.utility.test)
    for one, two in zip(alone.attacked, joined.attacked[1:], strict=True):
        assert one.judged.subjects.tobytes() == two.judged.subjects.tobytes()
        assert one.judged.score.tobytes() == two.judged.score.tobytes()
        assert (one.knowledge, one.blind.score.tobytes()) == (two.knowledge, two.blind.score.tobytes())


def test_planted_accounts_find_their_targets_beside_other_attacks():
    """All who are linked to an account are in question; alone with its accounts is each target, and few others."""
    plans = (AttackPlan("refinement"), AttackPlan("active-walk"))
    settings = {**FEW, "accounts": 10, "account_targets": 20}
    graph = data_of(uneven_network(500, 2500, 0))
    (_, walk) = run_trial(TrialPlan("publish", settings, "none", {}, plans, 0, 0), graph).attacked
    assert "of its own accounts" in walk.knowledge
    own = walk.judged.score[walk.judged.truth]
    assert (own > 0).all()
    assert (own == 1).sum() >= 20


def test_structure_is_the_utility_of_a_network_without_labels():
    run, _ = published(load_dataset("karate"), utility="structure")
    assert run.utility.test == 1
    assert run.kept == {"degree-distribution": 1}
    with pytest.raises(InputError, match="utility=accuracy needs features and labels"):
        published(load_dataset("planted-network"), utility="accuracy")


def test_accuracy_is_the_utility_where_nodes_have_labels():
    graph = load_dataset("citations")
    assert published(graph)[0].utility.test > 0.75

    class NoEdges(Twist):
        def on_graph(self, network, seed):
            return Network.from_edges(network.nodes, network.edges[0][:1], network.edges[1][:1])

    assert published(graph, NoEdges())[0].utility.test < 0.7


def test_defenses_act_where_they_can():
    graph = load_dataset("citations")
    with pytest.raises(InputError, match="has no place in the target 'publish'"):
        Publish()(graph, find("defenses", "ldp")(), np.random.SeedSequence(0), lambda message: True)
    with pytest.raises(InputError, match="it changes a graph that is published, and 'fedavg' publishes none"):
        FedAvg()(graph, Twist(), np.random.SeedSequence(0), lambda message: True)


def test_an_attribute_is_asked_about_where_one_is_named():
    graph = load_dataset("citations")
    run, network = published(graph, attribute="label:2", known=0.25)
    game = run.secrets["attribute"]
    assert game.truth.tolist() == (graph.y[game.subjects] == 2).tolist()
    assert len(game.known) == graph.num_nodes // 4
    assert not game.linked
    assert np.array_equal(game.image, image_of(run))
    assert Publish(attribute="label:2").plays == {"identity", "edge-presence", "attribute"}
    plain, same = published(graph)
    assert set(plain.secrets) == Publish().plays == {"identity", "edge-presence"}
    assert np.array_equal(network.edges, same.edges)


def test_an_attribute_of_a_graph_without_any_is_refused():
    with pytest.raises(InputError, match="neither features nor classes"):
        published(load_dataset("planted-network"), attribute="0")


def test_weights_are_told_as_the_setting_says_and_imply_that_they_are_kept():
    plain = network_of_data(load_dataset("planted-network"))
    weights = np.random.default_rng(0).lognormal(3, 1, plain.size)
    graph = data_of(replace(plain, weights=weights, types=np.arange(plain.size) % 3))
    run, network = published(graph, weights="rounded:10")
    assert network.types is None
    assert Counter(network.weights.tolist()) == Counter((10.0 * np.rint(weights / 10)).tolist())
    assert "Weights of edges are rounded to multiples of 10." in run.notes
    assert any("types of edges are not published" in note for note in run.notes)
    assert published(graph, weights="binned:2", keep=("types",))[1].types is not None
    noised = [published(graph, weights="noised:5", seed=seed)[1].weights.sum() for seed in (0, 0, 1)]
    assert noised[0] == pytest.approx(noised[1])
    assert noised[0] != pytest.approx(noised[2])
    with pytest.raises(InputError, match="edges have no weights here"):
        published(data_of(plain), weights="rounded:10")
    with pytest.raises(InputError, match=r"setting 'weights' of target 'publish'.*expected rounded:10"):
        published(graph, weights="coarse")
