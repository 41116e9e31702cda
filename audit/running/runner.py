"""Runs the trials of an audit that its ledger does not hold yet, side by side, and notes each when it is done.

Numbers depend neither on the number of workers nor on who runs what: a trial's randomness is its own, and shadow
models that trials share come out the same wherever they are trained.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import zip_longest
from multiprocessing import Manager
from queue import Queue
from typing import Any, Literal

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import process_executor
from joblib.parallel import get_active_backend
from torch_geometric.data import Data

from ...errors import InputError
from ...targets.target import Progress, no_progress
from ..games.knowledge_cache import KnowledgeCache
from ..planning.grid import Grid, PlannedTrial
from ..planning.plan import Plan
from .ledger import Ledger
from .serialization import dumps
from .trial import run_trial, use_one_thread

Executor = Literal["local", "ray"]
Report = Callable[[str, str, int, int], None]
"""Called with a trial's title, the name of a stage, steps done and steps in all."""
Noted = Callable[[PlannedTrial, "Done"], None]
CRASHES = 2
"""Lost workers in a row without a trial finished before trials run one by one, to find the one that is to blame."""
ELSEWHERE = 0
"""In the place of a process on another machine."""
MOST_GROWTH = 4 * 2**30
"""Bytes by which a worker may grow before loky starts it anew: its shadow models would be lost."""
WAVE = 4
"""Trials per worker in a wave."""
LOST = "its worker process was killed, perhaps for memory: give the machine more, or use fewer workers"


@dataclass(frozen=True)
class Done:
    """What came of a trial: a result or a reason why there is none, and the CPU seconds it took."""

    key: str
    result: bytes | None
    reason: str | None
    seconds: float


def run_audit(
    plan: Plan,
    grid: Grid,
    ledger: Ledger,
    noted: Noted,
    workers: int | None = None,
    executor: Executor = "local",
    retry: bool = False,
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
        workers: processes, one thread each; as many as cores by default.
        executor: ``local``, or ``ray`` for the Ray cluster that this process is connected to (or starts).
        retry: run trials again that failed before.
        only: keys of the trials to run, of a plan that is only tried; all by default.
        report: called in this process as trials here get on, with the trial's title, the stage, steps done and in
            all.
        here: run a plan's only trial in this process, with its shadow models side by side. Nobody outlives a trial
            that is killed there: for ledgers that are not kept.

    Raises:
        InputError: the ledger cannot be written, or Ray is not installed.
    """
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
    if here and workers is None and sum(task.cell >= 0 for task in todo.values()) == 1:
        with parallel_config(n_jobs=cores):
            for task in list(todo.values()):
                note(attempt(task, grid.graphs[task.dataset], grid.fingerprint, os.getpid(), report))
        return
    workers = workers or cores
    with _executing(executor, workers) as (lost, room), _events(report if executor == "local" else None) as events:
        _run_all(todo, grid, lambda: min(workers, room()), note, lost, events)


def _run_all(
    todo: dict[str, PlannedTrial],
    grid: Grid,
    room: Callable[[], int],
    note: Callable[[Done], None],
    lost: tuple[type[Exception], ...],
    events: Report | None,
) -> None:
    """Until nothing is left: what a killed worker had in hand runs again, in as many new ones as there is room."""
    crashes = 0
    while todo:
        before, workers = len(todo), room()
        try:
            side_by_side = min(workers, max(2, len(todo)))  # a single worker would be this very process
            for done in _dispatched(_interleaved(list(todo.values()), workers), grid, side_by_side, events):
                note(done)
        except lost:
            crashes = crashes + 1 if len(todo) == before else 1
        if crashes == CRASHES:
            _one_by_one(list(todo.values())[: 2 * workers], grid, note, lost)
            crashes = 0


def _one_by_one(
    suspects: list[PlannedTrial], grid: Grid, note: Callable[[Done], None], lost: tuple[type[Exception], ...]
) -> None:
    """Trials that may have killed their worker, each in a worker of its own: who is to blame is noted as failed."""
    for task in suspects:
        try:
            for done in _dispatched([task], grid, 2, None):  # one worker would be this very process
                note(done)
        except ShrunkError:
            return  # nobody's fault: what is left runs with as many workers as there are now
        except lost:
            note(Done(task.key, None, LOST, 0.0))


def _dispatched(batch: Sequence[PlannedTrial], grid: Grid, workers: int, events: Report | None) -> Iterator[Done]:
    """Trials as they end; where a backend gives results by the list only, wave by wave."""
    with parallel_config(backend="sequential") if workers == 1 else nullcontext():
        backend, _ = get_active_backend()
        owner = os.getpid() if backend.supports_return_generator else ELSEWHERE

        def calls(tasks: Sequence[PlannedTrial]) -> Iterator[Any]:
            return (delayed(attempt)(t, grid.graphs[t.dataset], grid.fingerprint, owner, events) for t in tasks)

        if backend.supports_return_generator:
            unordered = Parallel(
                n_jobs=workers, return_as="generator_unordered", pre_dispatch=workers, batch_size=1
            )
            yield from unordered(calls(batch))
            return
        with ExitStack() as stack:
            try:
                pool = stack.enter_context(Parallel(n_jobs=workers, batch_size=1))
            except ValueError as error:  # Ray's, where a node went since its CPUs were counted
                raise ShrunkError(str(error)) from error
            for start in range(0, len(batch), WAVE * workers):
                yield from pool(calls(batch[start : start + WAVE * workers]))


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
def _executing(executor: Executor, workers: int) -> Iterator[tuple[tuple[type[Exception], ...], Callable[[], int]]]:
    """Sets joblib's backend; yields the errors that mean that a worker was lost, and how many there is room for."""
    if executor == "local":
        with parallel_config(backend="loky"):
            yield (process_executor.BrokenProcessPool,), lambda: workers
        return
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError as error:
        raise InputError("--executor ray needs Ray: pip install 'graph-gaudit[ray]'") from error
    register_ray()
    if not ray.is_initialized():
        ray.init(num_cpus=workers, include_dashboard=False, logging_level=logging.ERROR)
    with parallel_config(
        backend="ray"
    ):  # nodes come and go, and Ray refuses a pool that is larger than its cluster
        yield (ray.exceptions.RayError, ShrunkError), lambda: max(1, int(ray.cluster_resources().get("CPU", 1)))


class ShrunkError(Exception):
    """There are fewer workers than were counted a moment ago."""


_SHARED: dict[tuple[object, ...], KnowledgeCache] = {}
"""In each worker the last group's knowledge with its shadow models."""


def attempt(task: PlannedTrial, data: Data, audit: str, owner: int, report: Report | None = None) -> Done:
    """Runs one trial; whatever goes wrong in it is its result.

    Args:
        task: the trial.
        data: its graph.
        audit: fingerprint of the audit, so that nothing is shared between two.
        owner: the process that waits for the result, or `ELSEWHERE`; when it is gone, this one stops.
        report: called as it gets on.
    """
    _stop_with(owner)
    process_executor._MAX_MEMORY_LEAK_SIZE = MOST_GROWTH
    use_one_thread()
    start = time.process_time()
    try:
        result = run_trial(task.plan, data, _progress(task, report), cache=_shared(task, data, audit))
        return Done(task.key, dumps(result), None, time.process_time() - start)
    except InputError as error:
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


class Events:
    """Progress on its way from workers to the process that waits: a report for other processes to call."""

    def __init__(self, queue: "Queue[Any]") -> None:
        self.queue = queue

    def __call__(self, title: str, stage: str, done: int, total: int) -> None:
        self.queue.put((title, stage, done, total))


@contextmanager
def _events(report: Report | None) -> Iterator[Report | None]:
    """What workers report to; a thread here reads it."""
    if report is None:
        yield None
        return
    with Manager() as manager:
        queue: Queue[Any] = manager.Queue()

        def read() -> None:
            while (event := queue.get()) is not None:
                report(*event)

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        try:
            yield Events(queue)
        finally:
            queue.put(None)
            reader.join(timeout=5)


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
