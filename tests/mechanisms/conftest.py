"""Small networks, all of them, for brute force."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def every():
    spec = spec_from_file_location("every_network", Path(__file__).parent / "every_network.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
