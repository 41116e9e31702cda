"""Tests that take long take turns: `--turn N` runs a third of those marked ``dear``, and another third at N + 1.

`.ci/run` counts days. Without the option all tests run. A plug-in of pytest.
"""

from zlib import crc32

import pytest

TURNS = 3
"""So many runs in a row see every test."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--turn", type=int, metavar="N", help="of tests marked dear, run those whose turn it is")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    turn = config.getoption("--turn")
    if turn is None:
        return
    waiting = {item for item in items if item.get_closest_marker("dear") and not has_its_turn(item.nodeid, turn)}
    config.hook.pytest_deselected(items=list(waiting))
    items[:] = [item for item in items if item not in waiting]


def has_its_turn(test: str, turn: int) -> bool:
    """Whether a test, by its name, belongs to a turn."""
    return crc32(test.encode()) % TURNS == turn % TURNS
