"""SOS is federated averaging on what IB-subgraphs leave of each client, and nothing else."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gaudit.defenses.training.ib_subgraph import IBSubgraph
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.graphs.pair_codes import ends
from gaudit.targets.channel import keep_kinds
from gaudit.targets.defense import Defense
from gaudit.targets.federated.fedavg import FedAvg
from gaudit.targets.federated.kept_nodes import DROPPED_ON_WHOLE, KEPT_ON_LEFT, KEPT_ON_WHOLE, SHARE_KEPT
from gaudit.targets.federated.local_training import Subgraph
from gaudit.targets.federated.sos import SOS
from gaudit.targets.games.links import DROPPED, KEPT, remaining
from gaudit.targets.messages import MODEL_KIND, UPDATE_KIND
from gaudit.targets.target import Run

SETTINGS = {"clients": 2, "rounds": 2, "local_epochs": 3, "lr": 0.01}
SMALL = {"hidden": 8, "epochs": 10, "lr": 0.01}


class Recorded(Defense):
    """The defense, and a note of the clients that it made."""

    name = "recorded"

    def __init__(self, inner: Defense) -> None:
        super().__init__()
        self.inner, self.had, self.made = inner, [], []

    def on_data(self, client, shared, seed, hold):
        self.had.append(client)
        self.made.append(self.inner.on_data(client, shared, seed, hold))
        return self.made[-1]


class Given(Defense):
    """Hands each client what is given."""

    name = "given"

    def __init__(self, clients) -> None:
        super().__init__()
        self.clients = clients

    def on_data(self, client, shared, seed, hold):
        return self.clients[client.number]


def ran(target, defense: Defense, seed: int = 0, kinds=(UPDATE_KIND,), **changes) -> Run:
    data = load_dataset("planted")
    return target(**SETTINGS, **changes)(data, defense, np.random.SeedSequence(seed), keep_kinds(*kinds))


def uploads(run: Run) -> list[dict[str, torch.Tensor]]:
    return [dict(m.tensors) for m in run.transcript.messages if m.kind == UPDATE_KIND]


@pytest.fixture(scope="module")
def recorded() -> tuple[Recorded, Run]:
    defense = Recorded(IBSubgraph(**SMALL))
    return defense, ran(SOS, defense)


def test_its_published_defense_is_the_ib_subgraph():
    assert SOS.published_defense == IBSubgraph.name
    assert SOS().why_not(IBSubgraph()) is None


def test_each_client_extracts_once(recorded):
    defense, _ = recorded
    assert [c.number for c in defense.made] == [0, 1]


def test_it_is_fedavg_with_the_same_defense(recorded):
    _, run = recorded
    other = ran(FedAvg, IBSubgraph(**SMALL))
    assert len(uploads(run)) == 2 * 2
    for one, same in zip(uploads(run), uploads(other), strict=True):
        assert all(torch.equal(weight, same[name]) for name, weight in one.items())
    assert run.utility == other.utility


def test_nothing_of_a_dropped_node_enters_an_update(recorded):
    """Features and labels of dropped nodes replaced by nonsense: the same updates."""
    defense, run = recorded
    nonsense = []
    for client in defense.made:
        gone = ~remaining(client)
        assert gone.float().mean() >= 0.5
        x = torch.where(gone[:, None], client.x.flip(0) + 1, client.x)
        y = torch.where(gone, (client.y_train + 1) % client.classes, client.y_train)
        nonsense.append(replace(client, x=x, y_train=y))
    changed = ran(SOS, Given(nonsense))
    for one, same in zip(uploads(run), uploads(changed), strict=True):
        assert all(torch.allclose(weight, same[name], atol=1e-5) for name, weight in one.items())
    undefended = uploads(ran(SOS, Defense()))
    assert not torch.allclose(uploads(run)[-1]["w1"], undefended[-1]["w1"], atol=1e-3)


def test_all_links_stay_in_question_and_those_of_dropped_nodes_are_told_apart(recorded):
    defense, run = recorded
    secrets = run.secrets["edge-presence"]
    plain = ran(SOS, Defense()).secrets["edge-presence"]
    assert np.array_equal(secrets.subjects, plain.subjects)
    assert np.array_equal(secrets.truth, plain.truth)
    low, high = ends(secrets.subjects, secrets.nodes)

    def either_end(masks):
        nodes = np.concatenate([c.nodes[mask].numpy() for c, mask in zip(defense.made, masks, strict=True)])
        return np.isin(low, nodes) | np.isin(high, nodes)

    left = [remaining(c) for c in defense.made]
    lost = either_end([remaining(c) & ~mask for c, mask in zip(defense.had, left, strict=True)])
    assert lost.any()
    assert secrets.groups[DROPPED][lost].all()
    assert secrets.groups[KEPT][~either_end([~mask for mask in left])].all()
    assert np.array_equal(secrets.groups[KEPT], ~secrets.groups[DROPPED])


def test_accuracy_is_told_apart_by_what_became_of_a_node(recorded):
    """Done again from the published model and the clients before and after the defense."""
    defense, _ = recorded
    run = ran(SOS, Recorded(Given(defense.made)), kinds=(MODEL_KIND,))
    (model,) = (m.tensors for m in run.transcript.messages if m.kind == MODEL_KIND)
    recipe = SOS(**SETTINGS).settings.recipe()
    counted = {KEPT_ON_LEFT: [], KEPT_ON_WHOLE: [], DROPPED_ON_WHOLE: []}
    for before, after in zip(defense.had, defense.made, strict=True):
        whole, left = (Subgraph.of(recipe, c.x, c.edges)(model).argmax(1) == c.y for c in (before, after))
        kept = before.test & remaining(after)
        counted[KEPT_ON_LEFT] += left[kept].tolist()
        counted[KEPT_ON_WHOLE] += whole[kept].tolist()
        counted[DROPPED_ON_WHOLE] += whole[before.test & ~remaining(after)].tolist()
    assert all(len(right) > 10 for right in counted.values())
    for name, right in counted.items():
        assert run.figures[name] == pytest.approx(np.mean(right))
    kept = sum(int(remaining(c).sum()) for c in defense.made)
    assert run.figures[SHARE_KEPT] == pytest.approx(kept / 450)


def test_both_graphs_are_asked_whichever_one_is_published(recorded):
    defense, run = recorded
    other = ran(SOS, Given(defense.made), answer_with="defended")
    assert other.figures == run.figures
    assert other.utility.test != run.utility.test


def test_where_nobody_is_dropped_there_are_no_such_figures():
    assert ran(SOS, Defense()).figures == {}


def test_accuracy_is_that_on_the_clients_own_graphs(recorded):
    """A defense changes what is trained on, not what is asked: all test nodes keep their edges there."""
    _, run = recorded
    assert run.tested == round(0.2 * 450)
    assert SOS().settings.answer_with == "original"
