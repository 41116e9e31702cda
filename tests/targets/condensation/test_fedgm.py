"""FedGM: who gets what, and that the server refines with nothing but what it was sent."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from gaudit.audit.planning.trial_plan import TrialPlan
from gaudit.audit.running.trial import run_trial
from gaudit.errors import InputError
from gaudit.registry import find
from gaudit.targets.condensation.condensed import CondensedGraph, joined
from gaudit.targets.condensation.fedgm import FedGM, FixedLinks, best_ratio
from gaudit.targets.condensation.matching import MatchingServer, aggregated
from gaudit.targets.federated.label_statistic import STATISTIC_KINDS
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


def test_models_trained_on_it_are_better_than_guessing():
    run = ran(rounds=40, refinements=10, test={"hidden": 16, "epochs": 100})
    assert run.utility.test > 0.6


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

    monkeypatch.setattr("gaudit.targets.condensation.fedgm.best_ratio", noting)
    run = ran(search=4, test={"hidden": 8, "epochs": 40})
    assert len(tried) == 4
    chosen = max(tried, key=lambda ratio: tried[ratio])
    assert tried[chosen] == max(tried.values())
    assert f"ratio {chosen:.3f}, best of 4" in run.notes[-1]
    plain = ran(ratio=chosen, test={"hidden": 8, "epochs": 40})
    assert plain.utility == run.utility  # the search leaves no trace in the run


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
