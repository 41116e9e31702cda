"""From a plan to trials: what runs, in which order, and what a trial's key depends on."""

import importlib
import json
import os
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from gaudit.audit.planning import grid as grid_module
from gaudit.audit.planning.grid import (
    OURS,
    PASSIVE,
    Grid,
    PlannedTrial,
    code_of,
    digest_of,
    laid_out,
    source_digest,
)
from gaudit.audit.planning.plan import Plan
from gaudit.audit.planning.resolve import merged
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.graphs.files.data_file import write_graph
from gaudit.registry import find
from gaudit.targets.messages import MODEL_KIND, QUERY_NAMES, posteriors_kind
from gaudit.targets.transcript import Message

BASE = {
    "datasets": ["karate"],
    "seeds": 2,
    "target": [{"name": "classifier", "settings": {"recipe": {"hidden": 8, "epochs": 5}, "in_question": 1.0}}],
    "defense": [{"name": "label-noise", "strengths": [1.0, 2.0]}],
    "attack": [{"name": "loss"}, {"name": "lira", "settings": {"shadows": 4}}],
}


def grid_of(changes: dict | None = None, folder: Path = Path()) -> Grid:
    return laid_out(Plan.of({**deepcopy(BASE), **(changes or {})}, "test", folder))


def trials(grid: Grid) -> list[PlannedTrial]:
    """Without the controls."""
    return [task for task in grid.tasks if task.cell >= 0]


def keys(grid: Grid) -> set[str]:
    return {task.key for task in trials(grid)}


def called(task: PlannedTrial) -> tuple[str, int]:
    return task.title.split(", ", 1)[1], task.plan.index


# --- what runs


def test_seed_by_seed_with_the_control_first():
    found = [called(task) for task in trials(grid_of())]
    labels = ["none", "label-noise, epsilon 1", "label-noise, epsilon 2"]
    labels += [f"fewer-labels, share {share:g}" for share in (0.75, 0.5, 0.25)]
    assert found == [(f"{label}, seed {index}", index) for index in range(2) for label in labels]


def test_the_planted_leak_comes_before_everything():
    grid = grid_of()
    assert [task.cell for task in grid.tasks] == [-1] + [0] * 12
    (planted,) = (task for task in grid.tasks if task.cell < 0)
    assert (planted.dataset, planted.plan.target, planted.plan.defense) == ("planted", "planted", "none")
    assert [a.name for a in planted.plan.attacks] == ["loss", "lira"]
    assert set(grid.graphs) == {"karate", "planted"}


def test_every_target_meets_every_graph_and_every_seed():
    grid = grid_of({"target": [*BASE["target"], {"name": "fedgc"}], "datasets": ["karate", "patients"]})
    assert [(c.target, c.dataset) for c in grid.cells] == [
        *(("classifier", "karate"), ("classifier", "patients")),
        *(("fedgc", "karate"), ("fedgc", "patients")),
    ]
    for index, cell in enumerate(grid.cells):
        tasks = [task for task in grid.tasks if task.cell == index]
        assert {task.dataset for task in tasks} == {cell.dataset}
        assert [task.plan.index for task in tasks] == [0] * 6 + [1] * 6
        assert {task.plan.target for task in tasks} == {cell.target}


def test_trials_of_a_seed_share_their_root_and_so_may_share_shadow_models():
    by_seed: dict[tuple, set] = {}
    for task in trials(grid_of()):
        by_seed.setdefault(task.shares, set()).add(str(task.plan.root()))
    assert len(by_seed) == 2
    assert all(len(roots) == 1 for roots in by_seed.values())


def test_trivial_alternatives_are_added_once():
    several = [{"name": "label-noise", "strengths": [1.0]}, {"name": "rounded-posteriors", "strengths": [0.1]}]
    names = [task.plan.defense for task in trials(grid_of({"defense": several, "seeds": 1}))]
    assert names == ["none", "label-noise", "rounded-posteriors", *["fewer-labels"] * 3]
    without = grid_of({"defense": several, "seeds": 1, "alternatives": False})
    assert [task.plan.defense for task in trials(without)] == ["none", "label-noise", "rounded-posteriors"]


def test_refused_defenses_are_noted_and_not_run():
    several = [{"name": "ldp"}, {"name": "label-noise", "strengths": [1.0]}]
    grid = grid_of({"defense": several, "target": [*BASE["target"], {"name": "fedgc"}]})
    assert list(grid.cells[0].refused) == ["ldp"]
    assert "and these settings send no such message" in grid.cells[0].refused["ldp"]
    assert not grid.cells[1].refused
    ran = {(task.cell, task.plan.defense) for task in trials(grid)}
    assert (0, "ldp") not in ran
    assert (1, "ldp") in ran


def test_a_target_with_defenses_of_its_own_keeps_its_control():
    """Two cells may share a trial: it runs once, and is there for both."""
    target = BASE["target"][0]
    twice = [{**target, "defenses": []}, target]
    grid = grid_of({"target": twice})
    first, second = ([task for task in grid.tasks if task.cell == cell] for cell in (0, 1))
    assert [task.plan.defense for task in first] == ["none", "none"]
    assert len(second) == 12
    assert {task.key for task in first} < {task.key for task in second}


def test_an_audited_control_does_not_take_the_place_of_the_control():
    grid = grid_of({"target": [{"name": "planted", "defenses": []}], "datasets": ["planted"], "seeds": 1})
    assert [task.cell for task in grid.tasks] == [-1, 0]


@pytest.mark.parametrize("game", ["label-membership", "node-presence"])
def test_the_planted_leak_is_of_the_game_that_is_played(game):
    settings = {**BASE["target"][0]["settings"], "game": game, "clients": 4}
    grid = grid_of({"target": [{"name": "classifier", "settings": settings}]})
    planted = grid.tasks[0].plan.target_settings
    assert (planted["game"], planted["clients"]) == (game, 10)  # no fewer than of its own accord
    assert planted["leaks"] == ("model", "updates", "tables", "release", "embeddings", "sums")


def test_beside_a_released_graph_a_graph_is_planted():
    grid = grid_of({"target": [{"name": "fedgc"}]})
    assert grid.tasks[0].plan.target_settings["leaks"] == ("release",)


def test_targets_with_the_same_control_share_it_and_who_reads_nothing_has_none():
    other = {"name": "classifier", "settings": {"recipe": {"hidden": 4}}}
    assert [task.cell for task in grid_of({"target": [*BASE["target"], other], "seeds": 1}).tasks].count(-1) == 1
    blind = grid_of({"attack": [{"name": "blind"}]})
    assert not any(task.cell < 0 for task in blind.tasks)
    assert not find("attacks", "blind").kinds()


def test_settings_are_laid_over_the_preset_one_by_one():
    target = {"name": "classifier", "preset": "paper", "settings": {"recipe": {"hidden": 8}, "clients": 2}}
    settings = grid_of({"target": [target]}).cells[0].settings
    assert (settings["game"], settings["clients"], settings["recipe"]["hidden"]) == ("node-presence", 2, 8)
    assert settings["recipe"]["epochs"] == 200
    assert merged({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": 5}}) == {"a": {"b": 5, "c": 2}, "d": 3}
    assert merged({"a": {"b": 1}}, {"a": 2}) == {"a": 2}


def test_settings_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match=r"did you mean 'recipe\.hidden'"):
        grid_of({"target": [{"name": "classifier", "settings": {"recipe": {"hiden": 8}}}]})


# --- keys


def test_the_same_plan_has_the_same_keys():
    one, again = grid_of(), grid_of()
    assert [task.key for task in one.tasks] == [task.key for task in again.tasks]
    assert one.fingerprint == again.fingerprint
    assert len(keys(one)) == len(trials(one))  # and no two trials the same


@pytest.mark.dear
def test_another_process_comes_to_the_same_keys():
    code = f"""
from gaudit.audit.planning.grid import laid_out
from gaudit.audit.planning.plan import Plan
print(*(task.key for task in laid_out(Plan.of({BASE!r}, "test")).tasks))
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "7"},
    )
    source_digest.cache_clear()
    code_of.cache_clear()
    assert done.stdout.splitlines()[-1].split() == [task.key for task in grid_of().tasks]


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 1},
        {"timeline": True},
        {"target": [{**BASE["target"][0], "settings": {**BASE["target"][0]["settings"], "members": 0.4}}]},
        {"attack": [{"name": "loss", "settings": {"labels_only": True}}, BASE["attack"][1]]},
        {"attack": [{"name": "loss", "neighbours": ["none"]}, BASE["attack"][1]]},
        {"attack": [{"name": "loss", "observers": ["server"]}, BASE["attack"][1]]},
        {"attack": [BASE["attack"][0]]},
        {"attack": BASE["attack"][::-1]},  # the order in which they are reported
        {"datasets": ["patients"]},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_no_key_survives_a_change_of(changes):
    before, after = grid_of(), grid_of(changes)
    assert not keys(before) & keys(after)
    assert before.fingerprint != after.fingerprint


@pytest.mark.parametrize("setting", ["hidden", "epochs", "dropout", "architecture"])
def test_any_setting_of_the_target_is_in_the_key(setting):
    value = {"hidden": 9, "epochs": 6, "dropout": 0.25, "architecture": "mlp"}[setting]
    target = deepcopy(BASE["target"][0])
    target["settings"]["recipe"][setting] = value
    assert not keys(grid_of()) & keys(grid_of({"target": [target]}))


def test_a_defenses_strength_is_in_its_own_keys_alone():
    before = {called(task): task.key for task in trials(grid_of())}
    after = {
        called(task): task.key
        for task in trials(grid_of({"defense": [{"name": "label-noise", "strengths": [1.0, 3.0]}]}))
    }
    gone = {name for name in before if after.get(name) != before[name]}
    assert gone == {(f"label-noise, epsilon 2, seed {index}", index) for index in range(2)}


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "called otherwise"},
        {"severity": {"moderate": 2.0}},
        {"seeds": 5},
        {"datasets": ["patients", "karate"]},
        {"target": [{"name": "fedgc"}, *BASE["target"]]},
        {"defense": [{"name": "rounded-posteriors"}, *BASE["defense"]]},
        {"target": [{**BASE["target"][0], "preset": "quick"}]},
        {
            "attack": [
                {"name": "loss", "observers": ["public"], "settings": {"labels_only": False}},
                BASE["attack"][1],
            ]
        },
        {"defense": [{"name": "label-noise", "settings": {"epsilon": 9}, "strengths": [1.0, 2.0]}]},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_plan_that_grows_or_says_the_same_keeps_its_keys(changes):
    before, after = grid_of(), grid_of(changes)
    assert keys(before) <= keys(after)
    assert (keys(before) == keys(after)) == (before.fingerprint == after.fingerprint)


# --- graphs


def altered(data: Data, what: str) -> Data:
    data = data.clone()
    if what == "feature":
        data.x[3, 5] += 1e-3
    elif what == "label":
        data.y[7] = (data.y[7] + 1) % 4
    elif what == "mask":
        node = data.val_mask.nonzero()[0]
        data.val_mask[node] = False
    elif what == "edge":
        data.edge_index = data.edge_index[:, ~((data.edge_index == 0) & (data.edge_index.flip(0) == 1)).any(0)]
    elif what == "rows":
        order = torch.arange(data.num_nodes).flip(0)
        place = order.argsort()
        masks = {name: data[name][order] for name in ("train_mask", "val_mask", "test_mask")}
        data = Data(x=data.x[order], y=data.y[order], edge_index=place[data.edge_index], **masks)
    return data


@pytest.mark.parametrize("what", ["feature", "label", "mask", "edge", "rows"])
def test_keys_change_with_one_entry_of_the_graph(tmp_path, what):
    for name in ("before", "after"):
        (tmp_path / name).mkdir()
    graph = load_dataset("karate")
    write_graph(graph, tmp_path / "before" / "own.npz")
    write_graph(altered(graph, what), tmp_path / "after" / "own.npz")
    before, after = (grid_of({"datasets": ["own.npz"]}, tmp_path / name) for name in ("before", "after"))
    assert not keys(before) & keys(after)
    assert before.fingerprint != after.fingerprint


def test_keys_do_not_change_with_a_graphs_name_or_place(tmp_path):
    (tmp_path / "sub").mkdir()
    graph = load_dataset("karate")
    for name in ("own.npz", "sub/other.npz"):
        write_graph(graph, tmp_path / name)
    grids = [grid_of({"datasets": [name]}, tmp_path) for name in ("own.npz", "sub/other.npz")]
    assert keys(grids[0]) == keys(grids[1]) == keys(grid_of())
    assert grids[0].fingerprint == grids[1].fingerprint
    assert grids[1].graphs[str(tmp_path / "sub/other.npz")].name == "other.npz"


@given(st.data())
def test_the_digest_changes_with_every_entry(data):
    graph = load_dataset("karate")
    before = digest_of(graph)
    field = data.draw(st.sampled_from(sorted(graph.keys())))
    place = data.draw(st.integers(0, graph[field].numel() - 1))
    part = graph[field].flatten()
    part[place] = ~part[place] if part.dtype == torch.bool else part[place] + 1
    graph[field] = part.reshape(graph[field].shape)
    assert digest_of(graph) != before


def test_the_digest_is_of_values_types_and_shapes():
    x = torch.zeros(2, 3)
    same = {digest_of(Data(x=x)), digest_of(Data(x=x.clone(), name="called")), digest_of(Data(x=x.to_sparse()))}
    assert len(same) == 1
    others = [Data(x=x.double()), Data(x=x.T.contiguous()), Data(y=x), Data(x=x, y=x)]
    assert len({digest_of(other) for other in others} | same) == 5


# --- code

OWN = """
from gaudit.targets.classification.classifier import Classifier


class Mine(Classifier):
    name = "mine"
    # {comment}
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """``own(text, place)``: writes a module of the user's (or changes it) and forgets what was known of it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    top = f"own_{tmp_path.name.replace('-', '_')}"

    def write(text: str, place: str = ".py") -> str:
        path = tmp_path / f"{top}{place}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        for name in [name for name in sys.modules if name.split(".")[0] == top]:
            del sys.modules[name]
        importlib.invalidate_caches()
        source_digest.cache_clear()
        return top

    yield write
    source_digest.cache_clear()


def grid_with(name: str) -> Grid:
    return grid_of({"target": [{**BASE["target"][0], "name": name}], "seeds": 1, "defense": []})


def test_keys_change_with_the_code_of_a_target_of_the_users_and_the_fingerprint_does_not(own):
    module = own(OWN.format(comment="one"))
    before = grid_with(f"{module}:Mine")
    again = grid_with(f"{module}:Mine")
    own(OWN.format(comment="two"))
    after = grid_with(f"{module}:Mine")
    assert keys(before) == keys(again)
    assert not keys(before) & keys(after)
    assert before.fingerprint == after.fingerprint
    planted = [{task.key for task in grid.tasks if task.cell < 0} for grid in (before, after)]
    assert planted[0] == planted[1]  # it does not use that code


def test_keys_change_with_every_module_of_a_package_of_the_users(own):
    own("", "/__init__.py")
    module = own(OWN.format(comment="target"), "/deep/target.py")
    own("", "/deep/__init__.py")
    digests = [code_of(find("targets", f"{module}.deep.target:Mine"))]
    for place in ("/layers.py", "/deep/layers.py", "/reports/tables.py", "/tests/test_it.py"):
        own("one = 1\n", place)
        digests.append(code_of(find("targets", f"{module}.deep.target:Mine")))
    own("one = 2\n", "/layers.py")
    digests.append(code_of(find("targets", f"{module}.deep.target:Mine")))
    assert len(set(digests)) == len(digests)
    own("one = 1\n", "/.hidden/left.py")
    assert code_of(find("targets", f"{module}.deep.target:Mine")) == digests[-1]


def test_a_folder_that_is_no_package_counts_by_the_module(own):
    module = own(OWN.format(comment="one"), "/target.py")
    before = code_of(find("targets", f"{module}.target:Mine"))
    own("one = 1\n", "/other.py")
    assert code_of(find("targets", f"{module}.target:Mine")) == before
    own(OWN.format(comment="two"), "/target.py")
    assert code_of(find("targets", f"{module}.target:Mine")) != before


def test_our_code_counts_but_for_what_no_result_depends_on(tmp_path, monkeypatch):
    """In a copy of the folders, with a file each changed."""
    monkeypatch.setattr(grid_module, "OURS", tmp_path)
    for folder in ("audit", "targets", *PASSIVE):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "module.py").write_text("one = 1\n")

    def digest() -> str:
        source_digest.cache_clear()
        return source_digest(tmp_path)

    before = digest()
    for folder in PASSIVE:
        (tmp_path / folder / "module.py").write_text("one = 2\n")
    assert digest() == before
    (tmp_path / "targets" / "module.py").rename(tmp_path / "targets" / "other.py")
    assert digest() != before
    source_digest.cache_clear()


def test_every_folder_that_does_not_count_is_no_part_of_a_computation():
    assert Path(sys.modules["gaudit"].__file__).parent == OURS
    assert not {"targets", "attacks", "defenses", "audit"} & set(PASSIVE)


def test_a_large_plan_is_laid_out_in_seconds():
    """A graph is digested once, not once a trial."""
    plan = Plan.of({**deepcopy(BASE), "seeds": 100, "datasets": ["citations"]}, "test")
    start = os.times().user
    assert len(trials(laid_out(plan))) == 600
    assert os.times().user - start < 6


def test_all_of_a_trial_is_plain_values():
    for task in grid_of().tasks:
        described = grid_module.described(task.plan)
        assert json.loads(json.dumps(described)) == described
    assert np.all([len(task.key) == 64 for task in grid_of().tasks])


def test_a_leak_that_cannot_be_planted_in_the_game_is_planted_in_its_own():
    settings = {**BASE["target"][0]["settings"], "game": "node-presence"}
    attacks = [{"name": "loss"}, {"name": "update-codes", "observers": ["server"]}]
    grid = grid_of({"target": [{"name": "classifier", "settings": settings}], "attack": attacks})
    games = {task.plan.target: task.plan.target_settings["game"] for task in grid.tasks if task.cell < 0}
    assert games == {"planted": "node-presence", "planted-ownership": "node-ownership"}


@pytest.mark.parametrize(
    ("ways", "transcript", "kept"),
    [(("true",), None, {"full"}), (("none", "apart"), None, {"0-hop", "apart"}),
     (("true",), "run", {"full", "0-hop", "apart"})],
)  # fmt: skip
def test_of_tables_of_answers_those_are_kept_that_some_attack_asks_for(ways, transcript, kept):
    """They are as large as the features; a record of the run has all, for attacks that are chosen later."""
    attacks = tuple(AttackPlan("loss", neighbours=way) for way in ways)
    keep = TrialPlan("classifier", {}, "none", {}, attacks, 0, 0, transcript=transcript).keeps()
    tables = {query: Message(posteriors_kind(query), "server", "public", 1, {}) for query in QUERY_NAMES.values()}
    assert {query for query, table in tables.items() if keep(table)} == kept
    assert keep(Message(MODEL_KIND, "server", "public", 1, {}))
