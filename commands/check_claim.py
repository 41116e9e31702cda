"""`gaudit check-claim`: is an epsilon kept?"""

from pathlib import Path

import click

from ..output_files import check_outputs
from ..reports.console.progress import counted
from .claim_ending import end_with
from .terminal import clear_errors
from .written_settings import read_pairs


@click.command(name="check-claim", short_help="Test a claimed epsilon by many runs.")
@click.argument("mechanism")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of the mechanism, repeatable."
)
@click.option("--epsilon", type=float, help="What it is asked to promise; by default as its settings say.")
@click.option("--claimed", type=float, help="What is claimed, where that is another epsilon than it promises.")
@click.option(
    "--runs", type=int, help="Runs with the unit, and as many without it; by default as many as the claim needs."
)
@click.option("--search", is_flag=True, help="Look for the neighbouring inputs and the score that show most.")
@click.option("--seed", default=0, show_default=True, help="Of its noise.")
@click.option("--level", default=0.999, show_default=True, help="Confidence of the bound.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), metavar="FILE", help="Write the result.")
@clear_errors
def check_claim_command(
    mechanism: str,
    settings: tuple[str, ...],
    epsilon: float | None,
    claimed: float | None,
    runs: int | None,
    search: bool,
    seed: int,
    level: float,
    json_file: Path | None,
) -> None:
    """Put a claim of differential privacy to the test: MECHANISM runs with and without one unit, many times.

    MECHANISM is a name (gaudit list mechanisms) or module:Class of your own. Exit codes: 0 not refuted; 1 refuted;
    2 something in the command is wrong, the claim is for another unit than is tested, or --runs is too small a
    number to refute the claim.

    Example: gaudit check-claim degree-sequence --epsilon 1
    """
    from ..audit.claims.claim_check import asked_claim, check_claim, must_be_in_range, runs_in_all, usual_runs

    check_outputs([json_file])
    made, promise = asked_claim(mechanism, read_pairs(settings), epsilon, claimed)
    must_be_in_range(runs, seed, level)
    runs = usual_runs(made, promise, level, search) if runs is None else runs
    with counted("running", runs_in_all(runs, search)) as step:
        found = check_claim(
            made,
            runs,
            seed,
            level=level,
            claimed=promise,
            search=search,
            progress=lambda done, total: step(made.name),
        )
    end_with(found, json_file)
