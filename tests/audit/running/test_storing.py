"""Trial results as bytes: what comes back, and that nothing else is taken for one."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save

from gaudit.audit.planning.grid import laid_out, versions
from gaudit.audit.planning.plan import Plan
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.running.serialization import ACCUSED, HEADER, _digest, dumps, dumps_plan, loads, loads_plan
from gaudit.audit.running.trial import Attacked, TrialResult, run_trial
from gaudit.audit.statistics.accused import UNSAID, Accused
from gaudit.audit.statistics.scored_subjects import ScoredSubjects
from gaudit.errors import InputError, visible
from gaudit.targets.target import Utility
from gaudit.targets.transcript import Exposure

CONTENT = {
    "datasets": ["karate"],
    "seeds": 1,
    "target": [{"name": "classifier", "settings": {"recipe": {"hidden": 8, "epochs": 20}, "in_question": 1.0}}],
    "defense": [{"name": "label-noise", "strengths": [1.0]}],
    "attack": [{"name": "loss"}, {"name": "lira", "settings": {"shadows": 4}}, {"name": "nearest"}],
}


@pytest.fixture(scope="module")
def grid():
    return laid_out(Plan.of(CONTENT, "test"))


@pytest.fixture(scope="module")
def real(grid) -> TrialResult:
    return run_trial(grid.tasks[1].plan, grid.graphs["karate"])


def same_array(one: np.ndarray, two: np.ndarray) -> bool:
    """Types, shapes and every bit, NaN included; texts may be stored wider."""
    if one.dtype.kind == "U":
        return two.dtype.kind == "U" and np.array_equal(one, two)
    return one.dtype == two.dtype and one.shape == two.shape and one.tobytes() == two.tobytes()


def same_judged(one: ScoredSubjects, two: ScoredSubjects) -> bool:
    parts = ("subjects", "score", "truth", "strata", "clusters")
    pairs = [(getattr(one, part), getattr(two, part)) for part in parts]
    return all(a is b is None or same_array(a, b) for a, b in pairs)


def same_accused(one: Accused | None, two: Accused | None) -> bool:
    if one is None or two is None:
        return one is two
    return one.members == two.members and all(same_array(getattr(one, p), getattr(two, p)) for p in ACCUSED)


def same_attacked(one: Attacked, two: Attacked) -> bool:
    assert one.plan.identity == two.plan.identity
    assert (one.round, one.knowledge, one.game, one.accuracies) == (
        *(two.round, two.knowledge, two.game, two.accuracies),
    )
    for name in ("groups", "attributes", "baselines"):
        assert set(getattr(one, name)) == set(getattr(two, name))
    return (
        same_accused(one.accused, two.accused)
        and same_judged(one.judged, two.judged)
        and same_judged(one.blind, two.blind)
        and all(same_array(mask, two.groups[name]) for name, mask in one.groups.items())
        and all(same_array(labels, two.attributes[name]) for name, labels in one.attributes.items())
        and all(same_judged(judged, two.baselines[name]) for name, judged in one.baselines.items())
    )


def same(one: TrialResult, two: TrialResult) -> bool:
    """All that a result holds; a plan's settings as they are written down."""
    for result in (one, two):
        assert result.plan.make_target().settings == one.plan.make_target().settings
        assert result.plan.make_defense().settings == one.plan.make_defense().settings
        assert [a.identity for a in result.plan.attacks] == [a.identity for a in one.plan.attacks]
    rest = ("target", "defense", "seed", "index", "timeline", "transcript")
    assert [getattr(one.plan, name) for name in rest] == [getattr(two.plan, name) for name in rest]
    rest = ("chosen", "refused", "exposure", "notes", "tested", "transfer", "figures")
    assert [getattr(one, name) for name in rest] == [getattr(two, name) for name in rest]
    assert [repr(u) for u in one.utilities] == [repr(u) for u in two.utilities]  # NaN is like NaN
    assert len(one.attacked) == len(two.attacked)
    return all(map(same_attacked, one.attacked, two.attacked))


def test_a_real_result_comes_back(real):
    again = loads(dumps(real))
    assert same(real, again)
    assert [a.plan.name for a in again.attacked] == ["loss", "lira"]
    assert again.attacked[1].accuracies is not None
    assert set(again.refused) == {"nearest"}
    assert again.exposure
    assert np.isnan(again.utility.validation)
    assert {labels.dtype.kind for labels in again.attacked[0].attributes.values()} == {"U"}
    assert dumps(again) == dumps(real)


def test_equal_results_give_equal_bytes_and_others_do_not(grid, real):
    again = run_trial(grid.tasks[1].plan, grid.graphs["karate"])
    assert dumps(again) == dumps(real)
    other = run_trial(grid.tasks[2].plan, grid.graphs["karate"])
    assert dumps(other) != dumps(real)
    moved = real.attacked[0].judged.score.copy()
    moved[3] = np.nextafter(moved[3], np.inf)
    judged = replace(real.attacked[0].judged, score=moved)
    nearly = replace(real, attacked=(replace(real.attacked[0], judged=judged), *real.attacked[1:]))
    assert dumps(nearly) != dumps(real)
    assert not same(nearly, loads(dumps(real)))


def test_figures_come_back_and_older_results_have_none(real):
    figures = {"density": 0.25, "homophily": 1.5}
    assert loads(dumps(replace(real, figures=figures))).figures == figures
    assert np.isnan(loads(dumps(replace(real, figures={"none": float("nan")}))).figures["none"])
    header = described(real)
    del header["figures"]
    assert loads(with_header(real, json.dumps(header).encode())).figures == {}


def test_equal_arrays_are_stored_once(real):
    first = real.attacked[0]
    twice = replace(real, attacked=(first, first, first))
    once = replace(real, attacked=(first,))
    arrays = {name for name in load(dumps(once)) if not name.startswith(HEADER)}
    assert arrays == {name for name in load(dumps(twice)) if not name.startswith(HEADER)}


TEXTS = st.text(max_size=8).map(visible)
"""What cannot be seen is replaced when it is read."""
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
LABELS = st.sampled_from([["low", "high"], [0, 1, 7], [True, False], ["", "é", "a longer label"], [0.5, 1.5]])


@st.composite
def judgements(draw, size):
    score = draw(st.lists(NUMBERS, min_size=size, max_size=size))
    truth = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    labels = st.none() | st.lists(st.integers(0, 3), min_size=size, max_size=size).map(np.array)
    known = np.arange(size) * 3, np.array(score, dtype=np.float64), np.array(truth, dtype=bool)
    return ScoredSubjects(*known, strata=draw(labels), clusters=draw(labels))


@st.composite
def attacks(draw):
    size = draw(st.integers(1, 6))
    masks = st.lists(st.booleans(), min_size=size, max_size=size).map(lambda m: np.array(m, dtype=bool))
    labels = LABELS.flatmap(lambda kind: st.lists(st.sampled_from(kind), min_size=size, max_size=size))
    return Attacked(
        AttackPlan(
            draw(st.sampled_from(["loss", "blind"])), observer=draw(st.sampled_from(["public", "client:3"]))
        ),
        draw(st.integers(-1, 500)),
        draw(judgements(size)),
        draw(judgements(size)),
        draw(st.dictionaries(TEXTS, masks, max_size=2)),
        draw(TEXTS),
        draw(st.sampled_from(["label-membership", "node-presence"])),
        draw(st.dictionaries(TEXTS, judgements(size), max_size=2)),
        draw(st.dictionaries(TEXTS, labels.map(np.array), max_size=2)),
        draw(st.none() | st.tuples(st.floats(0, 1), st.floats(0, 1))),
        accused=draw(st.none() | accusations(size)),
    )


@st.composite
def accusations(draw, size):
    def of(kind, dtype):
        return np.array(draw(st.lists(kind, min_size=size, max_size=size)), dtype=dtype)

    right, told = of(st.booleans(), bool), st.integers(UNSAID, 1)
    return Accused(
        np.arange(size) * 3,
        right,
        of(told, np.int8),
        of(told, np.int8),
        of(st.booleans(), bool),
        of(st.integers(0, 4), np.int64),
        int(right.sum()) + draw(st.integers(0, 3)),
    )


SHARES = st.floats(0, 1) | st.just(float("nan"))
ROWS = st.builds(
    Exposure,
    TEXTS,
    TEXTS,
    st.integers(0, 9),
    st.integers(0, 2**40),
    st.integers(-1, 9),
    st.integers(0, 9),
    st.booleans(),
)
RESULTS = st.builds(
    TrialResult,
    st.builds(
        TrialPlan,
        st.just("classifier"),
        st.sampled_from([{}, {"recipe": {"hidden": 4}, "publish": ("model",)}]),
        st.just("label-noise"),
        st.sampled_from([{}, {"epsilon": 3.0}]),
        st.just((AttackPlan("loss"),)),
        st.integers(0, 2**70),
        st.integers(0, 9),
        st.booleans(),
    ),
    st.lists(st.builds(Utility, st.integers(0, 9), SHARES, SHARES, SHARES), min_size=1, max_size=3).map(tuple),
    st.just(0),
    st.lists(attacks(), max_size=2).map(tuple),
    st.dictionaries(TEXTS, TEXTS, max_size=2),
    st.lists(ROWS, max_size=2).map(tuple),
    st.lists(TEXTS, max_size=2).map(tuple),
    st.integers(0, 10**6),
    st.dictionaries(TEXTS, st.floats(0, 1), max_size=2),
    figures=st.dictionaries(TEXTS, NUMBERS, max_size=2),
)


@given(RESULTS)
def test_any_result_comes_back(result):
    content = dumps(result)
    again = loads(content)
    assert same(result, again)
    assert dumps(again) == content


def test_figures_come_back_and_one_without_a_number_too(real):
    told = {"density, rebuilt": 0.05, "homophily, rebuilt": float("nan")}
    again = loads(dumps(replace(real, figures=told))).figures
    assert again["density, rebuilt"] == 0.05
    assert np.isnan(again["homophily, rebuilt"])


def test_a_result_that_was_written_before_there_were_figures_is_read(real):
    header = described(real)
    del header["figures"]
    assert loads(with_header(real, json.dumps(header).encode())).figures == {}


# --- what is no result


@given(st.binary(max_size=200))
def test_garbage_is_refused(content):
    with pytest.raises(InputError, match="it does not hold a trial's result"):
        loads(content)


@settings(max_examples=300)
@given(st.data())
def test_a_changed_result_is_refused(real, data):
    content = bytearray(dumps(real))
    place = data.draw(st.integers(0, len(content) - 1))
    how = data.draw(st.sampled_from(["flip", "cut", "drop", "double"]))
    if how == "flip":
        content[place] ^= 1 << data.draw(st.integers(0, 7))
    elif how == "cut":
        del content[place:]
    elif how == "drop":
        del content[place]
    else:
        content.insert(place, content[place])
    with pytest.raises(InputError, match="it does not hold a trial's result"):
        loads(bytes(content))


def with_header(real: TrialResult, header: bytes, keep: bool = True) -> bytes:
    """The arrays of a result with another description, which is digested as it should be."""
    arrays = {name: array for name, array in load(dumps(real)).items() if keep and not name.startswith(HEADER)}
    described = np.frombuffer(header, np.uint8)
    return save(arrays | {HEADER + _digest(described): described})


def described(real: TrialResult) -> dict:
    (header,) = (array for name, array in load(dumps(real)).items() if name.startswith(HEADER))
    return json.loads(header.tobytes())


@pytest.mark.parametrize(
    "header",
    [
        *(b"", b"{", b"[]", b"{}", b"null", b"3", b'"text"', b"\xff\xfe", b"[" * 100_000, b'{"plan": null}'),
        b'{"chosen": Infinity}',
    ],
    ids=lambda header: repr(header[:12]),
)
def test_another_description_is_refused(real, header):
    with pytest.raises(InputError, match="it does not hold a trial's result"):
        loads(with_header(real, header))


@pytest.mark.parametrize("value", [None, 3, "text", [], {}, [3], {"a": 3}, float("inf"), [None]])
def test_a_description_with_a_part_of_another_kind_is_refused_or_harmless(real, value):
    """Whoever makes a ledger by hand gets an error, and no other exception."""
    content = described(real)
    for key in content:
        other = with_header(real, json.dumps({**content, key: value}).encode())
        try:
            loads(other)
        except InputError as error:
            assert "it does not hold a trial's result" in str(error)  # noqa: PT017  (either is right)


@pytest.mark.parametrize("nodes", [10**12, 2**31 + 1, 3, 0, -5])
def test_pairs_of_more_or_fewer_nodes_than_there_can_be_are_refused(real, nodes):
    """They would take memory by their number, which a forger may write as it likes."""
    content = described(real)
    content["attacked"][0]["judged"]["nodes"] = nodes
    with pytest.raises(InputError, match="subjects are no pairs of nodes"):
        loads(with_header(real, json.dumps(content).encode()))


@pytest.mark.parametrize("share", [50.0, -0.1])
def test_a_utility_that_is_no_share_is_refused(real, share):
    content = described(real)
    content["utilities"][0]["test"] = share
    with pytest.raises(InputError, match="a utility is a share between 0 and 1"):
        loads(with_header(real, json.dumps(content).encode()))


def test_a_description_of_arrays_that_are_not_there_is_refused(real):
    header = json.dumps(described(real)).encode()
    assert same(loads(with_header(real, header)), real)
    with pytest.raises(InputError):
        loads(with_header(real, header, keep=False))


# --- plans


def test_a_plan_comes_back_with_its_trials(grid):
    plan = Plan.of(CONTENT, "test")
    again, trials, used = loads_plan(dumps_plan(plan, grid))
    assert (again, used) == (plan, versions())
    assert (trials.cells, trials.fingerprint, trials.graphs) == (grid.cells, grid.fingerprint, {})
    assert [(t.key, t.cell, t.dataset, t.title) for t in trials.tasks] == [
        (t.key, t.cell, t.dataset, t.title) for t in grid.tasks
    ]
    assert [t.plan.make_target().settings for t in trials.tasks] == [
        t.plan.make_target().settings for t in grid.tasks
    ]
    assert dumps_plan(again, trials) == dumps_plan(plan, grid)


@given(st.data())
def test_a_plan_that_has_changed_is_refused(grid, data):
    content = dumps_plan(Plan.of(CONTENT, "test"), grid)
    place = data.draw(st.integers(0, len(content) - 1))
    letter = data.draw(st.characters(codec="utf-8"))
    changed = content[:place] + letter + content[place + 1 :]
    if changed != content:
        with pytest.raises(InputError, match="its plan cannot be read"):
            loads_plan(changed)


@given(st.text(max_size=60))
def test_a_text_that_is_no_plan_is_refused(text):
    with pytest.raises(InputError, match="its plan cannot be read"):
        loads_plan(text)
