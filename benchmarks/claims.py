"""What testing a claim of differential privacy shows: of right mechanisms, and of ones with an error planted.

    python benchmarks/claims.py bounds --runs 20000
    python benchmarks/claims.py bounds degree-sequence triangles --epsilon 1
    python benchmarks/claims.py broken
    python benchmarks/claims.py found --epsilon 1 --epsilon 4
    python benchmarks/claims.py sound --seeds 20

`bounds` prints the epsilon that each registered mechanism is shown to give away, with 99 % confidence, and its
share of what it promises: how much of an error of its noise would stay unseen. `broken` prints how many of some
seeds refute each mechanism of tests/support/broken, and accuse each right one: no more than one in a hundred
should. `found` prints what a check with `search` and default effort says of each wrong mechanism of
tests/support/broken/families, whose own inputs need not show the error; every other one, by name, was held out
while the search was made. `sound` prints how many of some seeds accuse the odd but sound ones beside them.
"""

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import click

from gaudit.audit.claims.claim_check import check_claim
from gaudit.errors import InputError
from gaudit.mechanisms.mechanism import Mechanism
from gaudit.registry import find, registered

EPSILONS = (0.5, 1.0, 2.0, 4.0)
LEVEL = 0.99
TESTS = Path(__file__).parents[1] / "tests"
BROKEN = TESTS / "support" / "broken"
FAMILIES = ("counts", "tables", "responses", "selections", "networks", "uploads")
STRICT = 0.999
"""The level of the command."""


@click.group()
def main() -> None:
    """Claims of privacy beside what was measured."""


@main.command()
@click.argument("names", nargs=-1)
@click.option("--epsilon", "epsilons", type=float, multiple=True, default=EPSILONS, show_default=True)
@click.option("--runs", default=20_000, show_default=True, help="With the unit, and as many without it.")
@click.option("--seed", default=0, show_default=True)
def bounds(names: tuple[str, ...], epsilons: tuple[float, ...], runs: int, seed: int) -> None:
    """Measured epsilons of registered mechanisms, all of them if none is named."""
    titles = ["mechanism", "unit", *(f"epsilon {epsilon:g}" for epsilon in epsilons), "CPU s"]
    click.echo(f"{runs:,} runs with the unit and as many without, {100 * LEVEL:g} % confidence, seed {seed}\n")
    click.echo(row(titles) + "\n" + row(["---"] * len(titles)))
    for name in names or registered("mechanisms"):
        kind = find("mechanisms", name)
        checks = [check_claim(kind(epsilon=epsilon), runs, seed, level=LEVEL) for epsilon in epsilons]
        cells = [
            f"{check.measured.low:.2f} ({check.measured.low / epsilon:.0%})" + " refuted" * check.refuted
            for check, epsilon in zip(checks, epsilons, strict=True)
        ]
        click.echo(row([name, kind.differ_in, *cells, f"{sum(check.seconds for check in checks):.1f}"]))


@main.command()
@click.option("--epsilon", default=1.0, show_default=True, help="What all of them claim.")
@click.option("--runs", default=2000, show_default=True, help="With the unit, and as many without it.")
@click.option("--seeds", default=20, show_default=True)
def broken(epsilon: float, runs: int, seeds: int) -> None:
    """How often wrong mechanisms are refuted, and right ones accused."""
    titles = ["mechanism", "is", "refuted", "lowest and highest bound", "CPU s"]
    click.echo(f"epsilon {epsilon:g} claimed, 2 x {runs:,} runs, {100 * LEVEL:g} % confidence\n")
    click.echo(row(titles) + "\n" + row(["---"] * len(titles)))
    wrong = [("wrong", wrong_one(path)) for path in sorted(BROKEN.glob("*.py"))]
    right = [("right", find("mechanisms", name)) for name in registered("mechanisms")]
    for verdict, kind in wrong + right:
        checks = [check_claim(kind(epsilon=epsilon), runs, seed, level=LEVEL) for seed in range(seeds)]
        found = [check.measured.low for check in checks]
        refuted = sum(check.refuted for check in checks)
        seconds = sum(check.seconds for check in checks)
        shown = f"{min(found):.2f} to {max(found):.2f}"
        click.echo(row([kind.name, verdict, f"{refuted} of {seeds}", shown, f"{seconds:.1f}"]))


@main.command()
@click.argument("names", nargs=-1)
@click.option("--epsilon", "epsilons", type=float, multiple=True, default=(1.0, 4.0), show_default=True)
@click.option("--search/--no-search", default=True, show_default=True)
@click.option("--runs", type=int, help="As `gaudit check-claim` by default.")
@click.option("--seed", default=0, show_default=True)
def found(names: tuple[str, ...], epsilons: tuple[float, ...], search: bool, runs: int | None, seed: int) -> None:
    """Which of the wrong mechanisms are found, at default effort."""
    titles = ["mechanism", "held out", *(f"epsilon {epsilon:g}" for epsilon in epsilons), "CPU s"]
    click.echo(f"{100 * STRICT:g} % confidence, seed {seed}, {'with' if search else 'without'} search\n")
    click.echo(row(titles) + "\n" + row(["---"] * len(titles)))
    hits = dict.fromkeys(epsilons, 0)
    wrong = [kind for name in FAMILIES for kind in defined_in(f"support.broken.families.{name}")]
    for place, kind in enumerate(sorted(wrong, key=lambda kind: kind.name)):
        if names and kind.name not in names:
            continue
        cells, seconds = [], 0.0
        for epsilon in epsilons:
            shown, refuted, cost = one_check(kind(epsilon=epsilon), runs, seed, search)
            cells.append(shown)
            hits[epsilon] += refuted
            seconds += cost
        click.echo(row([kind.name, "yes" if place % 2 else "no", *cells, f"{seconds:.1f}"]))
    counts = ", ".join(f"{hit} at epsilon {epsilon:g}" for epsilon, hit in hits.items())
    click.echo(f"\nfound: {counts}, of {len(names) or len(wrong)}")


@main.command()
@click.option("--epsilon", "epsilons", type=float, multiple=True, default=(1.0, 4.0), show_default=True)
@click.option("--search/--no-search", default=True, show_default=True)
@click.option("--runs", type=int, help="As `gaudit check-claim` by default.")
@click.option("--seeds", default=20, show_default=True)
def sound(epsilons: tuple[float, ...], search: bool, runs: int | None, seeds: int) -> None:
    """How often odd but sound mechanisms are accused, and the largest bound."""
    titles = ["mechanism", *(f"epsilon {epsilon:g}" for epsilon in epsilons), "CPU s"]
    click.echo(f"{100 * STRICT:g} % confidence, {seeds} seeds, {'with' if search else 'without'} search\n")
    click.echo(row(titles) + "\n" + row(["---"] * len(titles)))
    for kind in defined_in("support.sound_mechanisms"):
        cells, seconds = [], 0.0
        for epsilon in epsilons:
            mechanism = kind(epsilon=epsilon)
            checks = [check_claim(mechanism, runs, seed, level=STRICT, search=search) for seed in range(seeds)]
            accused, most = sum(check.refuted for check in checks), max(check.measured.low for check in checks)
            cells.append(f"{accused} accuse, at most {most:.2f}")
            seconds += sum(check.seconds for check in checks)
        click.echo(row([kind.name, *cells, f"{seconds:.1f}"]))


def one_check(mechanism: Mechanism, runs: int | None, seed: int, search: bool) -> tuple[str, bool, float]:
    """What a check says, whether it refutes, and its CPU seconds."""
    try:
        check = check_claim(mechanism, runs, seed, level=STRICT, search=search)
    except InputError as error:
        return str(error), False, 0.0
    return f"{'found' if check.refuted else 'missed'}, {check.measured.low:.2f}", check.refuted, check.seconds


def defined_in(module: str) -> list[type[Mechanism]]:
    """The mechanisms with a name of their own that a module of the tests defines."""
    sys.path.insert(0, str(TESTS))
    try:
        found = vars(import_module(module)).values()
    finally:
        sys.path.remove(str(TESTS))
    return [kind for kind in found if isinstance(kind, type) and kind.__module__ == module and "name" in vars(kind)]


def wrong_one(path: Path) -> type[Mechanism]:
    """The mechanism that a file of tests/support/broken defines."""
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    own = (k for k in vars(module).values() if isinstance(k, type) and k.__module__ == path.stem)
    (kind,) = (k for k in own if issubclass(k, Mechanism))
    return kind


def row(cells: list[str]) -> str:
    """A line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
