"""Trials as tasks of a Ray cluster."""

import logging
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...errors import InputError
from ..planning.grid import Grid, PlannedTrial
from .attempt import ELSEWHERE, LOST, Done, attempt, threads_of

ADDRESS = "RAY_ADDRESS"
"""The environment variable that names a cluster, as for all programs that use Ray."""
LOSSES = 3
"""Workers that a trial may lose, whether it killed them or a machine went, before it is noted as failed."""


def run_on_ray(
    tasks: Sequence[PlannedTrial], grid: Grid, workers: int, limit: float | None, note: Callable[[Done], None]
) -> None:
    """Runs trials on a cluster: that of this process, the one that ``RAY_ADDRESS`` names, or a new one here.

    Each is noted when it ends. Where there are fewer trials than workers each gets several of one machine, for its
    shadow models. One whose worker was killed is started again, up to `LOSSES` times; others go on.

    Raises:
        InputError: Ray is not installed, or there is no such cluster.
    """
    try:
        import ray
    except ImportError as error:
        raise InputError("--executor ray needs Ray: pip install 'graph-gaudit[ray]'") from error
    with _connected(ray, workers):
        threads = min(threads_of(len(tasks), workers), _least_cores(ray))
        call = ray.remote(num_cpus=threads, max_retries=0)(attempt)
        graphs = {name: ray.put(graph) for name, graph in grid.graphs.items()}
        waiting, losses = list(reversed(tasks)), Counter[str]()
        running: dict[Any, PlannedTrial] = {}
        while waiting or running:
            while waiting and len(running) < workers:
                task = waiting.pop()
                told = (graphs[task.dataset], grid.fingerprint, ELSEWHERE, limit, None, None, threads)
                running[call.remote(task, *told)] = task
            (ended, *_), _ = ray.wait(list(running))
            task = running.pop(ended)
            try:
                note(ray.get(ended))
            except ray.exceptions.RayError:  # its worker was killed, or the machine went
                losses[task.key] += 1
                if losses[task.key] < LOSSES:
                    waiting.append(task)
                else:
                    note(Done(task.key, None, LOST, 0.0))


def _least_cores(ray: Any) -> int:
    """Of the machine with the fewest: what a trial may ask for and get anywhere."""
    cores = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
    return min((count for count in cores if count), default=1)


@contextmanager
def _connected(ray: Any, workers: int) -> Iterator[None]:
    """A cluster that was started here ends here."""
    if ray.is_initialized():
        yield
        return
    own = {} if os.environ.get(ADDRESS) else {"address": "local", "num_cpus": workers, "include_dashboard": False}
    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(logging_level=logging.ERROR, log_to_driver=False, job_config=_job(), **own)
    except (ConnectionError, RuntimeError, ValueError) as error:
        where = f"the Ray cluster {os.environ[ADDRESS]} ({ADDRESS})" if not own else "a Ray cluster here"
        raise InputError(f"cannot connect to {where}: {' '.join(str(error).split())[:200]}") from error
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)  # Ray has put its own in the place
    try:
        yield
    finally:
        ray.shutdown()


def _job() -> Any:
    """What Ray tells workers of this process: to import from the current folder only where this process does.

    Ray would put that folder first on their path, and somebody's file ``joblib.py`` would run there. It does not do
    so for one who asks through its client (``ray://``).
    """
    if os.environ.get(ADDRESS, "").startswith("ray://"):
        return None
    from ray.job_config import JobConfig

    class SafeJob(JobConfig):
        def _serialize(self) -> str:
            here = str(Path.cwd())
            if not {"", here} & set(sys.path):
                self._py_driver_sys_path = [folder for folder in self._py_driver_sys_path if folder != here]
            return str(super()._serialize())

    return SafeJob()
