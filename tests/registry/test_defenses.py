"""Every registered defense keeps what it guarantees, and runs where its trivial alternative does."""

import pytest

from support import registry_controls as controls


@pytest.mark.parametrize("name", controls.ours("defenses"))
def test_what_is_guaranteed_is_there(name):
    controls.check_guarantee(name)


@pytest.mark.parametrize("name", controls.ours("defenses"))
def test_defense_and_its_trivial_alternative_run_in_the_same_place(name):
    controls.check_alternative(name)
