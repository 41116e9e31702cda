import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from gaudit.reproductions.comparison import State, judged, numbers, selected, state_of
from gaudit.reproductions.records import Record
from support.small_experiment import axis_figure, small_table, told


def number(records, key="accuracy", row="plain", **more):
    return next(n for n in numbers(small_table(**more), records) if (n.measure.key, n.row.name) == (key, row))


def test_the_interval_is_students_over_seeds():
    values = [0.5, 0.52, 0.57]
    found = number([told("plain", i, accuracy=v) for i, v in enumerate(values)])
    want = ttest_1samp(100 * np.array(values), 0.0).confidence_interval(0.95)
    assert found.finding.estimate == pytest.approx(53.0)
    assert (found.finding.low, found.finding.high) == pytest.approx((want.low, want.high))


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([0.50, 0.50], "within"),
        ([0.52, 0.52], "within"),
        ([0.5201, 0.5201], "outside"),
        ([0.526667, 0.516667, 0.516667], "within"),  # 1,580, 1,550 and 1,550 of 3,000: two points exactly
        ([0.40, 0.56], "within"),
        ([0.40, 0.52], "not told apart"),
        ([0.40, 0.41], "outside"),
        ([0.60], "outside"),
        ([], ""),
    ],
)
def test_two_points_are_near_and_wide_intervals_decide_nothing(values, verdict):
    assert number([told("plain", i, accuracy=v) for i, v in enumerate(values)]).verdict == verdict


def test_a_number_without_a_published_one_has_no_verdict():
    assert number([told("plain", 0, blind=0.5)], "blind").verdict == ""


def test_times_are_no_bar():
    measure = [{"key": "time", "name": "CPU s", "of": "seconds", "compared": False}]
    more = {"measure": measure, "published": {"karate": {"plain": {"time": 1.0}}}}
    assert number([told("plain", 0, time=900.0)], "time", **more).verdict == ""


def test_validation_chooses_and_test_accuracy_does_not():
    good_on_test = Record("karate", "plain", 0, tried={"lr": 1.0}, values={"accuracy": 0.9}, validation=0.5)
    good = Record("karate", "plain", 0, tried={"lr": 0.1}, values={"accuracy": 0.6}, validation=0.7)
    refused = Record("karate", "plain", 0, tried={"lr": 9.0}, refused="diverges")
    for order in ([good_on_test, good, refused], [refused, good, good_on_test]):
        assert selected(order) == [good]


def test_a_seed_that_could_not_run_is_counted():
    found = number([told("plain", 0, accuracy=0.5), Record("karate", "plain", 1, refused="nobody is left")])
    assert (len(found.values), found.refused) == (1, 1)


def claimed(*pairs, places=(1, 2, 3)):
    """Verdict on 'plain is better', from accuracies of both at each place, one pair for each seed."""
    records = []
    for seed, pair in enumerate(pairs):
        for at in places:
            records += [told("plain", seed, at, accuracy=pair[0]), told("proximal", seed, at, accuracy=pair[1])]
    return judged(axis_figure(), records)[0].verdict


def test_a_statement_holds_where_the_order_is_shown_at_every_place():
    assert claimed((0.7, 0.6), (0.71, 0.6), (0.7, 0.61)) == "holds at 3 of 3 places"
    assert claimed((0.6, 0.7), (0.6, 0.71), (0.61, 0.7)) == "does not hold at 3 of 3 places"
    assert claimed((0.7, 0.6), (0.5, 0.6)) == "open"
    assert claimed() == "not measured"
    assert claimed((0.9, 0.1)) == "open"  # one seed


def test_a_state_counts_what_became_of_the_statements():
    clear, same = (0.7, 0.71, 0.69), (0.5, 0.71, 0.6)
    orders = (("plain", "proximal"), ("proximal", "plain"))
    cells = [({"row": a, "measure": "accuracy"}, {"row": b, "measure": "accuracy"}) for a, b in orders]
    claims = [{"says": "It is better.", "larger": one, "smaller": other} for one, other in cells]

    def sentence(plain, proximal, count=1):
        records = [
            told(row, seed, 1, accuracy=accuracy)
            for row, accuracies in (("plain", plain), ("proximal", proximal))
            for seed, accuracy in enumerate(accuracies)
        ]
        figure = axis_figure(axis={"name": "clients", "setting": "clients", "values": [1]}, claim=claims[:count])
        return state_of(figure, records).sentence

    worse = tuple(value - 0.2 for value in clear)
    assert "1 statement holds." in sentence(clear, worse)
    assert "1 statement does not hold." in sentence(worse, clear)
    assert "2 statements are open." in sentence(clear, same, 2)
    assert "Of 2 statements 1 holds and 1 does not hold." in sentence(clear, worse, 2)


def test_one_place_of_many_that_is_off_by_chance_contradicts_nothing():
    """An interval of a single place would exclude zero here; those of fifty places together do not."""
    pairs = ((0.5, 0.51), (0.5, 0.512), (0.5, 0.514))
    assert claimed(*pairs, places=(1,)).startswith("does not hold")
    figure = axis_figure(axis={"name": "clients", "setting": "clients", "values": list(range(1, 51))})
    records = [
        told(row, seed, 1, accuracy=pair[place])
        for seed, pair in enumerate(pairs)
        for place, row in enumerate(("plain", "proximal"))
    ]
    assert judged(figure, records)[0].verdict == "open"


def test_pairs_are_of_one_seed():
    """Seeds differ by far more than rows do: only paired differences show the order."""
    assert claimed((0.2, 0.1), (0.6, 0.5), (0.9, 0.8)) == "holds at 3 of 3 places"


def test_rounds_are_read_from_one_record():
    figure = axis_figure(axis={"name": "round", "setting": "round", "values": [1, 2]}, claim=[])
    record = Record("karate", "plain", 0, values={"accuracy": {"1": 0.1, "2": 0.2}})
    found = {n.at: n.values for n in numbers(figure, [record]) if n.row.name == "plain"}
    assert found == {1: (10.0,), 2: (20.0,)}


def test_states():
    table = small_table()
    assert state_of(table, []).word == "not run yet"
    right = [told(row, s, accuracy=v, auc=0.6) for s in (0, 1) for row, v in (("plain", 0.5), ("proximal", 0.7))]
    assert state_of(table, right).word == "reproduced"
    assert "Reddit" in state_of(table, right).sentence
    scattered = [r for r in right if r.row != "plain"] + [
        told("plain", s, accuracy=v, auc=0.6) for s, v in enumerate((0.3, 0.6))
    ]
    assert state_of(table, scattered).word == "in part"
    assert state_of(table, [replace(r, quick=True) for r in right]).word == "short runs"
    wrong = [told("plain", s, accuracy=0.3, auc=0.6) for s in (0, 1)]
    state = state_of(small_table(reason=[{"row": "plain", "why": "It is small."}]), wrong)
    assert state.word == "differs"
    assert "missed, most by -20.0 (karate, plain, accuracy %)." in state.sentence
    assert state.why == "It is small."
    assert "1 published number is not measured" in state.sentence
    assert state_of(small_table(datasets=[], published={}), []).word == "needs data"
    assert not math.isnan(len(state.sentence))


def test_a_figure_says_which_of_its_rows_are_left():
    figure = axis_figure(datasets=["karate", "planted"])
    one, other = ([told(row, 0, at, accuracy=0.5) for at in (1, 2, 3)] for row in ("plain", "proximal"))
    state = state_of(figure, one)
    assert state.word == "in part"
    assert "Left to run: proximal on karate; planted." in state.sentence
    assert "Left to run: planted." in state_of(figure, one + other).sentence
    assert "Left to run: proximal on karate; planted." in state_of(figure, one + other[:2]).sentence, "a place"
    ours = axis_figure(row=[figure.row[0].model_dump(), figure.row[1].model_dump() | {"ours": True}])
    assert "Left to run" not in state_of(ours, one).sentence


def test_what_has_nothing_to_be_compared_with_is_measured():
    figure = axis_figure(claim=[], row=[{"name": "plain", "target": "fedavg"}])
    records = [told("plain", 0, at, accuracy=0.5) for at in (1, 2, 3)]
    assert state_of(figure, records) == State("measured", "The paper prints no number to compare with.")
    bare = [{"key": "seconds", "name": "seconds", "of": "seconds", "compared": False}]
    timed = axis_figure(claim=[], row=[{"name": "plain", "target": "fedavg"}], measure=bare, axis=None)
    timed = timed.model_copy(update={"published": {"karate": {"plain": {"seconds": 3.0}}}})
    state = state_of(timed, [told("plain", 0, seconds=9.0)])
    assert (state.word, state.sentence.split(",")[0]) == ("measured", "The paper's numbers are of other machines")


def test_bytes_are_told_in_megabytes():
    sent = [{"key": "bytes", "name": "MB", "of": "bytes", "observer": "server"}]
    figure = axis_figure(claim=[], measure=sent)
    (number, *_) = numbers(figure, [told("plain", 0, 1, bytes=148_404_944.0)])
    assert number.values == pytest.approx((148.404944,))
