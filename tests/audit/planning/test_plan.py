"""Plans: what is refused and how it is said, and how many trials a plan has."""

import time
import tomllib
from copy import deepcopy

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gaudit.audit.planning.grid import laid_out
from gaudit.audit.planning.plan import LARGEST_PLAN, MANY, Plan
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.graphs.files.data_file import write_graph

WHOLE = {
    "name": "all of it",
    "preset": "quick",
    "datasets": ["karate"],
    "seeds": 2,
    "seed": 3,
    "timeline": False,
    "alternatives": True,
    "target": [{"name": "classifier", "settings": {"recipe": {"hidden": 8}}, "defenses": ["label-noise"]}],
    "defense": [{"name": "label-noise", "strengths": [1.0, 2.0]}, {"name": "rounded-posteriors"}],
    "attack": [
        {"name": "loss", "observers": ["public"], "neighbours": ["true", "none"]},
        {"name": "lira", "settings": {"shadows": 4, "model": {"hidden": 8}}},
    ],
    "severity": {"fpr": 0.05},
}
LEAST = {"target": [{"name": "classifier"}], "attack": [{"name": "loss"}], "datasets": ["karate"]}


def plan_of(**changes) -> Plan:
    return Plan.of({**LEAST, **changes}, "test")


def refusal(content: dict) -> str:
    with pytest.raises(InputError) as caught:
        Plan.of(content, "test")
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_plan_says_what_is_to_run():
    plan = Plan.of(WHOLE, "test")
    assert (plan.name, plan.seeds, plan.seed, plan.datasets) == ("all of it", 2, 3, ("karate",))
    assert plan.target[0].settings == {"recipe": {"hidden": 8}}
    assert [d.name for d in plan.all_defenses()] == ["none", "label-noise", "rounded-posteriors", "fewer-labels"]
    assert [d.name for d in plan.defenses_of(plan.target[0])] == ["none", "label-noise", "fewer-labels"]
    assert plan.attack[0].neighbours == ("true", "none")
    assert plan.severity.fpr == 0.05


@pytest.mark.parametrize(
    ("path", "wrong", "right"),
    [
        ((), "timelien", "timeline"),
        (("target", 0), "setings", "settings"),
        (("defense", 1), "strenghts", "strengths"),
        (("attack", 1), "neighbors", "neighbours"),
        (("severity",), "modrate", "moderate"),
    ],
)
def test_an_unknown_key_is_refused_at_any_depth_with_a_suggestion(path, wrong, right):
    content = deepcopy(WHOLE)
    table = content
    for part in path:
        table = table[part]
    table[wrong] = 1
    wrong, right = (".".join(map(str, [*path, key])) for key in (wrong, right))
    assert f"unknown setting of plan test: '{wrong}': did you mean '{right}'?" in refusal(content)


@pytest.mark.parametrize("key", ["target", "defense", "attack"])
def test_a_name_that_is_misspelt_is_missed(key):
    assert f"'{key}.0.nmae': did you mean '{key}.0.name'?" in refusal({**LEAST, key: [{"nmae": "x"}]})
    assert f"'{key}.0.name' of plan test is missing" in refusal({**LEAST, key: [{}]})


@pytest.mark.parametrize("key", ["target", "datasets"])
def test_an_empty_plan_names_what_it_lacks(key):
    content = {**LEAST, key: []}
    assert f"plan test is empty: it names no {key}, for example" in refusal(content)
    if key != "datasets":  # there is a default
        del content[key]
        assert f"names no {key}" in refusal(content)
    assert refusal({})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": [{"name": "clasifier"}]}, "unknown target 'clasifier': did you mean 'classifier'?"),
        ({"attack": [{"name": "lora"}]}, "unknown attack 'lora': did you mean 'lira'?"),
        ({"defense": [{"name": "fewer-lables"}]}, "unknown defense 'fewer-lables': did you mean 'fewer-labels'?"),
        ({"datasets": ["karate", "citatoins"]}, "unknown dataset 'citatoins': did you mean 'citations'?"),
        ({"target": [{"name": "no_such_module:X"}]}, "cannot import the target 'no_such_module:X'"),
        ({"defense": [{"name": "subprocess:Popen"}]}, "'subprocess:Popen' is no defense"),
        ({"attack": [{"name": "subprocess:Popen"}]}, "'subprocess:Popen' is no attack"),
        ({"target": [{"name": "subprocess:Popen"}]}, "'subprocess:Popen' is no target"),
        (
            {"target": [{"name": "classifier", "defenses": ["ldp"]}]},
            "target 'classifier' names a defense without [[defense]]: 'ldp'",
        ),
        (
            {"defense": [{"name": "none", "strengths": [1.0]}]},
            "the defense 'none' has no strength: leave 'strengths' out",
        ),
        ({"defense": [{"name": "fewer-labels", "strengths": [0.5, 1.5]}]}, "setting 'share' of defense"),
        ({"defense": [{"name": "ldp", "strengths": [0.0]}]}, "setting 'epsilon' of defense 'ldp'"),
        ({"defense": [{"name": "ldp", "strengths": [float("nan")]}]}, "'defense.0.strengths.0' of plan test"),
        ({"defense": [{"name": "ldp", "strengths": [float("inf")]}]}, "'defense.0.strengths.0' of plan test"),
        ({"defense": [{"name": "ldp", "settings": {"clipp": 1}}]}, "did you mean 'clip'?"),
        ({"defense": [{"name": "none", "settings": {"clip": 1}}]}, "unknown setting of defense 'none': 'clip'"),
        ({"attack": [{"name": "lira", "settings": {"shadow": 4}}]}, "did you mean 'shadows'?"),
        ({"attack": [{"name": "lira", "settings": {"model": {"hiden": 4}}}]}, "did you mean 'model.hidden'?"),
        ({"attack": [{"name": "lira", "settings": {"shadows": 1}}]}, "setting 'shadows' of attack 'lira'"),
        ({"attack": [{"name": "loss", "observers": ["sever"]}]}, "unknown observer 'sever': expected public"),
        ({"attack": [{"name": "loss", "neighbours": ["all"]}]}, "'attack.0.neighbours.0' of plan test"),
        ({"attack": [{"name": "loss", "neighbours": []}]}, "'attack.0.neighbours' of plan test"),
        ({"seeds": 0}, "setting 'seeds' of plan test"),
        ({"seeds": 1.5}, "setting 'seeds' of plan test"),
        ({"seed": -1}, "setting 'seed' of plan test"),
        ({"name": ""}, "setting 'name' of plan test"),
        ({"preset": "fast"}, "setting 'preset' of plan test"),
        ({"target": "classifier"}, "setting 'target' of plan test"),
        ({"datasets": "karate"}, "setting 'datasets' of plan test"),
        ({"severity": {"fpr": 0}}, "setting 'severity.fpr' of plan test"),
        ({"severity": {"moderate": 12}}, "moderate < high < severe must hold, not 12.0, 10.0, 30.0"),
        ({"severity": {"high": 30, "severe": 30}}, "moderate < high < severe must hold"),
    ],
)
def test_what_cannot_run_is_refused(changes, message):
    assert message in refusal({**LEAST, **changes})


def test_severity_is_overridden_in_part():
    scale = plan_of(severity={"moderate": 2, "fpr": 0.1}).severity
    assert (scale.fpr, scale.moderate, scale.high, scale.severe) == (0.1, 2, 10, 30)
    assert plan_of().severity.moderate == 3


@pytest.mark.parametrize(
    ("defense", "expected"),
    [
        ({"name": "fewer-labels"}, [0.75, 0.5, 0.25]),  # those that it suggests itself
        ({"name": "fewer-labels", "strengths": [0.1]}, [0.1]),
        ({"name": "fewer-labels", "settings": {"share": 0.3}}, [0.3]),
        ({"name": "fewer-labels", "settings": {"share": 0.3}, "strengths": [0.1, 0.2]}, [0.1, 0.2]),
        ({"name": "fewer-labels", "strengths": []}, [0.5]),  # its default
    ],
)
def test_strengths(defense, expected):
    (planned,) = plan_of(defense=[defense]).defense
    assert [variant.get("share", 0.5) for variant in planned.variants("quick")] == expected


def test_other_settings_hold_at_every_strength():
    (planned,) = plan_of(defense=[{"name": "ldp", "strengths": [1.0, 2.0], "settings": {"clip": 0.5}}]).defense
    assert planned.variants("quick") == [{"clip": 0.5, "epsilon": 1.0}, {"clip": 0.5, "epsilon": 2.0}]


def test_trivial_alternatives_are_added_once_and_not_where_they_are_planned():
    several = [{"name": "ldp"}, {"name": "label-noise"}]
    assert [d.name for d in plan_of(defense=several).all_defenses()] == [
        *("none", "ldp", "label-noise", "fewer-labels")
    ]
    own = [*several, {"name": "fewer-labels", "strengths": [0.9]}]
    added = plan_of(defense=own).all_defenses()
    assert [d.name for d in added] == ["none", "ldp", "label-noise", "fewer-labels"]
    assert added[-1].strengths == (0.9,)
    without = plan_of(defense=several, alternatives=False)
    assert [d.name for d in without.all_defenses()] == ["none", "ldp", "label-noise"]
    assert [d.name for d in plan_of(defense=[{"name": "none"}]).all_defenses()] == ["none"]


def test_a_target_may_take_some_of_the_defenses():
    content = {
        **LEAST,
        "target": [{"name": "classifier", "defenses": []}, {"name": "fedgc"}, {"name": "classifier"}],
        "defense": [{"name": "label-noise", "strengths": [1.0]}],
    }
    plan = Plan.of(content, "test")
    names = [[d.name for d in plan.defenses_of(target)] for target in plan.target]
    assert names == [["none"], ["none", "label-noise", "fewer-labels"], ["none", "label-noise", "fewer-labels"]]


# --- counting


@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.integers(1, 3),
    st.lists(st.sampled_from(["fewer-labels", "label-noise", "rounded-posteriors"]), unique=True),
    st.lists(st.floats(0.1, 1.0), min_size=1, max_size=3, unique=True),
    st.booleans(),
    st.sampled_from([["karate"], ["karate", "planted"]]),
)
def test_the_count_is_the_number_of_trials_that_are_laid_out(seeds, defenses, strengths, alternatives, datasets):
    plan = plan_of(
        seeds=seeds,
        defense=[{"name": name, "strengths": strengths} for name in defenses],
        alternatives=alternatives,
        datasets=datasets,
    )
    assert plan.count() == sum(task.cell >= 0 for task in laid_out(plan).tasks)


def test_a_refused_defense_makes_the_count_an_upper_bound():
    plan = plan_of(defense=[{"name": "ldp", "strengths": [1.0]}], alternatives=False, seeds=2)
    assert plan.count() == 4
    assert sum(task.cell >= 0 for task in laid_out(plan).tasks) == 2


def test_millions_of_trials_are_counted_without_being_made():
    start = time.process_time()
    plan = plan_of(
        seeds=50_000,
        datasets=["Reddit", "Flickr"],
        defense=[{"name": "ldp", "strengths": [float(i + 1) for i in range(9)]}],
        alternatives=False,
    )
    assert plan.count() == 1_000_000 > MANY
    assert plan_of(seeds=10**15).count() == 10**15
    assert time.process_time() - start < 1


# --- files


@pytest.fixture
def written(tmp_path):
    """``written(text)``: a plan file."""

    def write(text: str | bytes):
        path = tmp_path / "plan.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_a_file_is_read(written):
    text = """
name = "from a file"
datasets = ["karate"]
[[target]]
name = "classifier"
[[attack]]
name = "loss"
neighbours = ["none"]
[severity]
severe = 100
"""
    plan = Plan.read(written(text))
    assert plan == Plan.of(tomllib.loads(text), "here")
    assert (plan.name, plan.attack[0].neighbours, plan.severity.severe) == ("from a file", ("none",), 100)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("seeds = ", "is not TOML"),
        ("[[target]\nname = 'x'", "is not TOML"),
        ("seeds = 1\nseeds = 2", "is not TOML"),
        (b"\xff\xfe\x00", "cannot read the plan"),
        ("a = " + "[" * 20_000, "nested too deep"),
        ("seeds = " + "1" * 5_000, "is not TOML"),
        ("#" * (LARGEST_PLAN + 1), "larger than 1 MiB"),
        ("", "is empty: it names no target"),
        ("sedes = 1", "did you mean 'seeds'?"),
    ],
)
def test_a_file_that_is_no_plan_is_named(written, content, message):
    path = written(content)
    with pytest.raises(InputError) as caught:
        Plan.read(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(InputError, match=f"cannot read the plan {tmp_path / 'absent.toml'}: No such file"):
        Plan.read(tmp_path / "absent.toml")
    with pytest.raises(InputError, match=f"cannot read the plan {tmp_path}: Is a directory"):
        Plan.read(tmp_path)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_other_bytes_are_refused_in_one_line(written, content):
    with pytest.raises(InputError):
        Plan.read(written(content))


GRAPH_PLAN = """
datasets = ["own.npz", "sub/own.npz", "karate", "{other}"]
[[target]]
name = "classifier"
[[attack]]
name = "loss"
"""


def test_graph_files_are_looked_for_beside_the_plan(tmp_path, monkeypatch):
    folder, elsewhere = tmp_path / "plans", tmp_path / "elsewhere"
    (folder / "sub").mkdir(parents=True)
    elsewhere.mkdir()
    other = tmp_path / "other.npz"
    for path in (folder / "own.npz", folder / "sub" / "own.npz", other):
        write_graph(load_dataset("karate"), path)
    (folder / "plan.toml").write_text(GRAPH_PLAN.format(other=other))
    monkeypatch.chdir(elsewhere)
    plan = Plan.read(folder / "plan.toml")
    expected = (str(folder / "own.npz"), str(folder / "sub" / "own.npz"), "karate", str(other))
    assert plan.datasets == expected
    assert {task.dataset for task in laid_out(plan).tasks} == {*expected, "planted"}
    monkeypatch.chdir(folder)
    assert Plan.read(folder / "plan.toml").datasets == expected


def test_a_graph_file_that_is_not_there_is_named(tmp_path):
    plan = Plan.of({**LEAST, "datasets": ["absent.npz"]}, "test", tmp_path)
    with pytest.raises(InputError, match=f"{tmp_path / 'absent.npz'}: no such file"):
        laid_out(plan)


@pytest.mark.parametrize("name", ["GRAPH.NPZ", "a.GraphML"])
def test_endings_of_graph_files_may_be_capital(tmp_path, name):
    assert Plan.of({**LEAST, "datasets": [name]}, "test", tmp_path).datasets == (str(tmp_path / name),)


def test_a_dataset_named_twice_is_taken_once_and_any_case_will_do():
    assert plan_of(datasets=["karate", "Cora", "karate"]).datasets == ("karate", "Cora")
    assert plan_of(datasets=["KARATE", "karate"]).datasets == ("karate",)
