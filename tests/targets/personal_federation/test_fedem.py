"""FedEM: both steps by hand, groups that labels tell apart, and what leaves a client."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torch_geometric.data import Data

from gaudit.audit.conformance.small_graphs import sixty_nodes
from gaudit.defenses.uploads.gaussian_uploads import GaussianUploads
from gaudit.defenses.uploads.sealed_uploads import SealedUploads
from gaudit.targets.defense import Defense
from gaudit.targets.federated.fedavg import FedAvg
from gaudit.targets.federated.local_training import LocalTask, Subgraph
from gaudit.targets.models.training_config import TrainingConfig, initial_weights
from gaudit.targets.personal_federation.fedem import FedEM, origins_of
from gaudit.targets.target import no_progress

SMALL = {"clients": 3, "hidden": 8, "rounds": 4, "local_epochs": 3, "lr": 0.05, "split": "60/20/20"}
PLAIN = {"optimiser": "sgd", "local_epochs": 1, "lr": 0.5, "dropout": 0.0}


def begun(settings: dict, data: Data, defense: Defense | None = None, seed: int = 0):
    """A run of which everything is kept, and the result."""
    every = (data, defense or Defense(), np.random.SeedSequence(seed), lambda message: True, no_progress)
    loop = FedEM.loop(FedEM.Settings(**settings), *every)
    return loop, loop.run()


def ran(target, data: Data, seed: int = 0):
    return target(data, Defense(), np.random.SeedSequence(seed), lambda message: True)


def sent(run, kind: str) -> dict[tuple[int, str], dict[str, torch.Tensor]]:
    return {(m.round, m.sender): dict(m.tensors) for m in run.transcript.messages if m.kind == kind}


def model(tensors, number: int) -> dict[str, torch.Tensor]:
    return {name.partition("/")[2]: w for name, w in tensors.items() if name.startswith(f"{number}/")}


def dense_logits(weights: dict[str, torch.Tensor], x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
    """A two-layer GCN as Kipf and Welling write it, on a dense matrix."""
    loops = torch.eye(len(x))
    loops[edges[1], edges[0]] = 1
    scale = loops.sum(1) ** -0.5
    propagated = scale[:, None] * loops * scale
    hidden = (propagated @ x @ weights["w1"] + weights["b1"]).relu()
    return propagated @ hidden @ weights["w2"] + weights["b2"]


def by_numpy(clients, models: list[dict], mixtures: dict) -> dict[int, np.ndarray]:
    """How likely each labelled node is to come from each model, product by product."""
    found = {}
    for client in clients:
        rows, mixture = [], mixtures[client.number]
        for weights in models:
            answers = dense_logits(weights, client.x, client.edges)[client.train].double().numpy()
            shares = np.exp(answers) / np.exp(answers).sum(1, keepdims=True)
            rows.append(shares[np.arange(len(shares)), client.y_train[client.train].numpy()])
        weighed = np.array(rows).T * mixture  # pi_m exp(-loss) is pi_m times the answer for the true label
        found[client.number] = weighed / weighed.sum(1, keepdims=True)
    return found


def test_a_node_comes_from_models_in_proportion_to_what_they_answer():
    torch.manual_seed(0)
    recipe, edges = TrainingConfig(hidden=4), torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]])
    x, labelled, labels = torch.rand(6, 5), torch.tensor([0, 2, 3, 5]), torch.tensor([0, 2, 1, 1])
    models = [initial_weights(recipe, 5, 3, np.random.SeedSequence(k)) for k in range(3)]
    mixture = torch.tensor([0.5, 0.2, 0.3])
    task = LocalTask(Subgraph.of(recipe, x, edges), labelled, labels, labelled[:0], labels[:0])
    expected = []
    for weights, share in zip(models, mixture.tolist(), strict=True):
        answers = dense_logits(weights, x, edges)[labelled].double().numpy()
        own = np.exp(answers) / np.exp(answers).sum(1, keepdims=True)
        expected.append(share * own[np.arange(4), labels.numpy()])
    likely = np.array(expected).T / np.array(expected).sum(0)[:, None]
    np.testing.assert_allclose(origins_of(task, models, mixture), likely, rtol=1e-5)


def test_a_round_is_both_steps_by_hand():
    """Each model moves against the mean of its nodes' gradients, weighed by where they come from."""
    loop, run = begun({**SMALL, **PLAIN, "models": 3, "rounds": 3}, sixty_nodes())
    components, uploads = sent(run, "component-models"), sent(run, "component-updates")
    mixtures = {client.number: np.full(3, 1 / 3) for client in loop.clients}
    for t in range(3):
        models = [model(components[t, "server"], j) for j in range(3)]
        likely = by_numpy(loop.clients, models, mixtures)
        mixtures = {number: origins.mean(0) for number, origins in likely.items()}
        for client in loop.clients:
            for j, weights in enumerate(models):
                free = {name: w.clone().requires_grad_() for name, w in weights.items()}
                own = dense_logits(free, client.x, client.edges)[client.train]
                losses = F.cross_entropy(own, client.y_train[client.train], reduction="none")
                count = torch.from_numpy(likely[client.number][:, j]).float()
                (count @ losses / len(losses)).backward()
                for name, w in free.items():
                    expected = weights[name] - PLAIN["lr"] * w.grad
                    torch.testing.assert_close(uploads[t, client.name][f"{j}/{name}"], expected)
    for number, mixture in mixtures.items():
        np.testing.assert_allclose(loop.mixtures[number], mixture, rtol=1e-4)
    largest = np.mean([mixture.max() for mixture in mixtures.values()])
    assert run.figures == {"largest share of a client's mixture, mean": pytest.approx(largest, rel=1e-4)}


@pytest.mark.parametrize("aggregation", ["uniform", "weighted"])
def test_each_model_becomes_the_mean_of_what_clients_sent_of_it(aggregation):
    loop, run = begun({**SMALL, "aggregation": aggregation}, sixty_nodes())
    components, uploads = sent(run, "component-models"), sent(run, "component-updates")
    labels = torch.tensor([float(client.train.sum()) for client in loop.clients])
    assert len(set(labels.tolist())) > 1
    shares = labels / labels.sum() if aggregation == "weighted" else torch.full((3,), 1 / 3)
    assert {(m.kind == "labelled-count") for m in run.transcript.messages} == {False, aggregation == "weighted"}
    for t in range(SMALL["rounds"]):
        for name, weight in components[t + 1, "server"].items():
            every = torch.stack([uploads[t, client.name][name] for client in loop.clients])
            torch.testing.assert_close(weight, torch.tensordot(shares, every, 1))


def test_models_begin_apart():
    _, run = begun(SMALL, sixty_nodes())
    first = [model(sent(run, "component-models")[0, "server"], j)["w1"] for j in range(3)]
    assert all(not torch.equal(first[a], first[b]) for a, b in ((0, 1), (0, 2), (1, 2)))


def test_clients_answer_with_their_mixture():
    loop, run = begun({**SMALL, "models": 2}, sixty_nodes())
    last = sent(run, "component-models")[SMALL["rounds"], "server"]
    table = sent(run, "posteriors-full")[SMALL["rounds"], "server"]["posteriors"]
    for client in loop.original:
        said = [dense_logits(model(last, j), client.x, client.edges).softmax(1) for j in range(2)]
        first, second = loop.mixtures[client.number].tolist()
        torch.testing.assert_close(table[client.nodes], first * said[0] + second * said[1])


@pytest.mark.parametrize("state", ["fresh", "kept"])
def test_with_one_model_it_is_federated_averaging(state):
    settings = {**SMALL, "optimiser_state": state}
    one, plain = ran(FedEM(models=1, **settings), sixty_nodes()), ran(FedAvg(**settings), sixty_nodes())
    updates, expected = sent(one, "component-updates"), sent(plain, "update")
    assert updates.keys() == expected.keys()
    for key, weights in expected.items():
        assert updates[key].keys() == {f"0/{name}" for name in weights}
        assert all(torch.equal(updates[key][f"0/{name}"], w) for name, w in weights.items())
    told = [sent(run, "posteriors-full")[SMALL["rounds"], "server"]["posteriors"] for run in (one, plain)]
    torch.testing.assert_close(*told)
    assert one.utilities == plain.utilities


def test_an_optimiser_remembers_each_model_by_itself():
    loop, _ = begun({**SMALL, "models": 2, "optimiser_state": "kept"}, sixty_nodes())
    steps = {
        float(entry["step"]) for of_model in loop.kept for s in of_model.values() for entry in s["state"].values()
    }
    assert steps == {SMALL["rounds"] * SMALL["local_epochs"]}


def planted(per: int = 30, classes: int = 3) -> tuple[Data, torch.Tensor]:
    """Four parts without a link between them; features say the class, and in the last two labels are exchanged."""
    node = torch.arange(4 * per)
    part, own = node // per, node % classes
    x = F.one_hot(own, classes) + 0.1 * torch.rand(len(node), classes, generator=torch.Generator().manual_seed(0))
    further = [part * per + (node % per + step) % per for step in (classes, 2 * classes)]
    edges = torch.cat([torch.stack([node, other]) for other in further], 1)
    y = torch.where(part >= 2, (own + 1) % classes, own)
    return Data(x=x, edge_index=torch.cat([edges, edges.flip(0)], 1), y=y), part


@pytest.mark.parametrize("models", [2, 3])
def test_mixtures_tell_groups_with_exchanged_labels_apart(models):
    data, part = planted()
    settings = {**SMALL, **PLAIN, "clients": 4, "partition": "louvain", "hidden": 16, "rounds": 120}
    loop, run = begun({**settings, "models": models}, data)
    plain = ran(FedAvg(**settings), data)
    (group,) = {tuple(int(part[client.nodes].unique()) >= 2 for client in loop.clients)}
    chosen = [int(loop.mixtures[client.number].argmax()) for client in loop.clients]
    assert sorted(group) == [False, False, True, True]
    of_first, of_second = (
        {c for c, second in zip(chosen, group, strict=True) if second is which} for which in (False, True)
    )
    assert of_first.isdisjoint(of_second)
    assert all(float(loop.mixtures[number].max()) > 0.9 for number in range(4))
    assert run.utilities[0].test > 0.95
    assert plain.utilities[0].test < 0.7


def holds(tensors: list[torch.Tensor], wanted: np.ndarray) -> bool:
    """Whether some numbers follow each other in one of the tensors."""
    width = len(wanted)
    rows = [t.double().flatten().unfold(0, width, 1) for t in tensors if t.numel() >= width]
    return any(bool(((row - torch.from_numpy(wanted)).abs() < 1e-4).all(1).any()) for row in rows)


def test_mixtures_do_not_leave_their_clients():
    """Neither a client's mixture of any round nor a node's likely origin is in anything that anybody sent."""
    loop, run = begun({**SMALL, **PLAIN, "models": 3}, sixty_nodes())
    mixtures, secret = {client.number: np.full(3, 1 / 3) for client in loop.clients}, list[np.ndarray]()
    for t in range(SMALL["rounds"]):
        models = [model(sent(run, "component-models")[t, "server"], j) for j in range(3)]
        likely = by_numpy(loop.clients, models, mixtures)
        mixtures = {number: origins.mean(0) for number, origins in likely.items()}
        secret += [*mixtures.values(), *(row for origins in likely.values() for row in origins)]
    kept = [loop.mixtures[client.number] for client in loop.clients]
    assert all(holds(kept, mixture) for mixture in mixtures.values())
    told = [tensor for message in run.transcript.messages for tensor in message.tensors.values()]
    assert not any(holds(told, one) for one in secret)
    assert {m.kind for m in run.transcript.messages if m.sender != "server"} == {"component-updates"}


def test_a_secure_sum_of_uploads_changes_nothing_but_who_reads_them():
    (_, plain), (_, hidden) = (begun(SMALL, sixty_nodes(), defense) for defense in (None, SealedUploads()))
    before, after = (sent(run, "component-models")[SMALL["rounds"], "server"] for run in (plain, hidden))
    assert all(torch.equal(after[name], w) for name, w in before.items())
    seen = [m for m in hidden.transcript.seen_by("server").messages if m.kind == "component-updates"]
    assert seen
    assert not any(m.tensors for m in seen)


def test_a_defense_of_uploads_changes_what_a_client_adds_to_the_models():
    """With next to no noise and a clip that nothing reaches, updates are what they were; not with a small clip."""
    (_, plain), (_, quiet), (_, clipped) = (
        begun({**SMALL, "rounds": 1}, sixty_nodes(), defense)
        for defense in (
            None,
            GaussianUploads(multiplier=1e-9, clip=100.0),
            GaussianUploads(multiplier=1e-9, clip=0.1),
        )
    )
    common = sent(plain, "component-models")[0, "server"]
    steps = []
    for run in (plain, quiet, clipped):
        moved = sent(run, "component-updates")[0, "client:0"]
        steps.append(torch.cat([(moved[name] - common[name]).flatten() for name in common]))
    torch.testing.assert_close(steps[1], steps[0], atol=1e-5, rtol=0)
    assert float(steps[0].norm()) > 0.2
    assert float(steps[2].norm()) == pytest.approx(0.1, rel=1e-3)
