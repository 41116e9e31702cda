"""Runs trials side by side; the numbers do not depend on how many at a time."""

import os
import threading
from collections.abc import Callable, Sequence
from multiprocessing import Manager
from queue import Queue
from typing import Any

from joblib import Parallel, delayed, parallel_config
from torch_geometric.data import Data

from ..planning.trial_plan import TrialPlan
from .trial import TrialResult, run_trial, use_one_thread

Report = Callable[[int, str, int, int], None]
"""Called with the trial's place in the list, the stage, steps done and steps in all."""


def run_trials(
    plans: Sequence[TrialPlan], data: Data, workers: int | None = None, report: Report | None = None
) -> list[TrialResult]:
    """Runs all trials and returns their results in the order of the plans.

    Args:
        plans: what to run.
        data: the checked graph, the same for all.
        workers: processes, one thread each; as many as cores by default.
        report: called in this process as trials get on.

    Raises:
        InputError: as `run_trial` does.
    """
    asked, workers = workers, min(workers or os.cpu_count() or 1, len(plans))
    if workers == 1:
        use_one_thread()
        with parallel_config(n_jobs=1 if asked == 1 else os.cpu_count() or 1):  # shadow models side by side
            return [run_trial(plan, data, _reporter(place, report)) for place, plan in enumerate(plans)]
    with Manager() as manager:
        events = manager.Queue()
        reader = threading.Thread(target=_read, args=(events, report), daemon=True)
        reader.start()
        try:
            results: list[TrialResult] = Parallel(n_jobs=workers, backend="loky")(
                delayed(_in_worker)(place, plan, data, events) for place, plan in enumerate(plans)
            )
        finally:
            events.put(None)
            reader.join(timeout=5)
        return results


def _reporter(place: int, report: Report | None) -> Callable[[str, int, int], None]:
    def progress(stage: str, done: int, total: int) -> None:
        if report is not None:
            report(place, stage, done, total)

    return progress


def _in_worker(place: int, plan: TrialPlan, data: Data, events: "Queue[Any]") -> TrialResult:
    use_one_thread()

    def progress(stage: str, done: int, total: int) -> None:
        if done == total or done % max(total // 50, 1) == 0:
            events.put((place, stage, done, total))

    return run_trial(plan, data, progress)


def _read(events: "Queue[Any]", report: Report | None) -> None:
    while (event := events.get()) is not None:
        if report is not None:
            report(*event)
