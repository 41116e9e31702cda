"""Training without a server: mixtures by hand, who hears whom, and what neighbours tell."""

import numpy as np
import pytest
import torch

from gaudit.attacks.gradients.label_pursuit import LabelPursuit
from gaudit.attacks.links.update_links import UpdateLinks
from gaudit.attacks.ownership.class_shares import ClassShares
from gaudit.attacks.ownership.update_codes import UpdateCodes
from gaudit.audit.games.knowledge_cache import KnowledgeCache
from gaudit.audit.games.referee import in_question, judge
from gaudit.audit.planning.observers import default_observer
from gaudit.audit.planning.trial_plan import AttackPlan
from gaudit.audit.statistics.metrics import auc_of_run
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.registry import find
from gaudit.targets.defense import Defense
from gaudit.targets.federated.communication import metropolis
from gaudit.targets.federated.decentralised import Decentralised
from gaudit.targets.federated.fedavg import FedAvg

SMALL = {"clients": 4, "hidden": 4, "rounds": 3, "local_epochs": 2, "lr": 0.05}
UPLOAD_ATTACKS = (LabelPursuit, UpdateCodes, UpdateLinks, ClassShares)


def ran(target, seed=0, data=None):
    data = load_dataset("karate") if data is None else data
    return target(data, Defense(), np.random.SeedSequence(seed), lambda message: True)


def sent(run, kind, sender=None, round_=None):
    messages = run.transcript.messages
    return [m for m in messages if m.kind == kind and sender in (None, m.sender) and round_ in (None, m.round)]


def mixtures(run, round_):
    """By a plain double loop over what was sent."""
    shares = sent(run, "mixing-shares")[0].tensors["shares"]
    told = {m.sender: m.tensors for m in sent(run, "peer-model", round_=round_)}
    for k in range(len(shares)):
        weights = {}
        for name in told["client:0"]:
            weights[name] = sum(float(shares[k, j]) * told[f"client:{j}"][name] for j in range(len(shares)))
        yield weights


@pytest.mark.parametrize("topology", ["ring", "complete"])
def test_clients_hear_their_neighbours_alone(topology):
    run = ran(Decentralised(topology=topology, **SMALL))
    heard = {(m.sender, m.receiver) for m in sent(run, "peer-model")}
    steps = (1, 3) if topology == "ring" else (1, 2, 3)
    assert heard == {(f"client:{k}", f"client:{(k + step) % 4}") for k in range(4) for step in steps}
    assert "server" not in run.transcript.parties()


@pytest.mark.parametrize("shared", ["all", "extractor"])
def test_mixtures_of_equal_weights_are_these_weights(shared):
    """No step does anything at this rate: all stay as they began."""
    still = ran(Decentralised(shared=shared, optimiser="sgd", dropout=0.0, **SMALL | {"lr": 1e-30}))
    for message in sent(still, "peer-model" if shared == "all" else "peer-part"):
        for name, weight in sent(still, "first-model" if shared == "all" else "first-part")[0].tensors.items():
            torch.testing.assert_close(message.tensors[name], weight)


def test_a_round_begins_with_the_mixture_by_hand():
    """One plain step from the mixture: the step is the same whoever takes it, so two of them add up."""
    settings = SMALL | {"local_epochs": 1, "rounds": 2, "dropout": 0.0, "optimiser": "sgd"}
    slow, fast = (ran(Decentralised(**settings | {"lr": lr})) for lr in (1e-9, 1.0))
    for k, mixture in enumerate(mixtures(fast, 0)):
        after = sent(fast, "peer-model", f"client:{k}", 1)[0].tensors
        assert any(not torch.allclose(after[name], weight) for name, weight in mixture.items())
    for k, mixture in enumerate(mixtures(slow, 0)):
        after = sent(slow, "peer-model", f"client:{k}", 1)[0].tensors
        for name, weight in mixture.items():
            torch.testing.assert_close(after[name], weight, rtol=0, atol=1e-6)


def test_where_all_talk_with_all_it_is_federated_averaging():
    """Metropolis weights of a complete graph are 1 / K each: the mixture is the server's mean."""
    one, other = ran(Decentralised(topology="complete", **SMALL)), ran(FedAvg(**SMALL))
    assert torch.allclose(metropolis(~torch.eye(4, dtype=torch.bool)), torch.full((4, 4), 0.25).double())
    theirs = {(m.sender, m.round): m.tensors for m in sent(other, "update")}
    for message in sent(one, "peer-model"):
        for name, weight in message.tensors.items():
            torch.testing.assert_close(weight, theirs[message.sender, message.round][name], rtol=1e-3, atol=1e-5)
    assert one.utility.test == pytest.approx(other.utility.test, abs=0.05)


def test_what_is_not_shared_never_leaves():
    run = ran(Decentralised(shared="extractor", **SMALL))
    weights = [m for m in run.transcript.messages if m.kind not in ("posteriors-full", "mixing-shares")]
    assert {name for m in weights for name in m.tensors} == {"w1", "b1"}
    assert "peer-model" not in Decentralised(shared="extractor").sent()


@pytest.mark.parametrize("attack", UPLOAD_ATTACKS, ids=lambda attack: attack.name)
def test_a_neighbour_mounts_what_a_server_mounts_elsewhere(attack):
    assert default_observer(attack, Decentralised()) == "client:0"
    assert default_observer(attack, FedAvg()) == "server"


def test_a_neighbour_tells_whose_nodes_are_whose():
    """Beside it the uploads of a run on which other clients hold the nodes."""
    data, plan, found = load_dataset("citations"), AttackPlan("update-codes", {}, "client:0"), []
    target = Decentralised(topology="complete", optimiser="sgd", lr=0.5, local_epochs=1, rounds=6)
    runs = [ran(target, seed, data) for seed in (0, 1)]
    cache = KnowledgeCache(data, np.random.SeedSequence(0), "cpu")
    given, knowledge, game = cache.for_attack(UpdateCodes(), plan, runs[0])
    for run in runs:
        view = given.renamed(run.transcript.seen_by("client:0"))
        judged = judge(UpdateCodes()(view, knowledge, np.random.SeedSequence(0)), given, game)
        found.append(auc_of_run(judged.where(in_question(game, "client:0"))))
    assert found[0] > 0.9
    assert found[1] < 0.75, "what is left is that partitions of two seeds overlap"


def test_defenses_of_uploads_to_a_server_have_no_place():
    for name in ("sealed-uploads", "gaussian-uploads", "private-teacher"):
        assert Decentralised().why_not(find("defenses", name)()) is not None


def test_there_are_no_gradients_to_send_and_no_model_to_publish():
    for wrong in ({"upload": "gradients"}, {"publish": ("model",)}, {"aggregation": "weighted"}):
        with pytest.raises(InputError):
            Decentralised(**wrong)
    assert Decentralised().sent() == {"posteriors-full", "mixing-shares", "first-model", "peer-model"}
