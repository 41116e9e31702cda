"""CPU time and peak memory of `gaudit anonymize` on a large edge list with weights and times.

    python benchmarks/anonymise_edges.py
    GAUDIT_MEMORY=5 python benchmarks/anonymise_edges.py --edges 10000000

The file has a fifth as many people as rows, some of whom have many edges, whole weights and times in seconds. It is
read, made k-anonymous by degree with weights that are rounded, checked, and written under new names, in a process
of its own.
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import click
import numpy as np
import pandas as pd

GAUDIT = (sys.executable, "-c", "from gaudit.commands.main import main; main()", "anonymize")
ASKED = ("--defense", "k-degree:k=10", "--rename", "--weights", "rounded:10", "--no-utility")


@click.command()
@click.option("--edges", default=1_000_000, show_default=True, help="Rows of the file.")
@click.option("--seed", default=0, show_default=True)
def main(edges: int, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.csv"
        write(path, edges, np.random.default_rng(seed))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        ran = subprocess.run(
            [*GAUDIT, str(path), *ASKED, "-o", f"{folder}/out.csv"], capture_output=True, text=True, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        size = path.stat().st_size
    if ran.returncode:
        raise click.ClickException(ran.stderr.strip())
    click.echo(next(line for line in ran.stdout.splitlines() if line.startswith("Verified")))
    taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    click.echo(
        f"{edges:,} rows, {size / 1e6:.0f} MB: {taken:.1f} CPU s, {after.ru_maxrss / 1e6:.2f} GB at the peak"
    )


def write(path: Path, edges: int, rng: np.random.Generator) -> None:
    """A random edge list; one end of each edge is drawn with a density that is large for a few people."""
    people = edges // 5
    columns = {
        "source": (rng.random(edges) ** 2 * people).astype(np.int64),
        "target": rng.integers(people, size=edges),
        "weight": rng.integers(1, 1000, size=edges),
        "time": 1_500_000_000 + rng.integers(10**8, size=edges),
    }
    pd.DataFrame(columns).to_csv(path, index=False)


if __name__ == "__main__":
    main()
