"""How the cost of the main pipelines grows with the graph: CPU seconds and peak memory of whole commands.

    python benchmarks/growth.py --quick                          # small graphs, some minutes
    python benchmarks/growth.py --results growth.jsonl           # all sizes; what is in the file is not run again
    python benchmarks/growth.py --results growth.jsonl --table   # the tables alone, with --page into a page

Graphs have ogbn-arxiv's shape: 6.9 edges a node, degrees with a heavy tail, 128 dense features, 40 classes
(fewer on small graphs, where each has a hundred nodes), two thirds of the edges within a class. Each cell is one
command in a process of its own, on one thread and with a limit of CPU seconds and of memory. Where one is stopped,
larger graphs are not tried.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import log
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import numpy as np
from numpy.typing import NDArray

from gaudit.registry import find
from gaudit.targets.cost import Cost, Size

FEATURES, CLASSES, LINKS, WITHIN = 128, 40, 6.9, 0.65
BASE, QUICK, SIZES = 300, (1_000, 3_000), (3_000, 10_000, 34_000, 170_000, 1_000_000)
MILLION = {"classifier + loss", "publish + refinement", "anonymize k-degree"}
"""Pipelines that are tried on a million nodes."""
PAUSE = 0.1
MARKS = "<!-- tables -->", "<!-- end of tables -->"
LEAST = 0.8
"""Exponent of memory below which what grows is not yet what counts, so that nothing follows for larger graphs."""
STOPPED = (-signal.SIGXCPU, -signal.SIGKILL)
"""How a process ends at its limit of CPU seconds."""
GIB = 2**30
PROGRAM = (sys.executable, "-c", "from gaudit.commands.main import main; main()")
TITLES = {"done": "", "time": "over {cpu:.0f} s", "memory": "over {gib:.1f} GiB", "failed": "failed", "": "not run"}


def attack(target: str, name: str, *more: str) -> tuple[str, ...]:
    """The command that attacks an undefended target alone."""
    return ("attack", "--target", target, "--defense", "none", "--attack", name, "--only", *more, "--graph")


PIPELINES = {
    "classifier + loss": attack("classifier", "loss"),
    "classifier + lira": attack("classifier", "lira", "--attack-set", "shadows=4"),
    "fedavg + loss": attack("fedavg", "loss"),
    "fedavg + graphmi": attack("fedavg", "graphmi"),
    "gcond + nearest": attack("gcond", "nearest"),
    "fedgc + mia": attack("fedgc", "mia"),
    "fedgm + nearest": attack("fedgm", "nearest"),
    "fedc4 + loss": attack("fedc4", "loss"),
    "sos + loss": attack("sos", "loss"),
    "publish + refinement": attack("publish", "refinement"),
    "anonymize k-degree": ("anonymize", "--defense", "k-degree:k=10", "--no-utility", "-o", "out.txt"),
}
"""Commands to which the graph's file is added."""


@dataclass(frozen=True)
class Cell:
    """What one command took.

    Attributes:
        end: ``done``, ``time`` or ``memory`` (stopped at the limit), or ``failed``.
        cpu: seconds of the processor.
        gib: peak of resident memory.
        said: the last line of a command that failed.
    """

    pipeline: str
    nodes: int
    end: str
    cpu: float
    gib: float
    said: str = ""

    def told(self) -> str:
        """Its place in the table."""
        return TITLES[self.end].format(cpu=self.cpu, gib=self.gib) or f"{self.cpu:.1f} / {self.gib:.2f}"


@click.command()
@click.option("--quick", is_flag=True, help=f"Graphs of {', '.join(f'{n:,}' for n in QUICK)} nodes alone.")
@click.option("--up-to", default=SIZES[-1], show_default=True, help="Nodes of the largest graph that is tried.")
@click.option("--cpu", default=150, show_default=True, help="CPU seconds that a command may take.")
@click.option("--memory", default=8.0, show_default=True, help="GiB that a command may take.")
@click.option("--pipeline", "pipelines", multiple=True, type=click.Choice(list(PIPELINES)), default=list(PIPELINES))
@click.option("--results", type=click.Path(path_type=Path), help="Where cells are kept, one JSON object a line.")
@click.option("--table", is_flag=True, help="Run nothing, print what the file holds.")
@click.option("--page", type=click.Path(path_type=Path), help="A page that the tables are put into.")
def main(
    quick: bool,
    up_to: int,
    cpu: int,
    memory: float,
    pipelines: tuple[str, ...],
    results: Path | None,
    table: bool,
    page: Path | None,
) -> None:
    """Measure what is missing, size by size, and print the tables."""
    sizes = QUICK if quick else SIZES
    cells = [] if results is None or not results.exists() else read(results)
    if not table:
        with TemporaryDirectory() as folder:
            for nodes in (BASE, *(n for n in sizes if n <= up_to)):
                names = [name for name in pipelines if wanted(name, nodes, cells)]
                for cell in measured(names, nodes, Path(folder), cpu, memory):
                    cells.append(cell)
                    if results is not None:
                        with results.open("a") as file:
                            file.write(json.dumps(asdict(cell)) + "\n")
    text = tables(cells, pipelines, sizes, memory)
    click.echo(text)
    if page is not None:
        write_into(page, text)


def read(results: Path) -> list[Cell]:
    return [Cell(**json.loads(line)) for line in results.read_text().splitlines()]


def wanted(name: str, nodes: int, cells: Iterable[Cell]) -> bool:
    """Whether a cell is to be run: not yet, within reach, and no smaller graph was too large."""
    own = [cell for cell in cells if cell.pipeline == name]
    if nodes >= SIZES[-1] and name not in MILLION:
        return False
    return all(cell.nodes != nodes and cell.end == "done" for cell in own)


def measured(names: Sequence[str], nodes: int, folder: Path, cpu: int, memory: float) -> Iterable[Cell]:
    """Commands on one graph, one after the other."""
    if not names:
        return
    file = folder / f"graph-{nodes}.npz"
    np.savez(file, **graph(nodes, np.random.default_rng(nodes)))
    for name in names:
        cell = run(name, file, nodes, cpu, memory * GIB)
        click.echo(f"{cell.pipeline}, {nodes:,} nodes: {cell.told()} {cell.said}", err=True)
        yield cell


def graph(nodes: int, coins: np.random.Generator) -> dict[str, NDArray[np.generic]]:
    """A random graph of arxiv's shape: arrays as `read_npz` reads them."""
    classes = min(CLASSES, nodes // 100)
    labels = coins.integers(classes, size=nodes)
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(classes + 1))
    rows = round(LINKS * nodes * 1.02)
    one = (nodes * coins.random(rows) ** 1.6).astype(np.int64)  # some nodes are drawn far more often than others
    one = coins.permutation(nodes)[one]
    inside = starts[labels[one]] + (coins.random(rows) * np.diff(starts)[labels[one]]).astype(np.int64)
    other = np.where(coins.random(rows) < WITHIN, order[inside], coins.integers(nodes, size=rows))
    low, high = np.minimum(one, other), np.maximum(one, other)
    codes = np.unique((low * nodes + high)[low != high])
    means = coins.normal(size=(classes, FEATURES))
    x = means[labels] * 0.3 + coins.normal(size=(nodes, FEATURES))
    edges = np.stack([codes // nodes, codes % nodes])
    return {"edge_index": edges, "x": x.astype(np.float32), "y": labels, "directed": np.array(0)}


def run(name: str, file: Path, nodes: int, cpu: int, memory: float) -> Cell:
    """One command, stopped at its limits."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GAUDIT_MEMORY": "8", "NO_COLOR": "1"}
    process = subprocess.Popen(
        [*PROGRAM, *PIPELINES[name], str(file)],
        cwd=file.parent,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=(file.parent / "said").open("w"),
    )
    resource.prlimit(process.pid, resource.RLIMIT_CPU, (cpu, cpu + 1))
    end, peak = "done", 0.0
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        peak = max(peak, peak_of(process.pid))
        if peak > memory:
            end = "memory"
            process.kill()
        time.sleep(PAUSE)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = used.ru_utime + used.ru_stime
    if end == "done" and process.returncode:
        end = "time" if process.returncode in STOPPED else "failed"
    said = (file.parent / "said").read_text().strip().splitlines()[-1:] if end == "failed" else []
    return Cell(name, nodes, end, round(seconds, 2), round(peak / GIB, 3), " ".join(said))


def peak_of(pid: int) -> float:
    """Bytes of memory that a process had resident at its peak; 0 where it has ended.

    What ``wait4`` says of a peak also counts the process that it was forked from.
    """
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((1024.0 * int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0.0)


def tables(cells: Sequence[Cell], names: Sequence[str], sizes: Sequence[int], memory: float) -> str:
    """CPU seconds and GiB by size, then the exponents of growth and where memory would end."""
    found, limit = {(cell.pipeline, cell.nodes): cell for cell in cells}, f"{memory:g} GiB"
    first = [["pipeline", *(f"{nodes:,}" for nodes in (BASE, *sizes))]]
    titles = ("pipeline", "between", "time grows as", "memory grows as")
    second = [[*titles, f"nodes at {limit}", f"refused with {limit} from"]]
    for name in names:
        first.append([name, *((found.get((name, n)) or Cell(name, n, "", 0, 0)).told() for n in (BASE, *sizes))])
        done = [cell for cell in cells if cell.pipeline == name and cell.end == "done"]
        second.append([name, *law(done, memory), refused_from(name, memory * GIB)])
    return "\n\n".join(map(markdown, (first, second)))


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table whose first row has the titles."""
    first, *others = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([first, "|---" * len(rows[0]) + "|", *others])


def write_into(page: Path, text: str) -> None:
    """Puts tables into a page, between the marks that it has for them."""
    before, _, rest = page.read_text().partition(MARKS[0])
    page.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{rest.partition(MARKS[1])[2]}")


def law(cells: Sequence[Cell], memory: float) -> list[str]:
    """Exponents between the two largest graphs, less what the smallest one takes: that is start-up and controls."""
    base, *others = sorted(cells, key=lambda cell: cell.nodes) or [None]
    if base is None or len(others) < 2:
        return ["fewer than three sizes", "", "", ""]
    (one, two), ratio = others[-2:], log(others[-1].nodes / others[-2].nodes)
    time_power = power(one.cpu - base.cpu, two.cpu - base.cpu, ratio)
    memory_power = power(one.gib - base.gib, two.gib - base.gib, ratio)
    limit = ""
    if memory_power and memory_power > LEAST:
        limit = in_digits(two.nodes * ((memory - base.gib) / (two.gib - base.gib)) ** (1 / memory_power))
    told = [f"n^{value:.2f}" if value else "no growth seen" for value in (time_power, memory_power)]
    return [f"{one.nodes:,} and {two.nodes:,}", *told, limit]


def power(low: float, high: float, ratio: float) -> float | None:
    """The exponent of a growth from one value to another; None where there is none above the noise."""
    return log(high / low) / ratio if high > low > 0 else None


def refused_from(name: str, memory: float) -> str:
    """Nodes from which on gaudit's own estimate says that a run will not fit, to two digits."""
    if PIPELINES[name][0] != "attack":
        return "no estimate"
    low, high = 1, 10**12
    while high > 1.005 * low:
        middle = round((low * high) ** 0.5)
        low, high = (low, middle) if estimated(name, middle).memory > memory else (middle, high)
    return in_digits(high)


def in_digits(nodes: float) -> str:
    """A number of nodes to two digits."""
    return f"{float(f'{nodes:.1e}'):,.0f}"


def estimated(name: str, nodes: int) -> Cost:
    """What gaudit expects a pipeline to take on a graph of arxiv's shape."""
    words = PIPELINES[name]
    target, attacked = words[words.index("--target") + 1], words[words.index("--attack") + 1]
    pairs = (pair.split("=") for pair in words if "=" in pair)
    models = find("attacks", attacked)(**{key: int(value) for key, value in pairs}).models
    size = Size(nodes, round(LINKS * nodes), FEATURES, FEATURES * nodes, min(CLASSES, nodes // 100))
    cost: Cost = find("targets", target)().cost(size, models)
    return cost


if __name__ == "__main__":
    main()
