"""Randomness that is nobody's: what follows from it follows from no seed."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def other_coins(seed: int) -> Iterator[None]:
    """Within the block the generators that a whole process shares start elsewhere; after it they are as before."""
    python, arrays = random.getstate(), np.random.get_state()  # noqa: NPY002  # theirs, if they use it
    with torch.random.fork_rng(devices=[]):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        torch.manual_seed(seed)
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(arrays)  # noqa: NPY002
