"""What the trials of a plan take, told before they run, and whether that fits into the memory there is."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from ...errors import InputError
from ...targets.cost import Cost, Size
from .grid import Grid, PlannedTrial

GIB = 2**30
GROUPS = Path("/sys/fs/cgroup")
MEMORY_INFO = Path("/proc/meminfo")


def cost_of(trial: PlannedTrial, size: Size) -> Cost:
    """What one trial takes: its target, and the models that its attacks train; attacks share them."""
    models = max((attack.make().models for attack in trial.plan.attacks), default=0)
    return trial.plan.make_target().cost(size, models)


def costs_of(grid: Grid, keys: Collection[str]) -> dict[str, Cost]:
    """What each of some trials takes, by key."""
    sizes = {name: Size.of(data) for name, data in grid.graphs.items()}
    return {t.key: cost_of(t, sizes[t.dataset]) for t in grid.tasks if t.key in keys}


def estimates(grid: Grid) -> Iterator[str]:
    """Of each target on each graph, what its dearest trial takes, in a sentence."""
    costs = costs_of(grid, {task.key for task in grid.tasks})
    for index, cell in enumerate(grid.cells):
        own = [costs[task.key] for task in grid.tasks if task.cell == index]
        seconds, memory = max(c.seconds for c in own), max(c.memory for c in own)
        yield (
            f"{cell.target} on {cell.dataset}: a trial takes at least {seconds:,.0f} s of CPU time and about "
            f"{memory / GIB:.1f} GiB of memory, as estimated from the size of the graph."
        )


def fitting(grid: Grid, keys: Collection[str], workers: int | None, free: float | None) -> int | None:
    """How many trials may run side by side.

    Args:
        grid: all trials.
        keys: of those that are to run.
        workers: how many were asked for; None for one per core.
        free: bytes of memory there are, or None where nobody knows.

    Returns:
        ``workers``, or fewer than there are cores where none were asked for and memory is short.

    Raises:
        InputError: one trial, or as many as were asked for, would not fit.
    """
    if free is None or not keys:
        return workers
    costs = costs_of(grid, keys)
    needs = sorted((cost.memory for cost in costs.values()), reverse=True)
    if needs[0] > free:
        dearest = next(task for task in grid.tasks if task.key in keys and costs[task.key].memory == needs[0])
        raise InputError(
            f"{dearest.title} needs about {needs[0] / GIB:.1f} GiB of memory, and {free / GIB:.1f} are free: "
            "take a smaller graph or a larger machine, or give --anyway to run it all the same"
        )
    most = _side_by_side(needs, free)
    if workers is None:
        return None if most >= min(len(needs), os.cpu_count() or 1) else most
    if most < min(workers, len(needs)):
        raise InputError(
            f"{workers} trials side by side need about {sum(needs[:workers]) / GIB:.1f} GiB of memory, and "
            f"{free / GIB:.1f} are free: give --workers {most}, or --anyway to run them all the same"
        )
    return workers


def _side_by_side(needs: Sequence[float], free: float) -> int:
    """How many of the dearest trials fit together."""
    count, taken = 0, 0.0
    for need in needs:
        taken += need
        if taken > free:
            break
        count += 1
    return count


def free_memory() -> float | None:
    """Bytes of memory that a run may take: what the machine has left, or less where processes are limited.

    None where the system does not tell.
    """
    told = [*_left_of_machine(_lines(MEMORY_INFO)), *_left_of_group(GROUPS)]
    return min(told, default=None)


def _left_of_machine(lines: Iterable[str]) -> Iterator[float]:
    for line in lines:
        name, _, rest = line.partition(":")
        if name == "MemAvailable":
            yield 1024 * float(rest.split()[0])


def _left_of_group(folder: Path) -> Iterator[float]:
    """What a limit of version 2 or 1 leaves; files that were read may be let go of."""
    for limit, used, cached in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "total_inactive_file"),
    ):
        most, now = _lines(folder / limit), _lines(folder / used)
        if most and now and most[0].isdigit():
            table = dict(line.split() for line in _lines((folder / limit).parent / "memory.stat"))
            yield float(most[0]) - float(now[0]) + float(table.get(cached, 0))


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:
        return []
