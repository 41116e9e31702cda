"""What users bring, audited in a call."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torch_geometric.data import Data

import gaudit
from gaudit import InputError
from gaudit.reports.formats.cards import cards
from support.own_models import ask, train
from support.sixty_nodes import sixty_nodes

QUICK = {"progress": False, "workers": 1}


@pytest.fixture(scope="module")
def graph():
    """300 nodes in three classes with noisy features, half of them in question, half of these members."""
    rng = np.random.default_rng(0)
    y = torch.from_numpy(rng.integers(0, 3, 300))
    x = torch.from_numpy(rng.normal(size=(300, 40))).float()
    edges = torch.from_numpy(rng.integers(0, 300, (2, 500)))
    return Data(x=x, y=y, edge_index=edges)


@pytest.fixture(scope="module")
def members():
    return np.random.default_rng(1).permutation(300)[:100]


def test_own_functions_find_who_was_learned_by_heart(graph, members):
    result = gaudit.audit(
        graph, members=members, fit=train, predict=ask, attacks=("lira", "loss"), shadows=4, **QUICK
    )
    assert result.valid
    assert set(result.auc) == {"lira", "lira, 0-hop", "loss", "loss, 0-hop"}
    assert result.auc["lira"].low > 0.8
    (place, *_) = result.audit.findings()
    assert "trains shadow models with the owner's own code" in place.attack.knowledge
    with pytest.raises(AssertionError, match="lira: AUC is at least"):
        result.assert_below(auc=0.6)


def test_a_model_that_knows_nobody_gives_nobody_away(graph, members):
    """The same functions that train on other nodes than they are told to: null, at 99.9 % and one seed."""

    def elsewhere(data, mask, seed):
        other = torch.zeros_like(mask)
        other[:50] = True
        return train(data, other, seed)

    result = gaudit.audit(
        graph, members=members, fit=elsewhere, predict=ask, attacks=("lira",), queries=("full",), shadows=4, **QUICK
    )
    assert result.auc["lira"].low <= 0.5


@pytest.mark.dear
def test_processes_change_no_number(graph, members):
    one, two = (
        gaudit.audit(
            graph,
            members=members,
            fit=train,
            predict=ask,
            attacks="rmia",
            queries=("full",),
            shadows=4,
            workers=workers,
            progress=False,
        )
        for workers in (1, 2)
    )
    assert one.auc["rmia"] == two.auc["rmia"]


def test_answers_alone_refuse_what_needs_a_recipe(graph, members):
    told = F.one_hot(graph.y, 3).float() * 0.6 + 0.4 / 3
    result = gaudit.audit(graph, members=members, answers=told, attacks=("loss", "lira"), **QUICK)
    assert set(result.auc) == {"loss"}
    assert "nobody declared how" in result.refused["lira"]
    (place,) = result.audit.findings()
    assert "knows how the model was trained" not in place.attack.knowledge
    recipe = {"epochs": 5, "hidden": 4}
    declared = gaudit.audit(graph, members=members, answers=told, recipe=recipe, attacks="lira", shadows=4, **QUICK)
    assert "knows how the model was trained" in declared.audit.findings()[0].attack.knowledge


def test_nearest_is_what_ten_lines_of_numpy_give():
    data = gaudit.load_dataset("citations")
    rows = data.x[data.train_mask][::2] + 0.05 * torch.randn(70, data.num_features, generator=torch.manual_seed(0))
    result = gaudit.release({"x": rows.numpy()}, original=data, attacks="nearest", progress=False)
    x = data.x.numpy() / np.linalg.norm(data.x.numpy(), axis=1, keepdims=True).clip(1e-12)
    r = rows.numpy() / np.linalg.norm(rows.numpy(), axis=1, keepdims=True)
    score = (x @ r.T).max(1)
    inside, outside = score[data.train_mask.numpy()], score[data.test_mask.numpy()]
    wins = (inside[:, None] > outside).mean() + (inside[:, None] == outside).mean() / 2
    (place,) = result.audit.findings()
    assert place.attack.plain_auc.estimate == pytest.approx(wins, abs=1e-3)


@pytest.mark.dear
def test_a_release_without_labels_is_refused_by_name():
    data = gaudit.load_dataset("citations")
    result = gaudit.release({"x": data.x[:9].numpy()}, original=data, progress=False)
    assert set(result.auc) == {"nearest"}
    assert "lacks adjacency, y" in result.refused["mia"]


def test_masks_of_the_graph_say_who_is_a_member_where_nobody_else_does():
    data = sixty_nodes()
    told = F.one_hot(data.y, 3).float()
    result = gaudit.audit(data, answers=told, attacks="loss", **QUICK)
    (place,) = result.audit.findings()
    assert place.attack.auc.members == int(data.train_mask.sum())
    assert place.attack.auc.non_members == int(data.test_mask.sum())


def test_a_result_is_kept_reported_and_shown(graph, members, tmp_path):
    told = F.one_hot(graph.y, 3).float()
    result = gaudit.audit(graph, members=members, answers=told, attacks="loss", **QUICK)
    kept = result.save(tmp_path / "audit.db")
    assert kept.stat().st_mode & 0o777 == 0o600
    again = gaudit.read_audit(kept)
    assert again.findings()[0].attack.auc == result.auc["loss"]
    assert again._repr_html_() == cards(again)
    assert "Was this person" in again._repr_html_()
    page = result.report(tmp_path / "report.html").read_text()
    assert "<html" in page
    assert list(result.table()["attack"]) == ["loss"]
    shown = result._repr_html_()
    assert "<table" in shown
    assert "Was this person" in shown
    assert "The attacker: " in shown
    assert "What is promised: Without a defense: nothing that can be checked." in shown
    assert str(result)


def test_a_ledger_of_ones_own_is_not_run_again(graph, members, tmp_path):
    calls = []

    def counting(data, mask, seed):
        calls.append(1)
        return train(data, mask, seed)

    given = {"members": members, "fit": counting, "predict": ask, "attacks": "loss", "queries": ("full",)}
    first = gaudit.audit(graph, **given, ledger=tmp_path / "audit.db", **QUICK)
    trained = len(calls)
    again = gaudit.audit(graph, **given, ledger=tmp_path / "audit.db", **QUICK)
    assert len(calls) == trained > 0
    assert again.auc == first.auc


def test_training_that_does_not_heed_its_mask_is_told_so(graph, members):
    """All shadow models alike: an AUC of 0.5 would say that nothing leaks."""
    result = gaudit.audit(
        graph, members=members, fit=lambda d, m, s: train(d, d.y == 0, 0), predict=ask, attacks="lira", **QUICK
    )
    assert not result.auc
    assert all("fit gives the same model whatever its mask" in why for why in result.refused.values())


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"members": None}, "nobody says who is a member"),
        ({"members": [999]}, "members must be a mask"),
        ({"members": np.ones(300, dtype=bool)}, "no node is a non-member"),
        ({"members": [1, 2], "non_members": [2, 3]}, "1 nodes are members and non-members"),
        ({"fit": None}, "fit and predict belong together: give both"),
        ({"recipe": {}}, "fit says how the model is trained"),
        ({"queries": ("sideways",)}, "the query 'sideways' is none"),
        ({"queries": "sideways"}, "the query 'sideways' is none"),
        ({"queries": ()}, "no query is named"),
        ({"fit": "train"}, "fit must be a function, not str"),
        ({"members": {1, 2}}, "members must be a mask .* not a set"),
        ({"members": [1, 1, 2]}, "members names a node twice"),
        ({"members": np.arange(300) % 2}, "members looks like a mask of whole numbers: make it bool"),
        ({"answers": np.ones((300, 3)) / 3}, "give one of: fit and predict, answers, url and budget"),
        ({"predict": lambda m, x, e, n: 100 * ask(m, x, e, n).softmax(1)}, "rows that sum to 100: give logits"),
        ({"attacks": ()}, "no attack is named"),
        ({"attacks": "lyra"}, "did you mean 'lira'"),
        ({"game": "chess"}, "game"),
    ],
)
def test_a_call_that_does_not_fit_is_refused_in_one_line(graph, members, changes, says):
    given = {"members": members, "fit": train, "predict": ask, **changes}
    with pytest.raises(InputError, match=says) as error:
        gaudit.audit(graph, **given, **QUICK)
    assert "\n" not in str(error.value)


def test_limits_are_numbers_that_are_measured(graph, members):
    told = F.one_hot(graph.y, 3).float()
    result = gaudit.audit(graph, members=members, answers=told, attacks="loss", **QUICK)
    with pytest.raises(InputError, match="assert_below was asked for 'acu': its limits are auc"):
        result.assert_below(acu=0.5)
    with pytest.raises(InputError, match="asked for none"):
        result.assert_below()
    with pytest.raises(AssertionError, match="cannot be held against a budget: not measurable"):
        result.assert_below(tpr_at_0_1=0.5)
    result.assert_below(auc=0.99)


def test_a_recording_of_uploads_is_audited_with_its_holders(tmp_path):
    data = sixty_nodes()
    first = {"w1": torch.randn(5, 8), "b1": torch.zeros(8), "w2": torch.randn(8, 3), "b2": torch.zeros(3)}
    with gaudit.recording(tmp_path / "run", recipe={"hidden": 8}) as send:
        send("global-model", "server", "clients", 0, first)
        for client in range(2):
            send("update", f"client:{client}", "server", 0, {name: w + client for name, w in first.items()})
    holders = np.arange(60) % 2
    result = gaudit.recorded(
        tmp_path / "run", data=data, holders=holders, attacks=("loss", "graphmi"), observer="server", progress=False
    )
    assert set(result.auc) == {"loss", "graphmi"}
    assert {place.attack.game for place in result.audit.findings()} == {"label-membership", "edge-presence"}
    assert result.audit.sections[0].outcomes[0].defense == "unknown"


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: gaudit.score({"id": [1, 2], "score": [0.1, 0.2]}), "the table: the column 'member' is missing"),
        (lambda: gaudit.score({"id": [1, 2], "member": [1, 0], "score": ["a", "b"]}), "the table: row 1 holds 'a'"),
        (lambda: gaudit.release({"z": np.ones((2, 2))}, original=sixty_nodes()), "the release: no part of a"),
    ],
)
def test_what_is_at_hand_is_called_by_what_it_is(call, says):
    """No error names a file that gaudit made for itself."""
    with pytest.raises(InputError) as error:
        call()
    assert str(error.value).startswith(says)
