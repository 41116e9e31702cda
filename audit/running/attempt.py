"""One trial where it runs: in this process, in a worker beside it, or on another machine."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...attacks.membership.kept_pools import kept_in
from ...errors import InputError
from ...targets.models.model_ensemble import side_by_side
from ...targets.target import Progress, no_progress
from ..games.knowledge_cache import KnowledgeCache
from ..planning.grid import PlannedTrial
from .safe_path import usual_path
from .serialization import dumps
from .time_limit import TooLongError, time_limit
from .trial import run_trial, use_one_thread

if TYPE_CHECKING:
    from torch_geometric.data import Data

Report = Callable[[str, str, int, int], None]
"""Called with a trial's title, the name of a stage, steps done and steps in all."""
ELSEWHERE = 0
"""In the place of a process on another machine."""
MOST_GROWTH = 4 * 2**30
"""Bytes by which a worker may grow before loky starts it anew: its shadow models would be lost."""
LOST = "its worker process was killed, perhaps for memory: give the machine more, or use fewer workers"


def threads_of(trials: int, workers: int) -> int:
    """How many of the workers each trial gets for its shadow models, where there are fewer trials than workers."""
    return max(1, workers // max(trials, 1))


@dataclass(frozen=True)
class Done:
    """What came of a trial: a result or a reason why there is none, and the CPU seconds it took."""

    key: str
    result: bytes | None
    reason: str | None
    seconds: float


def attempt(
    task: PlannedTrial,
    data: Data,
    audit: str,
    owner: int,
    limit: float | None = None,
    report: Report | None = None,
    pools: str | None = None,
    threads: int = 1,
) -> Done:
    """Runs one trial; whatever goes wrong in it is its result.

    Args:
        task: the trial.
        data: its graph.
        audit: fingerprint of the audit, so that nothing is shared between two.
        owner: the process that waits for the result, or `ELSEWHERE`; when it is gone, this one stops.
        limit: seconds that the trial may take; without end by default.
        report: called as it gets on.
        pools: a folder in which the processes of a run keep shadow models for each other.
        threads: how many shadow models it trains at once, one a thread.
    """
    from joblib.externals.loky import process_executor

    _stop_with(owner)
    if os.getpid() != owner:
        usual_path()
    process_executor._MAX_MEMORY_LEAK_SIZE = MOST_GROWTH
    use_one_thread()
    start = time.process_time()
    try:
        with time_limit(limit), kept_in(pools), side_by_side(threads):
            result = run_trial(task.plan, data, _progress(task, report), cache=_shared(task, data, audit))
        return Done(task.key, dumps(result), None, time.process_time() - start)
    except (InputError, TooLongError) as error:
        reason = str(error)
    except Exception as error:  # a trial that fails does not stop the others
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"  # one line, whatever it says
    return Done(task.key, None, reason, time.process_time() - start)


def _progress(task: PlannedTrial, report: Report | None) -> Progress:
    if report is None:
        return no_progress
    title = task.title

    def progress(stage: str, done: int, total: int) -> None:
        if done == total or done % max(total // 50, 1) == 0:
            report(title, stage, done, total)

    return progress


_SHARED: dict[tuple[object, ...], KnowledgeCache] = {}
"""In each worker the last group's knowledge with its shadow models."""


def _shared(task: PlannedTrial, data: Data, audit: str) -> KnowledgeCache:
    key = (audit, *task.shares)
    if key not in _SHARED:
        _SHARED.clear()
        _SHARED[key] = KnowledgeCache.of(task.plan, data)
    return _SHARED[key]


_watching: set[int] = set()


def _stop_with(owner: int) -> None:
    """Ends this process when the one that started it is gone: nobody would note what it finds."""
    if owner == ELSEWHERE or owner == os.getpid() or owner in _watching:
        return

    def watch() -> Any:
        while os.getppid() == owner:
            time.sleep(0.5)
        os._exit(1)

    _watching.add(owner)
    threading.Thread(target=watch, daemon=True).start()
