"""One tree of seeds per trial, so that the same plan gives the same numbers on any number of workers."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


def branch(seed: np.random.SeedSequence, *path: int | str) -> np.random.SeedSequence:
    """The child of ``seed`` under a named path. Unlike ``spawn`` it does not depend on who asked before."""
    words = [part if isinstance(part, int) else _number(part) for part in path]
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *words))


def _number(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big")


def drawn_seed(rng: np.random.Generator) -> np.random.SeedSequence:
    """A root of its own, drawn from a generator."""
    return np.random.SeedSequence(rng.integers(2**63, size=2).tolist())


def integer(seed: np.random.SeedSequence) -> int:
    """A 63-bit integer for libraries that want one."""
    return int(seed.generate_state(1, np.uint64)[0] >> 1)


@contextmanager
def seeded(seed: np.random.SeedSequence) -> Iterator[None]:
    """Within the block torch's default generators follow ``seed``; afterwards they are as they were."""
    import torch  # here alone: most of what draws does so without torch

    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(integer(seed))
        yield
