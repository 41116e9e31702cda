"""Every registered attack finds what is planted for it, and nothing where nothing leaks."""

import pytest

from support import registry_controls as controls


@pytest.mark.parametrize("name", controls.ours("attacks"))
def test_what_is_planted_is_found(name):
    controls.check_planted_is_found(name)


@pytest.mark.parametrize("name", controls.ours("attacks"))
def test_nothing_is_found_of_a_truth_that_is_independent_of_the_run(name):
    controls.check_null(name)


@pytest.mark.parametrize("name", controls.ours("attacks"))
def test_scores_beside_a_permuted_truth_are_at_chance(name):
    controls.check_scoring(name)
