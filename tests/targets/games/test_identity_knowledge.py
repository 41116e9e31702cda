"""What adversaries get to know of persons and of published links, and what they do not."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gaudit.attacks.identity.identity_attack import Candidates, IdentityAttack
from gaudit.audit.games.knowledge_cache import KnowledgeCache
from gaudit.audit.games.referee import judge
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.running.trial import run_trial
from gaudit.audit.statistics.rates import tpr_at_fpr_finding
from gaudit.audit.statistics.scored_subjects import counts_of
from gaudit.audit.statistics.vulnerability import vulnerabilities
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.graphs.pyg import network_of_data
from gaudit.targets.defense import Defense
from gaudit.targets.game import Adversary
from gaudit.targets.games.identities import Identity
from gaudit.targets.games.links import EdgePresence
from gaudit.targets.messages import PUBLISHED_KIND
from gaudit.targets.published import network_of
from gaudit.targets.publishing.publish import Publish
from support.adversaries import adversary

SEED = np.random.SeedSequence(3)
BARE = {"utility": "structure", "measures": ("degree-distribution",)}


class ByDegree(IdentityAttack):
    """Knows the degree of each person, and the whole network with seeds where it asks for these."""

    name = "by-degree"
    knows = "how many neighbours each has"

    def learn(self, original, rng):
        return {"degree": original.network.degrees[: original.people], "edges": original.network.edges}

    def candidates(self, published, facts, seeds, rng):
        return Candidates.of_keys(facts["degree"], published.degrees)


@pytest.fixture(scope="module")
def graph():
    return load_dataset("planted-network")


@pytest.fixture(scope="module")
def run(graph):
    return Publish(measures=("degree-distribution",))(
        graph, Defense(), np.random.SeedSequence(1), lambda message: True
    )


def granted(graph, secrets, attack, seed=SEED):
    """What an attack's adversary is granted, and the game that is left."""
    given, narrowed = secrets.grant(graph, Adversary(attack), seed)
    return given, narrowed(secrets)


def scored(run, graph, attack):
    secrets = run.secrets[Identity.name]
    given, left = granted(graph, secrets, attack)
    view = given.renamed(run.transcript.seen_by("public"))
    return judge(attack(view, given.knowledge, SEED), given, left), left


def test_the_chance_of_each_person_is_one_over_its_degree_class(run, graph):
    degrees = network_of_data(graph).degrees
    found, _ = scored(run, graph, ByDegree())
    own = found.score[found.truth]
    assert own == pytest.approx(1 / np.bincount(degrees)[degrees])  # persons in ascending order


def test_ids_of_persons_say_nothing(run, graph):
    given, _ = granted(graph, run.secrets[Identity.name], ByDegree())
    assert not np.array_equal(given.ids, np.arange(len(given.ids)))
    degrees = network_of_data(graph).degrees
    assert np.array_equal(given.knowledge.background.facts["degree"], degrees[given.ids])


def test_the_facts_are_of_the_network_under_the_adversarys_ids(run, graph):
    given, _ = granted(graph, run.secrets[Identity.name], ByDegree())
    edges = given.ids[given.knowledge.background.facts["edges"]]
    assert {tuple(sorted(e)) for e in edges.T.tolist()} == {
        tuple(e) for e in network_of_data(graph).edges.T.tolist()
    }


def test_seeds_are_true_and_no_longer_asked_about(run, graph):
    attack = ByDegree()
    attack.knows_people = 0.25
    secrets = run.secrets[Identity.name]
    given, left = granted(graph, secrets, attack)
    person, node = given.knowledge.background.seeds
    image = dict(zip(range(120), secrets_image(secrets), strict=True))
    assert len(person) == 30
    assert all(image[given.ids[p]] == n for p, n in zip(person, node, strict=True))
    assert left.truth.sum() == 120 - 30 == given.knowledge.members
    assert not np.isin(given.ids[person], left.subjects[left.truth] // left.pairs_of).any()
    assert len(given.knowledge.subjects) == len(left.subjects)


def test_in_question_are_those_of_whom_anything_is_known(run, graph):
    class OfHubs(ByDegree):
        def asked(self, facts):
            return facts["degree"] > 9

    found, left = scored(run, graph, OfHubs())
    degrees = network_of_data(graph).degrees
    persons = found.subjects[found.truth] // left.pairs_of
    assert np.array_equal(np.sort(persons), np.flatnonzero(degrees > 9))
    assert found.score[found.truth] == pytest.approx(1 / np.bincount(degrees)[degrees[persons]])
    assert left.sampling_weight * (~left.truth).sum() == pytest.approx(len(persons) * 119)


def secrets_image(secrets):
    return secrets.image[: secrets.people]


def test_shuffled_facts_leave_chance(run, graph):
    """Null: with the facts of other persons the mean probability is 1 / n; 6 standard errors, 2e-9 at most."""

    class Shuffled(ByDegree):
        def learn(self, original, rng):
            facts = super().learn(original, rng)
            return {**facts, "degree": rng.permutation(facts["degree"])}

    own = []
    for start in range(20):
        secrets = run.secrets[Identity.name]
        given, _ = granted(graph, secrets, Shuffled(), np.random.SeedSequence(start))
        view = run.transcript.seen_by("public")
        found = judge(Shuffled()(view, given.knowledge, SEED), given, secrets)
        own.append(found.score[found.truth].mean())
    assert abs(np.mean(own) - 1 / 120) < 6 * np.std(own) / np.sqrt(20)


def test_whoever_knows_who_is_who_reads_the_network_under_its_own_ids(run, graph):
    given, _ = run.secrets[EdgePresence.name].grant(graph, adversary(), SEED)
    (message,) = given.renamed(run.transcript.seen_by("public")).of_kind(PUBLISHED_KIND)
    edges = given.ids[network_of(message).edges]
    assert {tuple(sorted(e)) for e in edges.T.tolist()} == {
        tuple(e) for e in network_of_data(graph).edges.T.tolist()
    }


def test_without_accounts_or_facts_the_message_alone_names_nobody(run):
    """What the public gets holds no id of a person: its numbers are those of the published nodes."""
    (message,) = run.transcript.seen_by("public").of_kind(PUBLISHED_KIND)
    assert set(message.tensors) == {"size", "edges"}
    assert message.tensors["edges"].dtype == torch.int64


def test_facts_may_be_those_of_the_published_network(graph):
    """Persons keep their places there, whatever a defense added behind them."""

    class Watching(ByDegree):
        of = "published"

    class Doubled(Defense):
        name = "doubled"

        def on_graph(self, network, seed):
            low, high = network.edges
            nodes = network.nodes + 3
            more = np.arange(100) * nodes + 120 + np.arange(100) % 3
            return network.with_edges(np.concatenate([low * nodes + high, more]), np.random.default_rng(0), nodes)

    run = Publish(measures=("degree-distribution",))(graph, Doubled(), np.random.SeedSequence(1), lambda m: True)
    given, _ = granted(graph, run.secrets[Identity.name], Watching())
    degrees = network_of_data(graph).degrees + (np.arange(120) < 100)
    assert np.array_equal(given.knowledge.background.facts["degree"], degrees[given.ids])
    assert "as the published graph has it" in given.knowledge.sentence()
    own = scored(run, graph, Watching())[0]
    assert (own.score[own.truth] > 0).all()
    missed = scored(run, graph, ByDegree())[0]
    assert (missed.score[missed.truth] == 0).any()


def released(graph, seed):
    return Publish(measures=("degree-distribution",), accounts=5, account_targets=10)(
        graph, Defense(), np.random.SeedSequence(seed), lambda message: True
    )


@pytest.mark.parametrize("share", [0.0, 0.25])
def test_who_is_right_about_everybody_is_right_by_the_referee(graph, share):
    run = released(graph, 5)
    secrets = run.secrets[Identity.name]

    class Right(ByDegree):
        knows_people = share

        def candidates(self, published, facts, seeds, rng):
            return Candidates.of_sets([np.array([node]) for node in image[given.ids]])

    image = secrets_image(secrets)
    given, left = granted(graph, secrets, Right())
    view = given.renamed(run.transcript.seen_by("public"))
    found = judge(Right()(view, given.knowledge, SEED), given, left)
    assert np.array_equal(found.score == 1, found.truth)
    assert np.array_equal(found.score == 0, ~found.truth)
    assert (np.diff(found.subjects) > 0).all()


def test_a_person_is_one_subject_in_all_seeds(graph):
    runs = [scored(released(graph, seed), graph, ByDegree())[0] for seed in range(5)]
    assert counts_of([runs])[0] == 120
    for run in runs:
        assert np.array_equal(np.unique(run.subjects[run.truth] // run.nodes), np.arange(120))
    exposed = vulnerabilities(runs, Identity.called)
    assert sorted(v.subject for v in exposed) == list(range(120))
    assert {v.runs for v in exposed} == {5}


def test_what_seeds_share_is_not_taken_for_new():
    """Without a defense every seed's release tells the same of the same persons: more seeds are no more persons."""
    plans = [
        TrialPlan("publish", BARE, "none", {}, (AttackPlan("refinement", {"depth": 1}),), 0, i) for i in range(5)
    ]
    runs = [run_trial(plan, load_dataset("planted-network")).attacked[0].judged for plan in plans]
    apart = [replace(run, subjects=run.subjects + run.nodes**2 * k) for k, run in enumerate(runs)]
    found, as_new = (
        tpr_at_fpr_finding(runs, 0.01),
        tpr_at_fpr_finding([replace(a, nodes=None) for a in apart], 0.01),
    )
    assert found.members == 120
    assert found.high - found.low > 1.4 * (as_new.high - as_new.low)


def test_attributes_are_those_of_the_person():
    """Degrees in thirds, beside each row of what was judged."""
    data = load_dataset("planted-network")
    plan = TrialPlan("publish", BARE, "none", {}, (AttackPlan("refinement", {"depth": 1}),), 0, 3)
    found = run_trial(plan, data).attacked[0]
    degrees = network_of_data(data).degrees[found.judged.subjects // found.judged.nodes]
    order = {"low": 0, "middle": 1, "high": 2}
    ranks = np.array([order[label] for label in found.attributes["degree"]])
    assert all(degrees[ranks == k].max() < degrees[ranks == k + 1].min() for k in (0, 1))


def test_shared_grants_give_what_fresh_ones_give():
    """Facts of the published network are another defense's own."""
    data = load_dataset("karate")
    attacks = tuple(
        AttackPlan("refinement", {"of": of, "depth": 1, "match": "exact"}) for of in ("published", "original")
    )
    plans = [TrialPlan("publish", BARE, name, {}, attacks, 1, 0) for name in ("none", "k-degree", "random-edit")]
    shared = KnowledgeCache.of(plans[0], data)
    for plan in plans:
        ours, theirs = run_trial(plan, data, cache=shared), run_trial(plan, data)
        for one, other in zip(ours.attacked, theirs.attacked, strict=True):
            np.testing.assert_array_equal(one.judged.score, other.judged.score)
        of_published = ours.attacked[0].judged
        assert (of_published.score[of_published.truth] > 0).all()  # its own facts never miss
