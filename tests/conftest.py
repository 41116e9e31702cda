"""Set-up that all tests share."""

import gc
import os
from collections.abc import Generator, Iterator
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: two test processes share the machine

import pytest
import torch
from hypothesis import settings

from support.forked_shell import Shell, forked_shell

torch.set_num_threads(1)

pytest_plugins = ["support.turns", "support.upload_worlds"]  # which tests run; fixtures of several rooms

# the same examples every time, no files left behind, no time limit for a first call that imports torch
settings.register_profile("gaudit", derandomize=True, database=None, deadline=None)
settings.load_profile("gaudit")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests stay until the end: whoever looks for garbage need not go through them each time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def gaudit_data() -> Path:
    """The folder with downloaded datasets (PyG's raw layout) that GAUDIT_DATA names."""
    folder = os.environ.get("GAUDIT_DATA")
    if not folder:
        pytest.skip("GAUDIT_DATA names no folder with downloaded datasets")
    if not Path(folder).is_dir():
        pytest.skip(f"GAUDIT_DATA names {folder}, which is no folder")
    return Path(folder)


@pytest.fixture(scope="session")
def shell() -> Iterator[Shell]:
    """A shell in which commands start at once; one for all files, since its server imports all of gaudit."""
    with forked_shell() as made:
        yield made


@pytest.fixture(autouse=True, scope="session")
def no_lines_of_progress():
    """Error streams hold what a test is about, however slow the machine: a line every half minute is not."""
    from gaudit.reports.console import progress

    progress.EVERY = 1e6
