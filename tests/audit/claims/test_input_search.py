"""The search of inputs and events: it finds errors that the given inputs do not show, and accuses nobody.

A check at 99.9 % accuses a sound mechanism at most once in a thousand times; seeds are fixed.
"""

import networkx
import numpy as np
import pytest

from gaudit.audit.claims.claim_check import check_claim
from gaudit.audit.claims.near_inputs import near_inputs
from gaudit.audit.claims.released_numbers import Columns
from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.mechanisms.guarantee import Guarantee
from gaudit.mechanisms.mechanism import Mechanism
from gaudit.registry import find
from support import sound_mechanisms
from support.broken.families import counts, networks, responses, tables, uploads
from support.broken.families.claimed import Claimed

SOUND = [k for k in vars(sound_mechanisms).values() if getattr(k, "__module__", "") == sound_mechanisms.__name__]
FOUND = [
    (counts.HalfNoise, 1.0),
    (counts.RoundedBeforeNoise, 1.0),
    (counts.SeedFromData, 4.0),
    (tables.SharedNoise, 4.0),
    (tables.EmptyCellsLeftOut, 1.0),
    (tables.LocalMedian, 1.0),
    (responses.OneSided, 4.0),
    (networks.HubsToldExactly, 1.0),
    (networks.LocalTriangles, 1.0),
    (uploads.NoiseInOneSubspace, 4.0),
]
"""Some of those that `benchmarks/claims.py found` tries, which need fewer runs than most."""
RUNS = 3000
TEMPTING = [
    sound_mechanisms.CategoryForAll,
    sound_mechanisms.FlippedBit,
    sound_mechanisms.TwoValued,
    sound_mechanisms.ExponentialMedian,
    sound_mechanisms.PublicBound,
    sound_mechanisms.StableHistogram,
]
"""Sound ones that inputs beyond what they take would accuse."""


@pytest.mark.parametrize(("kind", "epsilon"), FOUND, ids=lambda x: getattr(x, "name", None))
def test_error_that_the_given_inputs_may_hide_is_found(kind, epsilon):
    check = check_claim(kind(epsilon=epsilon), RUNS, 0, level=0.999, search=True)
    assert check.refuted, check.sentence()
    assert "Shown on these inputs" in check.sentence()


@pytest.mark.parametrize("kind", SOUND, ids=lambda kind: kind.name)
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_odd_but_sound_mechanism_is_not_accused(kind, epsilon):
    """Thirty checks in all, of which 0.03 false alarms may be expected."""
    check = check_claim(kind(epsilon=epsilon), 1500, 0, level=0.999)
    assert not check.refuted, check.sentence()


@pytest.mark.parametrize("kind", TEMPTING, ids=lambda kind: kind.name)
def test_search_makes_no_inputs_that_accuse_a_sound_mechanism(kind):
    check = check_claim(kind(epsilon=1.0), 1500, 0, level=0.999, search=True)
    assert not check.refuted, check.sentence()


@pytest.mark.dear
@pytest.mark.parametrize("name", ["degree-sequence"])
def test_registered_mechanism_is_not_accused_by_a_search(name):
    check = check_claim(find("mechanisms", name)(epsilon=1.0), 400, 0, level=0.999, search=True)
    assert not check.refuted, check.sentence()


def test_same_seed_same_inputs_and_bound():
    one, again = (
        check_claim(tables.EmptyCellsLeftOut(epsilon=1.0), 500, 3, level=0.99, search=True).json() for _ in range(2)
    )
    assert one == again


# --- each run is a new instance on untouched data


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize(
    "kind", [sound_mechanisms.PermanentResponse, sound_mechanisms.RememberedByTheClass], ids=lambda kind: kind.name
)
def test_response_that_is_remembered_is_judged_by_one_run(kind, epsilon):
    """Twenty checks, each of which an answer remembered over all runs would refute."""
    mechanism = kind(epsilon=epsilon)
    checks = [check_claim(mechanism, 1000, seed, level=0.999) for seed in range(10)]
    assert not any(check.refuted for check in checks)
    assert min(check.measured.low for check in checks) > 0.5 * epsilon  # it does see the answers
    assert not mechanism.memory


# --- scores that are said to be normal


class Normal(Claimed):
    """Normal noise of a deviation that may depend on the data."""

    name = "normal"
    delta = 1e-5
    gaussian = True
    far = 1.0

    def inputs(self):
        return 0.0, 1.0

    def release(self, data, rng):
        return data * 0.01 + (self.far if data else 1.0) * rng.standard_normal()


class NormalOfDataDependentDeviation(Normal):
    name = "normal-of-data-dependent-deviation"
    far = 3.0


def test_laplace_that_is_called_gaussian_is_not_accused():
    mechanism = sound_mechanisms.LaplaceCalledGaussian(epsilon=1.0)
    for runs in (100, 400, 2000):
        for seed in range(10):
            check = check_claim(mechanism, runs, seed, level=0.999)
            assert not check.refuted, check.sentence()
            assert "though it is said to be Gaussian" in check.measured.note


def test_deviation_that_depends_on_the_data_is_refuted():
    for seed in range(5):
        check = check_claim(NormalOfDataDependentDeviation(epsilon=1.0), 4000, seed, level=0.999)
        assert check.refuted, check.sentence()
    assert not check_claim(Normal(epsilon=1.0), 4000, 0, level=0.999).refuted
    assert check_claim(Normal(epsilon=1.0), 4000, 0, level=0.999).ceiling is None


@pytest.mark.parametrize("runs", [50, 200, 2000])
def test_gaussian_noise_at_delta_zero_is_refused_whatever_the_runs(runs):
    class Pure(Normal):
        name = "pure"
        delta = 0.0

    for search in (False, True):
        with pytest.raises(InputError, match="keeps no epsilon at delta 0"):
            check_claim(Pure(epsilon=1.0), runs, 0, search=search)


# --- what so many runs can show


class Raw(Claimed):
    """No noise at all."""

    name = "raw"

    def inputs(self):
        return 3, 4

    def release(self, data, rng):
        return data


@pytest.mark.parametrize("epsilon", [5.0, 8.0])
def test_claim_above_the_ceiling_does_not_pass(epsilon):
    with pytest.raises(InputError, match=r"cannot show more than epsilon 4\.88") as caught:
        check_claim(Raw(epsilon=epsilon), 2000, 0, level=0.999)
    assert "\n" not in str(caught.value)


@pytest.mark.dear
@pytest.mark.parametrize("epsilon", [1.0, 4.0, 8.0])
def test_usual_runs_can_show_more_than_is_claimed(epsilon):
    check = check_claim(Raw(epsilon=epsilon), None, 0, level=0.999)
    assert check.refuted
    assert check.measured.low == pytest.approx(check.ceiling)
    assert check.ceiling > epsilon + 0.9


def test_mechanism_without_a_score_is_judged_by_a_learned_one():
    class Unscored(counts.HalfNoise):
        name = "unscored"
        score = Mechanism.score

    assert check_claim(Unscored(epsilon=1.0), 4000, 0, level=0.999).refuted


# --- inputs that are made


def made(given, unit="node", adjacency="add/remove", model="central", public=(), moves=True):
    claim = Guarantee(unit, adjacency, model, 1.0, public=public)
    return near_inputs(given, claim, np.random.default_rng(0), lambda before, after: moves, 60)


def test_networks_differ_in_one_edge_or_one_node():
    path = Network.from_edges(5, [0, 1], [1, 2]), Network.from_edges(5, [0, 1, 2], [1, 2, 3])
    for one, other in made(path, "edge"):
        assert one.nodes == other.nodes == 5
        assert len(set(one.codes) ^ set(other.codes)) == 1
        assert other.size == one.size + 1
    grown = Network.from_edges(4, [0], [1]), Network.from_edges(5, [0, 4], [1, 1])
    pairs = made(grown)[1:]
    assert len(pairs) > 10
    for one, other in pairs:
        rest = networkx.Graph(other.edges.T.tolist())
        rest.remove_nodes_from([0])
        assert (one.nodes, other.nodes) == (4, 5)
        assert {(u - 1, v - 1) for u, v in map(sorted, rest.edges)} == set(map(tuple, one.edges.T.tolist()))


def test_degree_that_is_public_is_not_exceeded():
    path = Network.from_edges(6, [0, 1], [1, 2]), Network.from_edges(6, [0, 1, 2], [1, 2, 3])
    assert max(other.degrees.max() for _, other in made(path, "edge")) == 5
    bounded = made(path, "edge", public=("that no node has more than 2 neighbours",))
    assert max(other.degrees.max() for _, other in bounded) == 2


def test_records_are_of_values_that_occur():
    for shorter, longer in made(([0.2, 0.5], [0.2, 0.5, 0.9])):
        assert set(longer) <= {0.2, 0.5, 0.9}
        rest = list(longer)
        for value in shorter:
            rest.remove(value)
        assert len(rest) == 1


def test_numbers_move_only_where_releases_follow_and_never_further_apart():
    for moves in (True, False):
        pairs = made((np.array([3, 4, 5]), np.array([3, 6, 5])), moves=moves)
        assert all(np.abs(one - other).sum() <= 2 for one, other in pairs)
        assert (max(other.max() for _, other in pairs) > 6) == moves
    local = made((-1.0, 1.0), adjacency="replace", model="local")
    assert all(-1 <= value <= 1 for pair in local for value in pair)
    assert made((False, True)) == [(False, True)]


# --- what is read of a release


def test_columns_of_any_release():
    outputs = [None, {"a": 1.0}, {"a": 2.0, "b": "x"}, [1, 2], Network.from_edges(3, [0], [1]), {"a"}, 3 + 0j]
    columns = Columns.seen(outputs)
    told = columns.read(outputs)
    assert told.shape == (len(outputs), len(columns.names))
    assert len({row.tobytes() for row in told}) == len(outputs)
    assert columns.read([{"c": 1.0}])[0, columns.names.index("unknown parts")] == 1


def test_arrays_are_read_alike_whether_all_have_one_shape_or_not():
    """What is counted must be a matter of one release alone, whatever else is released."""
    for outputs in (
        [np.array([1.0, 2.0]), np.array([3.0, 5.0])],
        [(1.5, [2, np.array([3.0, 0.0])]), (2.5, [4, np.array([1.0, 7.0])])],
        [4, 5],
    ):
        columns = Columns.seen(outputs)
        whole, each = columns.read(outputs), columns.read([*outputs, None])[:2]
        assert whole.tolist() == each.tolist()
        assert whole[0].tolist() != whole[1].tolist()
