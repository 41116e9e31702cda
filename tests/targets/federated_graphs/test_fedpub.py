"""Fed-PUB: the random graph, mixtures and masks, and when it is federated averaging."""

import numpy as np
import pytest
import torch

from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.registry import find
from gaudit.targets.defense import Defense
from gaudit.targets.federated.fedavg import FedAvg
from gaudit.targets.federated.local_training import LocalTask, Subgraph
from gaudit.targets.federated_graphs.fedpub import MASK, FedPub, MaskedTask, masked, mixing, random_graph
from gaudit.targets.partition import Partition
from gaudit.targets.party import clients_of

SMALL = {"clients": 3, "hidden": 4, "rounds": 3, "local_epochs": 2, "lr": 0.05}
SEED = np.random.SeedSequence(0)


def ran(target, defense: Defense | None = None):
    return target(load_dataset("karate"), defense or Defense(), SEED, lambda message: True)


def sent(run, kind: str, sender: str | None = None, receiver: str | None = None):
    return [
        m
        for m in run.transcript.messages
        if m.kind == kind and sender in (None, m.sender) and receiver in (None, m.receiver)
    ]


def test_mixtures_are_softmaxes_of_cosines():
    embeddings = np.random.default_rng(0).normal(size=(4, 6))
    unit = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
    power = np.exp(3 * unit @ unit.T)
    found = mixing(torch.from_numpy(embeddings), 3.0)
    np.testing.assert_allclose(found, power / power.sum(1, keepdims=True))
    np.testing.assert_allclose(mixing(torch.from_numpy(embeddings), 0.0), np.full((4, 4), 0.25))


def test_the_random_graph_links_within_communities_alone():
    graph = random_graph(FedPub(blocks=3, block_size=20, density=0.3).settings, 7, SEED)
    one, other = graph["edges"]
    assert graph["x"].shape == (60, 7)
    assert torch.equal(one // 20, other // 20)
    assert not bool((one == other).any())
    pairs = set(zip(one.tolist(), other.tolist(), strict=True))
    assert pairs == {(b, a) for a, b in pairs}
    assert len(pairs) / 2 == pytest.approx(0.3 * 3 * 190, rel=0.2)


def test_without_masks_and_with_even_mixtures_it_is_federated_averaging():
    even = FedPub(tau=0, masks=False, nearness=0, answers="mixture", **SMALL)
    one, other = ran(even), ran(FedAvg(**SMALL))
    for mine, theirs in zip(sent(one, "update"), sent(other, "update"), strict=True):
        assert (mine.sender, mine.round) == (theirs.sender, theirs.round)
        assert all(torch.equal(mine.tensors[name], weight) for name, weight in theirs.tensors.items())
    assert one.utility == other.utility


def test_each_client_gets_the_mixture_that_embeddings_say():
    run = ran(FedPub(**SMALL))
    told = torch.stack([m.tensors["mean"] for m in sent(run, "functional-embedding") if m.round == 1])
    uploads = [m.tensors for m in sent(run, "update") if m.round == 1]
    for k, shares in enumerate(mixing(told, 10.0)):
        (got,) = [m for m in sent(run, "global-model", receiver=f"client:{k}") if m.round == 2]
        for name, weight in got.tensors.items():
            expected = sum(share * upload[name] for share, upload in zip(shares, uploads, strict=True))
            torch.testing.assert_close(weight, expected)


@pytest.mark.parametrize(("embedding", "width"), [("hidden", 4), ("output", 4)])
def test_an_embedding_is_the_mean_of_what_the_model_says_of_the_graph(embedding, width):
    """Where no mask is learned the update is the model, and the server could tell the embedding by itself."""
    target = FedPub(embedding=embedding, masks=False, **SMALL)
    run = ran(target)
    (graph,) = sent(run, "random-graph", "server", "clients")
    sight = Subgraph.of(target.settings.recipe(), graph.tensors["x"], graph.tensors["edges"])
    for told, update in zip(sent(run, "functional-embedding"), sent(run, "update"), strict=True):
        rows = sight.hidden(update.tensors) if embedding == "hidden" else sight(update.tensors)
        torch.testing.assert_close(told.tensors["mean"], rows.mean(0))
        assert told.nbytes == 4 * width


def task() -> LocalTask:
    data = load_dataset("karate")
    (client,) = clients_of(data, Partition.undivided(len(data.y)))
    return LocalTask.of(client, Subgraph.of(FedPub(**SMALL).settings.recipe(), client.x, client.edges))


def test_both_penalties_have_gradients():
    """Released codes take them from copies that no gradient flows through."""
    from gaudit.targets.models.training_config import initial_weights

    plain, data = task(), load_dataset("karate")
    begun = initial_weights(FedPub(**SMALL).settings.recipe(), data.x.shape[1], 4, SEED)
    masks = {MASK + "w1": torch.full_like(begun["w1"], 0.5), MASK + "w2": torch.full_like(begun["w2"], -0.5)}
    now = {name: weight + 0.1 for name, weight in begun.items()}
    free = {name: w.clone().requires_grad_() for name, w in {**now, **masks}.items()}
    made = MaskedTask.of_task(plain, masks, sparsity=2.0, nearness=3.0)
    of_both = MaskedTask(**{**vars(made), "begun": begun})
    gradient = dict(zip(free, torch.autograd.grad(of_both.loss(free), list(free.values())), strict=True))
    of_loss = torch.autograd.grad(plain.loss(masked(free)), list(free.values()), allow_unused=True)
    for (name, weight), without in zip(free.items(), of_loss, strict=True):
        if name.startswith(MASK):
            expected = 2.0 * weight.sign()
        else:
            moved = weight - begun[name]
            expected = 3.0 * moved / moved.norm()
        torch.testing.assert_close(gradient[name] - without, expected.detach(), atol=1e-4, rtol=1e-4)


def test_masks_are_kept_and_shrink():
    run = ran(FedPub(sparsity=10.0, **SMALL | {"rounds": 30, "local_epochs": 5}))
    assert {name for m in sent(run, "update") for name in m.tensors} == {"w1", "b1", "w2", "b2"}
    told = sent(run, "posteriors-full")[0].tensors["posteriors"]
    spread = told.max(0).values - told.min(0).values
    assert float(spread.max()) < 0.6  # of a model of next to no weights, what biases say


def test_messages_of_a_round():
    run = ran(FedPub(**SMALL))
    assert [m.round for m in sent(run, "random-graph")] == [-1]
    heads = [(m.kind, m.sender, m.receiver) for m in run.transcript.messages if m.round == 2]
    expected = [("global-model", "server", f"client:{k}") for k in range(3)]
    for k in range(3):
        expected += [("update", f"client:{k}", "server"), ("functional-embedding", f"client:{k}", "server")]
    assert heads == expected


def test_no_common_model_is_published_and_no_secure_sum_will_do():
    with pytest.raises(InputError, match="publish"):
        FedPub(publish=("model",))
    with pytest.raises(InputError, match="secure sum"):
        ran(FedPub(**SMALL), find("defenses", "sealed-uploads")())
