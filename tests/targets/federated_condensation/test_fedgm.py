"""FedGM: who gets what, and that the server refines with nothing but what it was sent."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F
from torch_geometric.data import Data

from gaudit.audit.planning.trial_plan import TrialPlan
from gaudit.audit.running.trial import run_trial
from gaudit.errors import InputError
from gaudit.registry import find
from gaudit.targets.channel import Channel
from gaudit.targets.condensation.condensed import CondensedGraph, joined
from gaudit.targets.condensation.local import started_alone
from gaudit.targets.condensation.matching import ClassCells, MatchingServer, aggregated, misaligned
from gaudit.targets.condensation.one_loss import OneLossServer, WholeCell
from gaudit.targets.federated.label_statistic import STATISTIC_KINDS
from gaudit.targets.federated.neighbour_exchange import exchange
from gaudit.targets.federated_condensation.fedgm import FedGM, FixedLinks, best_ratio
from gaudit.targets.models.backbone import BACKBONES
from gaudit.targets.models.propagation import Neighbourhood, dense_gcn_operator
from gaudit.targets.partition import partition
from gaudit.targets.party import clients_of
from gaudit.targets.recording import read_recording
from gaudit.targets.splits import split_by_class
from support.sixty_nodes import sixty_nodes

TINY = {"clients": 3, "partition": "metis", "hidden": 8, "rounds": 4, "refinements": 3, "structure_steps": 1}
TINY |= {"feature_steps": 1, "test": {"hidden": 8, "epochs": 10, "models": 2}}
CLIENTS = [f"client:{n}" for n in range(3)]


def ran(seed=0, defense="none", **changes):
    target = FedGM(**(TINY | changes))
    return target(sixty_nodes(), find("defenses", defense)(), np.random.SeedSequence(seed), lambda _: True)


def of_kind(run, kind):
    return [m for m in run.transcript.messages if m.kind == kind]


def graphs(messages):
    return [CondensedGraph.from_tensors(m.tensors) for m in messages]


def test_uploads_are_the_servers_and_releases_are_public():
    run = ran()
    assert [(m.sender, m.receiver) for m in of_kind(run, "condensed-upload")] == [(c, "server") for c in CLIENTS]
    releases = of_kind(run, "condensed-graph")
    assert [(m.sender, m.receiver, m.round) for m in releases] == [("server", "public", 0), ("server", "public", 3)]
    assert len(of_kind(run, "class-gradients")) == 9
    assert run.chosen == 1
    assert {m.kind for m in run.transcript.messages} <= set(FedGM.sends)


def test_the_best_round_of_the_second_stage_is_chosen_on_validation_nodes_and_never_the_first_stage():
    chosen = set()
    for seed in range(4):
        run = ran(seed, refinements=5, release_every=2)
        rounds = [m.round for m in of_kind(run, "condensed-graph")]
        assert rounds == [u.round for u in run.utilities] == [0, 2, 4, 5]
        assert run.chosen > 0
        assert run.utility.validation == max(u.validation for u in run.utilities[1:])
        chosen.add(run.chosen)
    assert len(chosen) > 1


def test_how_often_is_released_changes_no_release():
    often, seldom = (ran(refinements=4, release_every=every) for every in (1, 10))
    assert [u.round for u in often.utilities] == [0, 1, 2, 3, 4]
    assert [u.round for u in seldom.utilities] == [0, 4]
    first, *_, last = graphs(of_kind(often, "condensed-graph"))
    for one, other in zip((first, last), graphs(of_kind(seldom, "condensed-graph")), strict=True):
        assert torch.equal(one.x, other.x)
    assert (often.utilities[0], often.utilities[-1]) == seldom.utilities
    alone = ran(refinements=0)
    assert alone.utilities == seldom.utilities[:1]


@pytest.mark.parametrize(("split", "says"), [("20/40/40", True), ("60/20/20", False), ("dataset", False)])
def test_a_split_by_the_labels_that_a_defense_hides_is_said(split, says):
    notes = ran(defense="label-noise", split=split).notes
    assert any("divides each class by true labels" in note for note in notes) is says
    assert not any("divides each class by true labels" in note for note in ran(split=split).notes)


def test_the_first_release_is_the_uploads_side_by_side():
    run = ran(refinements=0)
    (release,), uploads = graphs(of_kind(run, "condensed-graph")), graphs(of_kind(run, "condensed-upload"))
    assert run.chosen == 0
    assert torch.equal(release.x, torch.cat([u.x for u in uploads]))
    place = 0
    for upload in uploads:
        own = slice(place, place + len(upload.y))
        assert torch.equal(release.adjacency[own, own], upload.adjacency)
        rest = release.adjacency.clone()
        rest[own, own] = 0
        assert not rest[own].any()
        place += len(upload.y)
    assert not of_kind(run, "class-gradients")


def test_the_second_stage_needs_nothing_but_what_the_server_was_sent():
    """Done again from its messages alone, the refined graph is the released one; links and labels stay."""
    run = ran()
    graph = joined(graphs(of_kind(run, "condensed-upload")))
    counts = torch.stack([torch.bincount(m.tensors["y"], minlength=3) for m in of_kind(run, "condensed-upload")])
    still = FedGM(**TINY).settings.model_copy(update={"structure_steps": 0, "feature_steps": 1})
    links = FixedLinks(graph.adjacency)
    server = MatchingServer(still, graph.x.clone(), graph.y, links, 3, np.random.SeedSequence(0))
    for model in of_kind(run, "matching-model"):
        answers = [m.tensors for m in of_kind(run, "class-gradients") if m.round == model.round]
        server.match(model.tensors, aggregated(answers, counts, "weighted"), model.round)
    release = graphs(of_kind(run, "condensed-graph"))[-1]
    assert torch.allclose(release.x, server.x, atol=1e-7)
    assert not torch.equal(release.x, graph.x)
    assert torch.equal(release.adjacency, graph.adjacency)
    assert torch.equal(release.y, graph.y)


def test_each_client_starts_from_its_own_rows():
    run = ran(rounds=1, lr_features=1e-12, refinements=0)
    data, secrets = sixty_nodes(), run.secrets["label-membership"]
    rows = torch.cat([m.tensors["x"] for m in of_kind(run, "condensed-upload")])
    started = {int(((data.x - row).abs().max(1).values < 1e-6).nonzero()) for row in rows}
    assert len(started) == len(rows)
    copied = secrets.groups["members copied at first"] & secrets.truth
    assert set(secrets.subjects[copied].tolist()) == started
    for upload, name in zip(of_kind(run, "condensed-upload"), CLIENTS, strict=True):
        own = [int(((data.x - row).abs().max(1).values < 1e-6).nonzero()) for row in upload.tensors["x"]]
        owners = dict(zip(secrets.subjects.tolist(), secrets.owners.tolist(), strict=True))
        assert {owners[node] for node in own} == {CLIENTS.index(name)}


@pytest.mark.parametrize("losses", ["all classes", "class-wise"])
def test_models_trained_on_it_are_better_than_guessing(losses):
    run = ran(rounds=40, refinements=10, losses=losses, test={"hidden": 16, "epochs": 100})
    assert run.utility.test > 0.6


def party():
    """A client, what its models read, and a graph that it condenses, with a model and its gradient."""
    data = sixty_nodes()
    owner = partition(data, "dirichlet", 3, np.random.SeedSequence(0), beta=10.0)
    (client, *_) = clients_of(data, owner)
    (near, *_) = exchange([client], 0, data.num_nodes, Channel(), False)
    settings = FedGM(**TINY, backbone="gcn").settings
    server, _ = started_alone(settings, client, 5, np.random.SeedSequence(0), OneLossServer)
    return client, near, server, server.draw_model(0)


def logits_of(theta, near):
    return near.second @ (torch.relu(near.rows.to_dense() @ theta["w1"] + theta["b1"]) @ theta["w2"]) + theta["b2"]


def test_the_one_loss_is_the_mean_over_all_labelled_nodes():
    """Its gradient by autograd, on both sides; the distance is the squared one."""
    client, near, server, theta = party()
    free = {name: weight.clone().requires_grad_() for name, weight in theta.items()}
    labelled = client.train.nonzero().flatten()
    assert len(client.y_train[labelled].unique()) > 1
    loss = F.cross_entropy(logits_of(free, near)[labelled], client.y_train[labelled])
    real = dict(zip(free, torch.autograd.grad(loss, list(free.values())), strict=True))
    cell = WholeCell(client, near).gradients(theta, BACKBONES["gcn"], None)
    assert {name.split("/")[1] for name in cell} == set(real)
    for name, value in cell.items():
        torch.testing.assert_close(value, real[name.split("/")[1]], atol=1e-5, rtol=1e-4)
    operator = dense_gcn_operator(server.structure(server.x)).detach()
    loss = F.cross_entropy(logits_of(free, Neighbourhood(operator @ server.x.detach(), operator)), server.y)
    own = torch.autograd.grad(loss, list(free.values()))
    apart = sum(float((a - b).square().sum()) for a, b in zip(real.values(), own, strict=True))
    found = server._distance(server.x, theta, WholeCell(client, near).to_match(theta, BACKBONES["gcn"], None))
    assert float(found) == pytest.approx(apart, rel=1e-3)


def test_one_loss_is_more_than_the_classes_losses_with_one_class_it_is_the_same():
    client, near, _, theta = party()
    one = replace(client, train=client.train & (client.y_train == client.y_train[client.train][0]))
    (whole, by_class) = (
        kind(one, near).gradients(theta, BACKBONES["gcn"], None) for kind in (WholeCell, ClassCells)
    )
    for (_, a), (_, b) in zip(sorted(whole.items()), sorted(by_class.items()), strict=True):
        torch.testing.assert_close(a, b)
    uploads = [of_kind(ran(losses=how), "condensed-upload")[0] for how in ("all classes", "class-wise")]
    assert not torch.equal(uploads[0].tensors["x"], uploads[1].tensors["x"])


@pytest.mark.parametrize("defense", ["noisy-condensing", "adversarial-regularisation"])
def test_what_a_defense_does_to_gradients_and_losses_it_does_to_the_one_loss(defense):
    short = {"rounds": 2, "losses": "all classes"}
    plain, defended = (of_kind(ran(defense=d, **short), "condensed-upload")[0] for d in ("none", defense))
    assert not torch.equal(plain.tensors["x"], defended.tensors["x"])


def test_misaligned_rows_are_those_of_the_code():
    """Rows by class number, labels by class size: done as the code does it, then sorted by label."""
    labels = torch.tensor([2] * 6 + [0] * 9 + [1] * 3 + [3] * 3)
    y = torch.tensor([0] * 4 + [1] * 2 + [2] * 3 + [3])
    sizes = {0: 4, 1: 2, 2: 3, 3: 1}
    rows_in_code = [label for label in sizes for _ in range(sizes[label])]
    labels_in_code = [label for label in (1, 3, 2, 0) for _ in range(sizes[label])]
    together = sorted(zip(labels_in_code, rows_in_code, strict=True), key=lambda pair: pair[0])
    found = misaligned(y, labels)
    assert found.tolist() == [row for _, row in together]
    assert sorted(found.tolist()) == y.tolist()


def test_a_client_may_start_from_rows_of_other_classes():
    data, shares = sixty_nodes(), []
    start = {"rounds": 1, "lr_features": 1e-12, "refinements": 0, "partition": "dirichlet", "split": "60/20/20"}
    for aligned in (True, False):
        own = []
        run = ran(**start, aligned=aligned)
        for upload in of_kind(run, "condensed-upload"):
            near = [int((data.x - row).abs().max(1).values.argmin()) for row in upload.tensors["x"]]
            own += (data.y[near] == upload.tensors["y"]).tolist()
        shares.append(np.mean(own))
    assert shares[0] == 1
    assert shares[1] < 1


def test_noise_on_gradients_changes_the_second_stage_alone():
    plain, noisy = ran(), ran(defense="ldp")
    for one, other in zip(of_kind(plain, "condensed-upload"), of_kind(noisy, "condensed-upload"), strict=True):
        assert torch.equal(one.tensors["x"], other.tensors["x"])
    assert not torch.equal(*(graphs(of_kind(run, "condensed-graph"))[-1].x for run in (plain, noisy)))


def test_what_was_sent_before_it_stopped_is_kept(tmp_path):
    """Features so large that the loss of the second stage is no number; with noise the first stage has none."""
    data, file = sixty_nodes(), tmp_path / "run"
    data.x = data.x * 1e30
    settings = {**TINY, "rounds": 1, "split": "dataset", "structure_steps": 0}
    with pytest.raises(InputError, match=f"matching loss is .*what was sent until then is in {file}"):
        run_trial(TrialPlan("fedgm", settings, "none", {}, (), 0, 0, transcript=str(file)), data)
    assert read_recording(str(file), lambda message: True).about.pipeline == "fedgm"
    assert not list(tmp_path.glob("*.part"))


def test_defenses_that_need_a_common_model_are_refused():
    with pytest.raises(InputError, match="trained together"):
        ran(defense="ib")


@given(st.integers(8, 60), st.integers(1, 4), st.integers(1, 3), st.integers(0, 10**6))
def test_each_client_and_class_is_divided(nodes, clients, classes, seed):
    rng = np.random.default_rng(seed)
    owner, y = (torch.from_numpy(rng.integers(0, most, nodes)) for most in (clients, classes))
    data = Data(y=y, num_nodes=nodes)
    try:
        found = split_by_class(data, owner, (0.2, 0.4), np.random.SeedSequence(seed))
    except InputError:
        return  # no class of a client has two nodes
    parts = torch.stack([found.train_mask, found.val_mask, found.test_mask])
    assert bool((parts.sum(0) == 1).all())
    for client in range(clients):
        for label in range(classes):
            cell = (owner == client) & (y == label)
            size, train = int(cell.sum()), int((cell & found.train_mask).sum())
            if size:
                assert train == max(int(0.2 * size), 1)
                assert int((cell & found.test_mask).sum()) <= 0.4 * size + 1


def test_a_searched_ratio_is_the_best_on_validation_nodes_of_those_tried(monkeypatch):
    pytest.importorskip("optuna")
    tried = {}

    def noting(validation, tries, seed):
        def noted(ratio):
            tried[ratio] = validation(ratio)
            return tried[ratio]

        return best_ratio(noted, tries, seed)

    monkeypatch.setattr("gaudit.targets.federated_condensation.fedgm.best_ratio", noting)
    run = ran(search=4, test={"hidden": 8, "epochs": 40})
    assert len(tried) == 4
    chosen = max(tried, key=lambda ratio: tried[ratio])
    assert tried[chosen] == max(tried.values())
    assert f"ratio {chosen:.3f}, best of 4" in run.notes[-1]
    plain = ran(ratio=chosen, test={"hidden": 8, "epochs": 40})
    assert plain.utility == run.utility  # the search leaves no trace in the run


def test_a_search_looks_at_the_best_release_of_each_ratio(monkeypatch):
    pytest.importorskip("optuna")
    seen = []

    def noting(validation, tries, seed):
        seen.append(validation(0.5))
        return 0.5

    monkeypatch.setattr("gaudit.targets.federated_condensation.fedgm.best_ratio", noting)
    run = ran(search=1, refinements=4, release_every=1)
    assert seen == [max(u.validation for u in run.utilities[1:])]


def test_a_search_finds_the_peak():
    pytest.importorskip("optuna")
    found = best_ratio(lambda ratio: -((ratio - 0.6) ** 2), 40, np.random.SeedSequence(0))
    assert abs(found - 0.6) < 0.1
    assert found == best_ratio(lambda ratio: -((ratio - 0.6) ** 2), 40, np.random.SeedSequence(0))


@pytest.mark.parametrize(
    "defense", ["ldp", "gaussian-uploads", "noise-instead", "top-k-uploads", "quantised-uploads"]
)
def test_a_defense_of_uploads_says_that_condensed_rows_pass_by_it(defense):
    noted = ran(defense=defense).notes[-1]
    assert "clients also send condensed-upload" in noted
    assert "class-gradients" not in noted
    undefended, defended = (of_kind(ran(defense=d), "condensed-upload")[0] for d in ("none", defense))
    assert torch.equal(undefended.tensors["x"], defended.tensors["x"])
    with pytest.raises(InputError, match="and these settings send no such message"):
        ran(defense=defense, refinements=0)


def test_without_a_defense_of_uploads_nothing_is_said_of_what_passes():
    assert not any("also send" in note for name in ("none", "fewer-labels") for note in ran(defense=name).notes)


@pytest.mark.parametrize("refinements", [0, 3])
def test_what_is_sent_depends_on_the_stages(refinements):
    found = {m.kind for m in ran(refinements=refinements).transcript.messages}
    assert found == FedGM(**(TINY | {"refinements": refinements})).sent() - set(STATISTIC_KINDS) <= set(FedGM.sends)
