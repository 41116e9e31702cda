"""Figures: what is drawn stands where its numbers say, whatever the names are."""

import re
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.audit.results.audit_result import Point
from gaudit.audit.statistics.finding import Finding
from gaudit.audit.statistics.rates import roc
from gaudit.audit.statistics.scored_subjects import ScoredSubjects
from gaudit.reports.figures.curve_chart import curve_chart
from gaudit.reports.figures.interval_chart import interval_chart
from gaudit.reports.figures.marks import SHAPES, Mark, marks
from gaudit.reports.figures.roc_chart import RocCurve, named_at, roc_chart
from gaudit.reports.figures.scales import linear, logarithmic
from gaudit.reports.figures.series_figure import series_figure
from gaudit.reports.figures.svg import element
from gaudit.reports.figures.timeline_chart import Course, timeline_chart
from support.small_experiment import axis_figure, told

EVIL = "\"><script>alert('1')</script>&"
CONTROL = Mark("none", "undefended", "control", "diamond")
DEFENSE = Mark("ldp", "ldp", "s0", "circle")
ALTERNATIVE = Mark("coin", "coin", "s1 alternative", "square")
MARKS = {"none": CONTROL, "ldp": DEFENSE, "coin": ALTERNATIVE}


def finding(estimate, half=0.02, metric="auc"):
    low, high = max(0.0, estimate - half), min(1.0, estimate + half)
    return Finding(metric, estimate, low, high, 0.95, "made up", "valid")


def point(family, strength, utility, leak, *, on_front=True, role="defense"):
    label = family if strength is None else f"{family}, epsilon {strength:g}"
    return Point(label, family, strength, finding(utility), finding(leak), on_front, role)


POINTS = [
    point("none", None, 0.82, 0.74, role="control"),
    point("ldp", 1.0, 0.60, 0.52),
    point("ldp", 10.0, 0.75, 0.60),
    point("ldp", 100.0, 0.80, 0.72, on_front=False),
    point("coin", None, 0.70, 0.61, on_front=False, role="alternative"),
]


def made_roc(leak=1.0, members=300, others=2000):
    rng = np.random.default_rng(0)
    truth = np.arange(members + others) < members
    return roc([ScoredSubjects(np.arange(len(truth)), rng.normal(size=len(truth)) + leak * truth, truth)])


CURVE = RocCurve("none", CONTROL, made_roc(), ((0.01, finding(0.1, metric="tpr@fpr=0.01")),))
GROUPS = [("degree", [("low", finding(0.55)), ("high", finding(0.8))]), (EVIL, [(EVIL, finding(0.6))])]
COURSES = [Course("none", CONTROL, {1: finding(0.6), 5: finding(0.7), 9: finding(0.75)})]

DRAWINGS = {
    "curve": lambda title: curve_chart("c", title, POINTS, MARKS),
    "roc": lambda title: roc_chart("r", title, [CURVE], 0.01),
    "intervals": lambda title: interval_chart("i", title, GROUPS, CONTROL, 0.5),
    "timeline": lambda title: timeline_chart("t", title, COURSES, "AUC", chance=0.5),
}


def read(drawing):
    return ElementTree.fromstring(str(drawing))


def places(path):
    """Vertices of a path of the commands M, L, H and V."""
    x = y = 0.0
    found = []
    for command, numbers in re.findall(r"([MLHV])([-\d. ]+)", path.get("d")):
        values = [float(v) for v in numbers.split()]
        x, y = {"H": (values[0], y), "V": (x, values[0])}.get(command, (values[0], values[-1]))
        found.append((x, y))
    return found


def of_class(drawing, name):
    return [e for e in read(drawing).iter() if name in (e.get("class") or "").split()]


def at(mark):
    x, y = re.fullmatch(r"translate\(([-\d.]+) ([-\d.]+)\)", mark.get("transform")).groups()
    return float(x), float(y)


@pytest.mark.parametrize("kind", DRAWINGS)
def test_a_figure_is_well_formed_and_says_what_it_shows(kind):
    drawn = read(DRAWINGS[kind](EVIL))
    assert drawn.get("role") == "img"
    title, summary = drawn.find("title"), drawn.find("desc")
    assert title.text == EVIL
    assert len(summary.text) > 40
    assert drawn.get("aria-labelledby").split() == [title.get("id"), summary.get("id")]


@pytest.mark.parametrize("kind", DRAWINGS)
def test_everything_is_drawn_within_the_figure(kind):
    drawn = read(DRAWINGS[kind]("a figure"))
    _, _, width, height = map(float, drawn.get("viewBox").split())
    for e in drawn.iter("path"):
        for x, y in [at(e)] if e.get("transform") else places(e):
            assert 0 <= x <= width
            assert 0 <= y <= height
    for e in drawn.iter("text"):
        length = 7 * len(e.text)  # letters are at most about so wide
        left = {"middle": -length / 2, "end": -length}.get(e.get("text-anchor"), 0)
        if e.get("transform") is None:
            assert float(e.get("x")) + left >= -4
            assert float(e.get("x")) + left + length <= width + 4


@pytest.mark.parametrize("kind", DRAWINGS)
def test_untrusted_names_stay_text(kind):
    assert "<script" not in DRAWINGS[kind](EVIL)


@given(st.text())
def test_text_and_attributes_are_escaped(text):
    clean = "".join(c for c in text if c.isprintable())
    made = ElementTree.fromstring(str(element("text", clean, class_=clean)))
    assert (made.text or "") == clean
    assert made.get("class") == clean


@given(st.lists(st.floats(0, 1), min_size=1))
def test_a_linear_axis_shows_all_values_and_no_impossible_ones(values):
    axis = linear(values, 100, 500, str)
    assert 0 <= axis.low <= min(values)
    assert max(values) <= axis.high <= 1
    marked = [axis(value) for value, _ in axis.ticks]
    assert marked[0] == pytest.approx(100)
    assert marked[-1] == pytest.approx(500)
    steps = {round(b - a, 3) for a, b in pairwise(marked)}
    assert len(steps) == 1
    assert len(marked) <= 9


@given(st.floats(0.0, 1.0))
def test_a_logarithmic_axis_begins_at_a_power_of_ten(lowest):
    axis = logarithmic(lowest, 0, 100)
    assert axis.low <= max(lowest, 1e-6)
    assert axis(1) == 100
    assert axis(0) == 0
    distances = [b - a for a, b in pairwise(axis(v) for v, _ in axis.ticks)]
    assert distances == pytest.approx([distances[0]] * len(distances))


def test_more_useful_is_higher_and_safer_is_further_left():
    marks = [at(e) for e in of_class(curve_chart("c", "", POINTS, MARKS), "point")]
    for one, (x, y) in zip(POINTS, marks, strict=True):
        for other, (u, v) in zip(POINTS, marks, strict=True):
            assert (one.leak.estimate < other.leak.estimate) == (x < u)
            assert (one.utility.estimate > other.utility.estimate) == (y < v)


def test_every_point_has_both_intervals_around_it():
    drawing = curve_chart("c", "", POINTS, MARKS)
    bars = [places(e) for e in of_class(drawing, "interval")]
    for place in (at(e) for e in of_class(drawing, "point")):
        level = [b for b in bars if b[0][1] == b[1][1] == place[1] and b[0][0] < place[0] < b[1][0]]
        upright = [b for b in bars if b[0][0] == b[1][0] == place[0] and b[1][1] < place[1] < b[0][1]]
        assert level
        assert upright


def test_the_front_joins_the_points_that_nothing_beats():
    drawing = curve_chart("c", "", POINTS, MARKS)
    marks = [at(e) for e in of_class(drawing, "point")]
    (front,) = of_class(drawing, "front")
    assert places(front) == sorted(m for m, p in zip(marks, POINTS, strict=True) if p.on_front)


def test_roles_differ_without_colour():
    drawing = curve_chart("c", "", POINTS, MARKS)
    shapes = {e.get("class"): e.get("d") for e in of_class(drawing, "point")}
    assert len(set(shapes.values())) == len(MARKS)
    assert set(shapes.values()) <= set(SHAPES.values())


def test_many_defenses_still_look_different():
    names = [f"d{i}" for i in range(16)]
    outcomes = [SimpleNamespace(defense="none", alternative=False, phrase="undefended")]
    outcomes += [SimpleNamespace(defense=n, alternative=i % 4 == 3, phrase=n) for i, n in enumerate(names)]
    looks = marks(SimpleNamespace(outcomes=outcomes))
    assert next(iter(looks)) == "none"
    assert len({(m.shape, m.class_) for m in looks.values()}) == len(looks)
    assert {n for n, m in looks.items() if "alternative" in m.class_} == set(names[3::4])
    hollow = {SHAPES[m.shape] for m in looks.values() if "alternative" in m.class_}
    assert all(path.endswith("Z") for path in hollow)  # closed, so that empty and filled can be told apart


def test_rows_of_a_drawn_table_look_different():
    rows = [{"name": f"row {i}", "target": "fedavg"} for i in range(36)]
    figure = axis_figure(row=rows, claim=[])
    drawing = series_figure(figure, [told(row["name"], 0, 1, accuracy=0.5) for row in rows])
    assert len(set(re.findall(r'<path d="([^"]+)"[^>]*class="point (s\d)"', drawing))) == len(rows)


def test_strengths_are_written_where_they_do_not_collide():
    crowd = [point("ldp", float(s), 0.8 + s / 1e4, 0.6 + s / 1e4) for s in range(30)]
    written = of_class(curve_chart("c", "", crowd, {"ldp": DEFENSE}), "strength")
    assert written
    boxes = []
    for label in written:
        x, y, length = float(label.get("x")), float(label.get("y")), 7 * len(label.text)
        left = x - length if label.get("text-anchor") == "end" else x
        boxes.append((left, y - 9, left + length, y))
    for i, a in enumerate(boxes):
        assert not any(a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3] for b in boxes[:i])
    apart = of_class(curve_chart("c", "", POINTS, MARKS), "strength")
    assert [e.text for e in apart] == ["1", "10", "100"]


def test_the_drawn_roc_never_lies_above_the_measured_one():
    drawing = roc_chart("r", "", [CURVE], 0.01)
    (drawn,) = of_class(drawing, "curve")
    (zone,) = of_class(drawing, "unmeasured")
    left = float(zone.get("x"))
    right = max(x for x, _ in places(drawn))
    (diagonal,) = of_class(drawing, "chance")
    (_, bottom), (_, top) = places(diagonal)
    low = logarithmic(CURVE.roc.measurable / 2, 0, 1).low
    decades = -np.log10(low)
    assert all(a[0] == b[0] or a[1] == b[1] for a, b in pairwise(places(drawn)))  # steps: nothing interpolated
    for x, y in places(drawn):
        fpr = 10 ** (decades * ((x - left) / (right - left) - 1))
        tpr = 10 ** (decades * ((bottom - y) / (bottom - top) - 1))
        slack = 10 ** (decades * 0.11 / 330)  # coordinates have one decimal
        assert tpr <= max(named_at(CURVE.roc, fpr * slack), low) * slack


def test_what_cannot_be_measured_is_shaded():
    def width(others):
        curve = replace(CURVE, roc=made_roc(others=others))
        (zone,) = of_class(roc_chart("r", "", [curve], 0.01), "unmeasured")
        return float(zone.get("width"))

    assert width(200) > width(2000) > 0
    assert "not measurable" in " ".join(
        e.text for e in of_class(roc_chart("r", "", [replace(CURVE, roc=made_roc(others=200))], 0.01), "tick")
    )


def test_a_rate_that_was_not_measured_is_not_drawn():
    unknown = Finding("tpr@fpr=0.001", None, None, None, 0.95, "none", "indicative", "too few")
    with_it = roc_chart("r", "", [replace(CURVE, rates=(*CURVE.rates, (0.001, unknown)))], 0.01)
    assert len(of_class(with_it, "point")) == len(CURVE.rates)
    assert "not measurable" in read(with_it).find("desc").text


def test_groups_are_ordered_as_given_and_stand_by_their_numbers():
    drawing = interval_chart("i", "", GROUPS, CONTROL, 0.5)
    marks = [at(e) for e in of_class(drawing, "point")]
    assert [y for _, y in marks] == sorted(y for _, y in marks)
    assert marks[0][0] < marks[2][0] < marks[1][0]


def test_rounds_run_from_left_to_right():
    marks = [at(e) for e in of_class(timeline_chart("t", "", COURSES, "AUC", chance=0.5), "point")]
    assert [x for x, _ in marks] == sorted(x for x, _ in marks)
    assert [y for _, y in marks] == sorted((y for _, y in marks), reverse=True)
