"""`gaudit audit`: runs a plan, keeps every trial in a ledger, says what came out."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError, one_line
from ..output_files import check_apart
from ..registry import telling_of_code
from ..reports.console.progress import counted
from .terminal import anyway_option, clear_errors, console, running_options, verbose_option

if TYPE_CHECKING:
    from ..audit.planning.grid import Grid
    from ..audit.planning.plan import Plan
    from ..audit.running.ledger import Ledger


@click.command(name="audit", short_help="Run a plan, keep every trial, say what came out.")
@click.argument("plan_file", metavar="PLAN", type=click.Path(path_type=Path))
@click.option(
    "--ledger",
    "ledger_file",
    type=click.Path(path_type=Path),
    default=Path("audit.db"),
    show_default=True,
    metavar="FILE",
    help="Where every trial is kept; what is in it is not run again.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show the trials and what they take, run one of each kind to tell better, stop.",
)
@running_options
@anyway_option
@click.option("--yes", is_flag=True, help="Do not ask before a very large plan.")
@verbose_option
@clear_errors
def audit_command(plan_file: Path, ledger_file: Path, dry_run: bool, yes: bool, verbose: bool, **how: Any) -> None:
    """Run a plan: targets, graphs, defenses with strengths, attacks, observers and seeds.

    Exit codes: 0 all done; 1 a trial failed; 2 something in the plan or ledger is wrong; 4 a control of the audit
    failed or no attack applied, so that nothing can be said; 130 interrupted, 143 terminated (start it again:
    nothing is lost).

    PLAN is a TOML file. This one runs in seconds:

    \b
        datasets = ["karate"]
        seeds = 1
        [[target]]
        name = "classifier"
        [[attack]]
        name = "loss"

    Example: gaudit audit plan.toml --ledger audit.db
    """
    from ..audit.planning.plan import MANY, Plan, is_file

    with telling_of_code(_tell_of_code):  # settings name code as well, which is imported when trials are laid out
        plan = Plan.read(plan_file)
        sent = [_sending(target.settings) for target in plan.target if "url" in target.settings]
        for line in dict.fromkeys(sent):
            click.echo(f"gaudit: {line}", err=True)
        check_apart([ledger_file], [plan_file, *(Path(graph) for graph in plan.datasets if is_file(graph))])
        trials = plan.count()
        if trials > MANY and not yes:
            raise InputError(f"plan {plan_file} has {trials:,} trials: make it smaller, or give --yes to run them")
        run_plan(plan, ledger_file, dry_run, how, verbose)


def run_plan(plan: "Plan", ledger_file: Path, dry_run: bool, how: dict[str, Any], verbose: bool = False) -> None:
    """Runs what a ledger does not hold of a plan yet, and says what came out.

    Args:
        plan: what to run.
        ledger_file: where every trial is kept.
        dry_run: run one trial of each kind to estimate the time, and say nothing of what came out.
        how: arguments of `run_audit`, and ``anyway``: whether to run what will not fit into memory.
        verbose: print every number, not the answers alone.

    Raises:
        InputError: graphs, settings or the ledger are unusable.
    """
    from ..audit.planning.automatic_plan import with_attacks
    from ..audit.planning.grid import laid_out
    from ..audit.running.ledger import Ledger

    complete = with_attacks(plan)
    plan = complete.plan
    grid = laid_out(plan, complete.graphs)
    for line in complete.sentences():
        click.echo(f"gaudit: {line}", err=True)
    with Ledger(ledger_file, write=True) as ledger:
        try:
            _run(plan, grid, ledger, dry_run, how)
            if not dry_run:
                _close(ledger, ledger_file, verbose)
        except KeyboardInterrupt as stop:
            raise type(stop)(_left(grid, ledger, ledger_file)) from stop


def _left(grid: "Grid", ledger: "Ledger", file: Path) -> str:
    """What an interrupted audit leaves behind."""
    wanted = {task.key for task in grid.tasks}
    kept = len(wanted & (ledger.done() | ledger.failed()))
    if not kept:
        return "no trial had ended, so nothing is kept. Start the same command again."
    if kept == len(wanted):
        return f"every trial is in {file}. Start the same command again to see what came out."
    are = "is" if kept == 1 else "are"
    return f"{kept} of {len(wanted)} trials {are} in {file}. Start the same command again to run the rest."


def _tell_of_code(name: str, place: str) -> None:
    click.echo(f"gaudit: this plan runs code: {name} from {place}", err=True)


def _sending(settings: Mapping[str, Any]) -> str:
    """What a target with a URL sends away: the graph, and a token where it names one."""
    secret = settings.get("token")
    also = "" if secret is None else f", with the content of the environment variable {one_line(secret)}"
    return f"this plan sends its graph to {one_line(settings['url'])}{also}"


def _run(plan: "Plan", grid: "Grid", ledger: "Ledger", dry_run: bool, how: dict[str, Any]) -> None:
    from ..audit.planning.estimates import estimates, fitting, free_memory
    from ..audit.planning.observers import chosen
    from ..audit.running.runner import run_audit
    from ..reports.console.audit_console import estimate, plan_table

    screen = console()
    screen.print(plan_table(grid, ledger.done()))
    unnamed = {attack.name for attack in plan.attack if attack.observers is None}
    trials = [task.plan for task in grid.tasks if task.cell >= 0]
    for line in chosen((t.target, a) for t in trials for a in t.attacks if a.name in unnamed):
        screen.print(line, highlight=False, soft_wrap=True, markup=False)
    if dry_run:
        for line in estimates(grid):
            screen.print(line, highlight=False, soft_wrap=True, markup=False)
    only = _first_of_each(grid) if dry_run else None
    missing = {t.key for t in grid.tasks if only is None or t.key in only} - ledger.done()
    how = dict(how)
    if not how.pop("anyway"):
        how["workers"] = fitting(grid, missing, how["workers"], free_memory())
    with counted("trials", len(missing)) as step:
        run_audit(plan, grid, ledger, lambda task, done: step(task.title), only=only, **how)
    if dry_run:
        screen.print(estimate(grid, ledger.seconds(), ledger.done(), how["workers"]), highlight=False, markup=False)


def _first_of_each(grid: "Grid") -> set[str]:
    """The first trial of each target on each graph, and of each control."""
    return {task.key for task in {task.cell: task for task in reversed(grid.tasks)}.values()}


def _close(ledger: "Ledger", file: Path, verbose: bool) -> None:
    from ..audit.results.applied import nothing_attacked
    from ..audit.results.assemble import assemble
    from ..reports.console.audit_console import in_words, print_audit

    audit = assemble(ledger.content())
    print_audit(console(), audit, verbose)
    click.echo(f"CPU time of all trials: {in_words(audit.seconds)}.", err=True)
    click.echo(f"All of it is in {file}: gaudit report {file} -o report.html", err=True)
    if not audit.valid:
        sys.exit(4)
    if audit.failures:
        sys.exit(1)
    nothing = nothing_attacked(audit)
    if nothing is not None:
        click.echo(f"gaudit: {nothing}", err=True)
        sys.exit(4)
