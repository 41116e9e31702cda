"""Every registered target sends what it says, and asks what attacks can answer."""

import pytest

from support import registry_controls as controls


@pytest.mark.parametrize("name", controls.ours("targets"))
def test_what_is_seen_of_a_run_is_declared_and_named(name):
    controls.check_messages(name)


@pytest.mark.parametrize("name", controls.ours("targets"))
def test_every_game_has_both_truths_and_an_attack_with_a_control(name):
    controls.check_games(name)
