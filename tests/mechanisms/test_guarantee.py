"""Guarantees: what they refuse, how they add up, what they say."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.mechanisms.guarantee import Guarantee
from gaudit.mechanisms.public_inputs import drawable_epsilon, exact_epsilon, laplace_scale, linked, whole

EDGE = Guarantee("edge", "add/remove", "central", 0.1, 1e-6, "Gaussian noise", ("the number of nodes",))


@pytest.mark.parametrize("epsilon", [-1, float("nan"), float("inf"), Fraction(-1, 3)])
def test_epsilon_is_no_negative_number(epsilon):
    with pytest.raises(InputError, match=r"^epsilon is .*expected a finite number above 0.*[^\n]$"):
        replace(EDGE, epsilon=epsilon)


@pytest.mark.parametrize("epsilon", [0, 0.0, Fraction(0)])
def test_epsilon_of_what_is_not_read_is_0(epsilon):
    free = replace(EDGE, epsilon=epsilon, delta=0.0)
    assert (free.epsilon, free.repeated(3).epsilon, free.beside(EDGE).epsilon) == (0, 0, Fraction(1, 10))
    assert "no noise is needed" in free.sentence()
    assert "adds the noise" not in free.sentence()
    with pytest.raises(InputError, match="expected a finite number above 0"):
        exact_epsilon(epsilon)  # noise is drawn for none


@pytest.mark.parametrize("delta", [-1e-9, 1, 2.0, float("nan")])
def test_delta_is_a_probability_below_1(delta):
    with pytest.raises(InputError, match=r"^delta is .*expected a number from 0 to below 1"):
        replace(EDGE, delta=delta)


@pytest.mark.parametrize("wrong", [{"unit": "edges"}, {"adjacency": "swap"}, {"model": "shuffled"}])
def test_kinds_are_those_that_are_known(wrong):
    with pytest.raises(InputError, match="expected one of"):
        replace(EDGE, **wrong)


def test_epsilon_is_kept_as_it_is_written():
    assert EDGE.epsilon == Fraction(1, 10)
    assert replace(EDGE, epsilon=3).epsilon == 3
    tiny = Fraction(1, 3**60)
    assert replace(EDGE, epsilon=tiny).epsilon == tiny  # never less than was said


def test_basic_composition_is_exact():
    thrice = EDGE.repeated(3)
    assert (thrice.epsilon, thrice.delta) == (Fraction(3, 10), pytest.approx(3e-6))
    both = EDGE.beside(replace(EDGE, epsilon=0.2, delta=0.0, accountant="Laplace noise", public=("k",)))
    assert (both.epsilon, both.delta) == (Fraction(3, 10), 1e-6)
    assert both.accountant == "Gaussian noise; Laplace noise"
    assert both.public == ("the number of nodes", "k")
    assert EDGE.beside(EDGE) == EDGE.repeated(2)


@pytest.mark.parametrize("other", [{"unit": "node"}, {"adjacency": "replace"}, {"model": "local"}])
def test_guarantees_of_different_kinds_do_not_add_up(other):
    (name, value), kind = next(iter(other.items())), replace(EDGE, **other)
    with pytest.raises(InputError, match=f"{name} {getattr(EDGE, name)} and {name} {value} do not add up"):
        EDGE.beside(kind)


def test_deltas_that_add_up_to_1_are_no_guarantee():
    with pytest.raises(InputError, match="delta is"):
        replace(EDGE, delta=0.5).repeated(2)
    with pytest.raises(InputError, match="number of releases is 0"):
        EDGE.repeated(0)


def test_only_the_same_unit_compares():
    assert EDGE.compares_with("edge")
    assert not EDGE.compares_with("node")
    with pytest.raises(InputError, match="unit is 'person'"):
        EDGE.compares_with("person")


def test_the_sentence_names_all_that_matters():
    said = EDGE.sentence()
    for part in ("differ in one edge", "e^0.1", "1e-06", "edge-level", "add/remove", "central", "number of nodes"):
        assert part in said
    node = replace(EDGE, unit="node", delta=0.0, public=()).sentence()
    assert "one node with all its edges" in node
    assert "up to a probability" not in node


def test_noise_is_never_drawn_for_more_epsilon_than_was_given():
    for epsilon in (Fraction(1, 3**60) + Fraction(1, 7), Fraction(10**20 + 1, 10**20), Fraction(1, 3)):
        drawable = drawable_epsilon(epsilon)
        assert 0 <= epsilon - drawable < Fraction(1, 2**54)
        for sensitivity in (1, 4, 2**22 + 6):
            scale = laplace_scale(sensitivity, drawable)
            assert scale.numerator <= 2**60
            assert sensitivity / drawable <= scale <= sensitivity / drawable * (1 + Fraction(1, 2**50))
    assert drawable_epsilon(0.1) == exact_epsilon(np.float64(0.1)) == Fraction(1, 10)
    with pytest.raises(InputError, match="expected 2\\^-54 or more"):
        drawable_epsilon(Fraction(1, 2**60))


@pytest.mark.parametrize("wrong", [0, True, 2.0, 9, float("nan")])
def test_whole_numbers_have_limits(wrong):
    with pytest.raises(InputError, match=r"k is .*expected a whole number from 1 to 8"):
        whole("k", wrong, 1, 8)
    assert whole("k", np.int64(8), 1, 8) == 8


def test_edges_of_several_types_are_one_link():
    typed = Network.from_edges(3, [0, 0, 1], [1, 1, 2], types=np.array([0, 1, 0]))
    assert linked(typed).size == 2
    with pytest.raises(InputError, match="counts of edges"):
        linked(replace(typed, counts=np.zeros((1, 4), dtype=np.int64)))
    with pytest.raises(InputError, match="1 nodes: expected 2"):
        linked(Network.from_edges(1, [], []), 2)
