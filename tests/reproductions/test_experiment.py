import pytest

from gaudit.errors import InputError
from gaudit.reproductions.experiment import Experiment
from support.small_experiment import axis_figure, small_table


def test_a_cell_has_its_published_number():
    found = small_table()
    assert found.publishes("karate", "plain", "accuracy", None) == 50.0
    assert found.publishes("karate", "plain", "blind", None) is None
    assert found.publishes("Reddit", "plain", "accuracy", None) is None


def test_published_numbers_follow_the_axis_and_nan_is_what_is_not_printed():
    found = axis_figure(published={"karate": {"plain": {"accuracy": [10.0, float("nan"), 30.0]}}})
    told = [found.publishes("karate", "plain", "accuracy", at) for at in (1, 2, 3, 4)]
    assert told == [10.0, None, 30.0, None]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"published": {"karate": {"plane": {"accuracy": 1.0}}}}, "plane"),
        ({"published": {"karate": {"plain": {"acuracy": 1.0}}}}, "acuracy"),
        ({"reason": [{"row": "plane", "why": "so"}]}, "plane"),
        ({"row": [{"name": "a", "target": "fedavg"}, {"name": "a", "target": "fedprox"}]}, "one name"),
        ({"measure": [{"key": "auc", "name": "AUC", "of": "auc"}]}, "names an attack"),
        ({"measure": [{"key": "t", "name": "T", "of": "transfer"}]}, "say which"),
        ({"row": []}, "has rows and measures"),
        ({"itm": 1}, "itm"),
        ({"item": "tabel1"}, "item"),
    ],
)
def test_a_plan_file_that_does_not_fit_together_is_refused(wrong, said):
    with pytest.raises(InputError, match=said):
        small_table(**wrong)


def test_a_list_of_another_length_than_the_axis_is_refused():
    with pytest.raises(InputError, match="2 values and not 3"):
        axis_figure(published={"karate": {"plain": {"accuracy": [1.0, 2.0]}}})


def test_statistics_count_the_same_four_things():
    content = {"paper": "p", "item": "table4", "title": "graphs", "kind": "statistics", "datasets": ["karate"]}
    found = Experiment.checked("p", content | {"published": {"karate": {"graph": {"nodes": 34, "edges": 78}}}})
    assert [m.key for m in found.measure] == ["nodes", "edges", "features", "classes"]
    assert found.publishes("karate", "graph", "edges", None) == 78


def test_a_part_has_the_rows_and_claims_that_are_left():
    found = axis_figure().only([], ["plain"])
    assert [row.name for row in found.row] == ["plain"]
    assert not found.claim
    with pytest.raises(InputError, match="did you mean 'plain'"):
        axis_figure().only([], ["plian"])


def test_a_part_gives_the_reasons_that_concern_it():
    reasons = [
        {"row": "plain", "why": "of plain"},
        {"row": "proximal", "why": "of proximal"},
        {"why": "of both"},
        {"row": "plain", "dataset": "Reddit", "why": "of another graph"},
    ]
    whole = small_table(reason=reasons)
    assert [reason.why for reason in whole.only([], ["proximal"]).reason] == ["of proximal", "of both"]
    assert [reason.why for reason in whole.only(["karate"], ["plain"]).reason] == ["of plain", "of both"]


def test_names_for_commands_and_for_readers():
    assert (small_table().name, small_table().called) == ("small:table1", "Table 1")
    assert axis_figure().called == "Figure 3"


def test_settings_are_laid_on_one_another_from_the_general_to_the_particular():
    found = small_table(
        settings={"rounds": 1, "lr": 1.0},
        base={"short": {"rounds": 2, "clients": 2}},
        on={"karate": {"clients": 3, "hidden": 3}},
        row=[
            {
                "name": "plain",
                "target": "fedavg",
                "like": ["short"],
                "settings": {"hidden": 4, "heads": 4},
                "on": {"karate": {"heads": 5}},
            }
        ],
        published={},
    )
    laid: dict[str, object] = {}
    for over in found.settings_of(found.row[0], "karate"):
        laid |= over
    assert laid == {"rounds": 2, "lr": 1.0, "clients": 3, "hidden": 4, "heads": 5}
    with pytest.raises(InputError, match="'plain' is like long"):
        small_table(row=[{"name": "plain", "target": "fedavg", "like": ["long"]}], published={})
