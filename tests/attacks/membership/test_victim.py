"""What answers an adversary: a model, uploads, tables of answers, a released graph."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gaudit.attacks.membership.release_models import ModelSettings
from gaudit.attacks.membership.victim import victim
from gaudit.errors import InputError
from gaudit.targets.condensation.condensed import CondensedGraph
from gaudit.targets.games.membership import LabelMembership, NodeKnowledge
from gaudit.targets.models.training_config import TrainingConfig, initial_weights
from gaudit.targets.transcript import Message, View

NODES, WORDS, CLASSES = 12, 5, 3
GCN = TrainingConfig(hidden=4)
SMALL = ModelSettings(hidden=4, epochs=20, lr=0.05)
DRAW = np.random.default_rng(0)
EDGES = torch.tensor([[0, 1, 1, 2, 3, 4, 0, 5], [1, 0, 2, 1, 4, 3, 5, 0]])
X = torch.from_numpy(DRAW.random((NODES, WORDS)).astype(np.float32))
ASKED = torch.tensor([7, 0, 5, 1])
NAMES = {"true": "full", "none": "0-hop", "apart": "apart"}


def knowledge(neighbours="true") -> NodeKnowledge:
    return NodeKnowledge(
        x=X,
        edges=EDGES[:, :0] if neighbours == "none" else EDGES,
        neighbours=neighbours,
        labels=torch.zeros(NODES, dtype=torch.long),
        subjects=torch.arange(8),
        shadow=torch.arange(8, NODES),
        shadow_edges=EDGES[:, :0],
        members=4,
        classes=CLASSES,
        game=LabelMembership.name,
        auditor=True,
    )


def weights(seed: int, recipe: TrainingConfig = GCN) -> dict[str, torch.Tensor]:
    drawn = initial_weights(recipe, WORDS, CLASSES, np.random.SeedSequence(seed))
    return {name: w + 0.1 * seed for name, w in drawn.items()}


def by_hand(w: dict[str, torch.Tensor], edges: torch.Tensor) -> torch.Tensor:
    """A two-layer GCN (Kipf and Welling 2017, equation 9), dense."""
    adjacency = torch.eye(NODES)
    adjacency[edges[1], edges[0]] = 1
    scale = adjacency.sum(1).rsqrt()
    step = scale[:, None] * adjacency * scale
    return step @ (step @ X @ w["w1"] + w["b1"]).relu() @ w["w2"] + w["b2"]


def table(kind: str, seed: int = 0, nodes: torch.Tensor | None = None) -> Message:
    """Posteriors, or labels, of all nodes in an order of their own."""
    nodes = torch.arange(NODES).flip(0) if nodes is None else nodes
    told = torch.rand(len(nodes), CLASSES, generator=torch.Generator().manual_seed(seed)).softmax(1)
    content = {"labels": told.argmax(1)} if kind.startswith("labels") else {"posteriors": told}
    return Message(kind, "server", "public", 1, {"nodes": nodes, **content})


def model(seed: int = 0) -> Message:
    return Message("model", "server", "public", 3, weights(seed))


def update(client: int, round_: int) -> Message:
    return Message("update", f"client:{client}", "server", round_, weights(10 * client + round_))


def release(round_: int = 1) -> Message:
    """Six nodes; their labels go on by one each round."""
    graph = CondensedGraph(X[:6], (torch.arange(6) + round_ - 1) % CLASSES, torch.zeros(6, 6))
    return Message("condensed-graph", "server", "public", round_, graph.tensors())


def ask(*messages: Message, neighbours="true", artefact="auto", recipe=GCN, nodes=ASKED, models=2) -> torch.Tensor:
    known = knowledge(neighbours)
    found = victim(View("server", messages), known, artefact, recipe, SMALL, models)
    told = found.ask(known.x, known.edges, nodes)
    assert told.shape == (len(found.sources), len(nodes), CLASSES)
    return told


@pytest.mark.parametrize("neighbours", ["true", "none"])
def test_a_model_answers_by_its_weights_and_the_queries_edges(neighbours):
    expected = by_hand(weights(0), knowledge(neighbours).edges)[ASKED]
    torch.testing.assert_close(ask(model(), neighbours=neighbours)[0], expected, atol=1e-5, rtol=1e-5)


def test_the_last_model_counts():
    expected = by_hand(weights(2), EDGES)[ASKED]
    torch.testing.assert_close(ask(model(1), model(2))[0], expected, atol=1e-5, rtol=1e-5)


def test_every_upload_of_every_client_answers():
    sent = [update(client, round_) for round_ in range(3) for client in range(2)]
    found = victim(View("server", tuple(sent)), knowledge(), "auto", GCN, SMALL, 1)
    assert found.sources == ("client:0", "client:1") * 3
    told = found.ask(X, EDGES, ASKED)
    for message, answers in zip(sent, told, strict=True):
        expected = by_hand(dict(message.tensors), EDGES)[ASKED]
        torch.testing.assert_close(answers, expected, atol=1e-5, rtol=1e-5)


def asked_tables(kind, neighbours):
    """What the table of a query says of each node that is asked about, and the answer; other tables are there."""
    sent = [table(f"{kind}-{name}", seed) for seed, name in enumerate(NAMES.values())]
    content = sent[list(NAMES).index(neighbours)].tensors
    (told,) = ask(*sent, neighbours=neighbours)
    rows = [content["nodes"].tolist().index(node) for node in ASKED.tolist()]
    return zip(content[kind][rows], told, strict=True)


@pytest.mark.parametrize("neighbours", ["true", "none", "apart"])
def test_a_table_of_posteriors_answers_for_its_query_and_node(neighbours):
    for posterior, answer in asked_tables("posteriors", neighbours):
        torch.testing.assert_close(answer.softmax(0), posterior)


@pytest.mark.parametrize("neighbours", ["true", "none", "apart"])
def test_a_table_of_labels_answers_for_its_query_and_node(neighbours):
    for label, answer in asked_tables("labels", neighbours):
        assert int(answer.argmax()) == int(label)
        assert float(answer.softmax(0).max()) == pytest.approx(0.99)


def test_a_posterior_of_zero_is_a_finite_answer():
    sure = torch.eye(CLASSES)[torch.arange(NODES) % CLASSES]
    nodes = torch.arange(NODES)
    (told,) = ask(Message("posteriors-full", "server", "public", 1, {"nodes": nodes, "posteriors": sure}))
    assert bool(torch.isfinite(told).all())
    assert told.argmax(1).tolist() == (ASKED % CLASSES).tolist()


def test_models_trained_on_a_release_answer_and_know_its_labels():
    torch.manual_seed(0)
    known = victim(View("public", (release(),)), knowledge("none"), "auto", GCN, ModelSettings(epochs=300), 3)
    told = known.ask(X, EDGES[:, :0], torch.arange(6))
    assert known.sources == ("public",) * 3
    torch.testing.assert_close(told.exp().sum(2), torch.ones(3, 6))
    assert not torch.equal(told[0], told[1])
    assert (told.argmax(2) == torch.arange(6) % CLASSES).float().mean() > 0.8


@pytest.mark.parametrize(("artefact", "rounds"), [("release", [3]), ("releases", [1, 2, 3]), ("auto", [3])])
def test_the_last_release_answers_or_all_of_them(artefact, rounds):
    torch.manual_seed(0)
    view = View("public", tuple(release(round_) for round_ in (1, 2, 3)))
    found = victim(view, knowledge("none"), artefact, GCN, ModelSettings(epochs=300), 2)
    assert len(found.sources) == 2 * len(rounds)
    told = found.ask(X, EDGES[:, :0], torch.arange(6)).argmax(2)
    for k, answers in enumerate(told):
        expected = (torch.arange(6) + rounds[k // 2] - 1) % CLASSES
        assert (answers == expected).float().mean() > 0.8


def test_tables_cover_what_they_list_and_models_cover_all():
    some = torch.tensor([0, 1, 5, 7])
    short = victim(
        View("public", (table("posteriors-full", nodes=some),)), knowledge(), "posteriors", GCN, SMALL, 1
    )
    assert short.fixed
    assert short.covers(ASKED)
    assert not short.covers(torch.arange(3))
    whole = victim(View("public", (model(),)), knowledge(), "auto", GCN, SMALL, 1)
    assert whole.covers(torch.arange(NODES))
    assert not whole.fixed


def test_auto_takes_what_says_most():
    """A model, posteriors, labels, a released graph; each is recognised by its answers."""
    sent = {
        "model": model(),
        "posteriors": table("posteriors-full"),
        "labels": table("labels-full"),
        "release": release(),
    }

    def answer(*messages: Message, artefact="auto") -> torch.Tensor:
        torch.manual_seed(0)
        return ask(*messages, artefact=artefact)

    alone = {name: answer(message, artefact=name) for name, message in sent.items()}
    left = list(sent)
    while left:
        assert torch.equal(answer(*(sent[name] for name in reversed(left))), alone[left[0]])
        left.pop(0)
    for name in sent:
        assert torch.equal(answer(*sent.values(), artefact=name), alone[name])


def test_only_an_owners_table_answers_apart_and_no_table_answers_partial_queries():
    everything = (model(), update(0, 0), table("posteriors-apart"), table("posteriors-full"))
    torch.testing.assert_close(ask(*everything, neighbours="apart"), ask(everything[2], neighbours="apart"))
    torch.testing.assert_close(ask(*everything, neighbours="partial"), ask(*everything[:2], neighbours="partial"))
    for neighbours, useless in (("apart", everything[:2]), ("partial", everything[2:]), ("none", everything[2:])):
        with pytest.raises(InputError, match=f"sees nothing that answers.*'{neighbours}'"):
            ask(*useless, neighbours=neighbours)


@pytest.mark.parametrize("artefact", ["model", "updates", "posteriors", "labels", "release"])
def test_an_artefact_that_is_not_there_is_refused(artefact):
    sent = {"model": update(0, 0), "updates": model()}.get(artefact, model())
    with pytest.raises(InputError, match=rf"'server' sees nothing that answers \({artefact}\)") as error:
        ask(sent, artefact=artefact)
    assert "\n" not in str(error.value)


NAN, NONE = float("nan"), None
EVERYBODY = torch.arange(NODES)
EVEN = torch.full((NODES, CLASSES), 1 / CLASSES)
BROKEN = {
    "a weight of another shape": ("model", {"w1": torch.zeros(WORDS, 5)}, r"expected 'w1' \(5, 4\), got shape"),
    "a weight that is missing": ("model", {"b2": NONE}, r"expected 'b2' \(3,\), got nothing"),
    "a weight that is no number": (
        "model",
        {"b1": torch.full((4,), NAN)},
        "weights 'b1' in 'model' are not finite",
    ),
    "an upload of another shape": ("update", {"w2": torch.zeros(3, 4)}, r"in 'update' do not fit: expected 'w2'"),
    "a table about nobody": ("posteriors-full", {"nodes": NONE}, "lacks 'nodes'"),
    "a table of nothing": ("posteriors-full", {"posteriors": NONE}, "neither 'posteriors' nor 'labels'"),
    "a class too few": ("posteriors-full", {"posteriors": EVEN[:, 1:]}, r"finite posteriors \[12, 3\]"),
    "a row too few": ("posteriors-full", {"posteriors": EVEN[1:]}, r"finite posteriors \[12, 3\]"),
    "posteriors that are no numbers": ("posteriors-full", {"posteriors": EVEN * NAN}, "finite posteriors"),
    "rows that sum to 2": ("posteriors-full", {"posteriors": 2 * EVEN}, "must sum to 1"),
    "a negative posterior": (
        "posteriors-full",
        {"posteriors": EVEN + torch.tensor([-0.5, 0.5, 0.0])},
        "must not be negative",
    ),
    "a label too high": ("labels-full", {"labels": torch.full((NODES,), CLASSES)}, "labels outside 0 to 2"),
    "a negative label": ("labels-full", {"labels": torch.full((NODES,), -1)}, "labels outside 0 to 2"),
    "a label too few": ("labels-full", {"labels": torch.zeros(NODES - 1).long()}, r"as labels, \[12\]"),
    "labels with a fraction": ("labels-full", {"labels": torch.full((NODES,), 0.5)}, "whole numbers as labels"),
    "a node too high": ("labels-full", {"nodes": EVERYBODY + 1}, "names nodes outside 0 to 11"),
    "a negative node": ("labels-full", {"nodes": EVERYBODY - 1}, "names nodes outside 0 to 11"),
    "a node that is named twice": ("labels-full", {"nodes": EVERYBODY // 2}, "name each node once"),
    "nodes with a fraction": ("posteriors-full", {"nodes": EVERYBODY / 2}, "by whole numbers"),
    "a node in question that is missing": (
        "posteriors-full",
        {"nodes": EVERYBODY[1:], "posteriors": EVEN[1:]},
        "'posteriors-full' lacks 1 of the 4 nodes in question",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_misshapen_is_refused_in_one_line(what):
    kind, changes, says = BROKEN[what]
    whole = {"model": model(), "update": update(0, 0)}.get(kind) or table(kind)
    content = {name: tensor for name, tensor in {**whole.tensors, **changes}.items() if tensor is not None}
    with pytest.raises(InputError, match=says) as error:
        ask(Message(kind, whole.sender, "server", 1, content))
    assert "\n" not in str(error.value)


def test_weights_of_another_architecture_are_refused():
    with pytest.raises(InputError, match="expected 'r1'"):
        ask(model(), recipe=TrainingConfig(architecture="sage", hidden=4))


def test_uploads_of_others_and_the_last_model_are_judged_together():
    sent = (update(0, 0), update(1, 0), model())
    together, uploads, last = ask(*sent), ask(*sent, artefact="updates"), ask(*sent, artefact="model")
    torch.testing.assert_close(together, torch.cat([uploads, last]))


def test_a_client_does_not_ask_its_own_upload():
    """It is not asked about the nodes that its upload was trained on: the common model tells it more."""
    common = replace(model(), kind="global-model", sender="server", receiver="clients")
    for left, messages in ((1, (update(0, 0), common)), (2, (update(0, 0), update(1, 0), common))):
        found = victim(View("client:0", messages), knowledge(), "auto", GCN, SMALL, 1)
        assert len(found.sources) == left
        assert "client:0" not in found.sources
