"""Attacks in a process of their own, which never held a truth."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...registry import find
from ...targets.game import Knowledge
from ...targets.transcript import View
from ..running.trial import use_one_thread
from .planted_runs import Mounted

if TYPE_CHECKING:
    from joblib.externals.loky import ProcessPoolExecutor

Told = tuple[np.ndarray, np.ndarray]
"""Blind scores and scores."""


@cache
def _process() -> ProcessPoolExecutor:
    """One process for all attacks: it is told what attacks are told, and nothing else."""
    from joblib.externals.loky import ProcessPoolExecutor

    return ProcessPoolExecutor(max_workers=1, initializer=use_one_thread)


def scores_apart(name: str, attack: Mounted) -> Told:
    """What an attack says where its view, its knowledge and its seed are all that there is; blind scores first."""
    settings = attack.attack.settings.model_dump()
    asked = (name, settings, attack.view, attack.knowledge, attack.seed, [str(Path.cwd()), *sys.path])
    told: Told = _process().submit(_scores, *asked).result()
    return told


def _scores(
    name: str,
    settings: dict[str, Any],
    view: View,
    knowledge: Knowledge,
    seed: np.random.SeedSequence,
    path: list[str],
) -> Told:
    sys.path[:] = dict.fromkeys([*sys.path, *path])
    kind = find("attacks", name)
    blind = kind(**settings).blind(knowledge, seed).score
    return blind, kind(**settings)(view, knowledge, seed).score
