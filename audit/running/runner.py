"""Runs the trials of an audit that its ledger does not hold yet, side by side, and notes each when it is done.

Numbers depend neither on the number of workers nor on who runs what: a trial's randomness is its own, and shadow
models that trials share come out the same wherever they are trained.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from itertools import zip_longest
from multiprocessing import parent_process
from multiprocessing.managers import SyncManager
from multiprocessing.util import get_temp_dir
from pathlib import Path
from queue import Queue
from tempfile import TemporaryDirectory
from typing import Any, Literal

from ..planning.grid import Grid, PlannedTrial
from ..planning.plan import Plan
from .attempt import LOST, Done, Report, attempt, threads_of
from .ledger import Ledger
from .safe_path import safe_path

Executor = Literal["local", "ray"]
Noted = Callable[[PlannedTrial, Done], None]
CRASHES = 2
"""Lost workers in a row without a trial finished before trials run one by one, to find the one that is to blame."""
LONGEST_ADDRESS = 100
"""Bytes of a socket's path: systems take 103 or 107."""


def run_audit(
    plan: Plan,
    grid: Grid,
    ledger: Ledger,
    noted: Noted,
    workers: int | None = None,
    executor: Executor = "local",
    retry: bool = False,
    timeout: float | None = None,
    only: Iterable[str] | None = None,
    report: Report | None = None,
    here: bool = False,
) -> None:
    """Runs what is missing.

    Args:
        plan: the plan.
        grid: its trials.
        ledger: open for writing.
        noted: called in this process after each trial was noted.
        workers: processes, one thread each; as many as cores by default. Where there are fewer trials than that,
            each trains as many shadow models at once.
        executor: ``local``, or ``ray`` for a Ray cluster (`run_on_ray`).
        retry: run trials again that failed before.
        timeout: seconds that a trial may take before it is noted as failed; without end by default.
        only: keys of the trials to run, of a plan that is only tried; all by default.
        report: called in this process as trials here get on, with the trial's title, the stage, steps done and in
            all.
        here: run the trials in this process, one after the other, each with its shadow models side by side. Nobody
            outlives a trial that is killed there: for ledgers that are not kept, and for functions that no other
            process has.

    Raises:
        InputError: the ledger cannot be written, or there is no Ray.
    """
    from joblib import parallel_config

    if only is None:
        ledger.begin(plan, grid)
    skip = ledger.done() | (set() if retry else ledger.failed())
    wanted = None if only is None else set(only)
    todo = {t.key: t for t in grid.tasks if t.key not in skip and (wanted is None or t.key in wanted)}

    def note(done: Done) -> None:
        if done.result is not None:
            ledger.note_result(done.key, done.result, done.seconds)
        else:
            ledger.note_failure(done.key, str(done.reason), done.seconds)
        noted(todo.pop(done.key), done)

    cores = os.cpu_count() or 1
    if here:
        with parallel_config(n_jobs=workers or cores):
            for task in list(todo.values()):
                same = (grid.fingerprint, os.getpid(), timeout, report, None, workers or cores)
                note(attempt(task, grid.graphs[task.dataset], *same))
        return
    workers = workers or cores
    if executor == "ray":
        from .on_ray import run_on_ray

        run_on_ray(_interleaved(list(todo.values()), workers), grid, workers, timeout, note)
        return
    pooled = TemporaryDirectory(prefix="gaudit-pools-")  # outlives the workers that read in it
    with pooled as pools, parallel_config(backend="loky"), safe_path(), _events(report) as events, _ended_workers():
        _run_all(todo, grid, workers, timeout, note, events, pools)


def _run_all(
    todo: dict[str, PlannedTrial],
    grid: Grid,
    workers: int,
    limit: float | None,
    note: Callable[[Done], None],
    events: Report | None,
    pools: str,
) -> None:
    """Until nothing is left: what a killed worker had in hand runs again."""
    from joblib.externals.loky import process_executor

    crashes = 0
    while todo:
        before = len(todo)
        order = _interleaved(list(todo.values()), workers)
        try:
            side_by_side = min(workers, max(2, len(todo)))  # a single worker would be this very process
            threads = threads_of(len(todo), workers)
            for done in _dispatched(order, grid, side_by_side, limit, events, pools, threads):
                note(done)
        except process_executor.BrokenProcessPool:
            crashes = crashes + 1 if len(todo) == before else 1
        if crashes == CRASHES:
            _one_by_one([task for task in order if task.key in todo][: 2 * workers], grid, limit, note, pools)
            crashes = 0


def _one_by_one(
    suspects: list[PlannedTrial], grid: Grid, limit: float | None, note: Callable[[Done], None], pools: str
) -> None:
    """Trials that may have killed their worker, each in a worker of its own: who is to blame is noted as failed."""
    from joblib.externals.loky import process_executor

    for task in suspects:
        try:
            for done in _dispatched([task], grid, 2, limit, None, pools):  # one worker would be this very process
                note(done)
        except process_executor.BrokenProcessPool:
            note(Done(task.key, None, LOST, 0.0))


def _dispatched(
    batch: Sequence[PlannedTrial],
    grid: Grid,
    workers: int,
    limit: float | None,
    events: Report | None,
    pools: str | None,
    threads: int = 1,
) -> Iterator[Done]:
    """Trials as they end."""
    from joblib import Parallel, delayed, parallel_config

    with parallel_config(backend="sequential") if workers == 1 else nullcontext():
        pool = Parallel(n_jobs=workers, return_as="generator_unordered", pre_dispatch=workers, batch_size=1)
        run = delayed(attempt)
        same = (grid.fingerprint, os.getpid(), limit, events, pools, threads)
        calls = (run(task, grid.graphs[task.dataset], *same) for task in batch)
        with _deaf_to_interrupts():
            results = pool(calls)
        yield from results


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes started within do not hear Ctrl-C, which a terminal sends to all: who started them ends them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _interleaved(tasks: list[PlannedTrial], workers: int) -> list[PlannedTrial]:
    """As many groups at a time as there are workers: trials of a group share shadow models within a worker."""
    groups: dict[tuple[object, ...], list[PlannedTrial]] = {}
    for task in tasks:
        groups.setdefault(task.shares, []).append(task)
    lists = list(groups.values())
    order = []
    for start in range(0, len(lists), workers):
        for row in zip_longest(*lists[start : start + workers]):
            order += [task for task in row if task is not None]
    return order


@contextmanager
def _ended_workers() -> Iterator[None]:
    """Whatever stops the audit stops its workers too, in the midst of their trials: nobody waits for them."""
    from joblib.externals.loky import get_reusable_executor

    try:
        yield
    except BaseException:
        get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)
        raise


class Events:
    """Progress on its way from workers to the process that waits: a report for other processes to call."""

    def __init__(self, queue: "Queue[Any]") -> None:
        self.queue = queue

    def __call__(self, title: str, stage: str, done: int, total: int) -> None:
        with suppress(OSError, EOFError):  # who keeps the queue was killed: the trial goes on
            self.queue.put((title, stage, done, total))


@contextmanager
def _events(report: Report | None) -> Iterator[Report | None]:
    """What workers report to; a thread here reads it."""
    if report is None:
        yield None
        return
    manager = SyncManager(_address())
    manager.start(_end_with_parent)
    with manager:
        queue: Queue[Any] = manager.Queue()

        def read() -> None:
            with suppress(OSError, EOFError):
                while (event := queue.get()) is not None:
                    report(*event)

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        try:
            yield Events(queue)
        finally:
            with suppress(OSError, EOFError):
                queue.put(None)
            reader.join(timeout=5)


def _address() -> tuple[str, int] | None:
    """Where the queue's keeper listens: a local port where the temporary folder's name is too long for a socket.

    Otherwise in that folder (None). Both answer only those who know the key that workers inherit.
    """
    length = len(os.fsencode(Path(get_temp_dir()) / "listener-12345678"))
    return ("localhost", 0) if length > LONGEST_ADDRESS else None


def _end_with_parent() -> None:
    """In the process that keeps the queue: it would outlive a parent that is killed."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
