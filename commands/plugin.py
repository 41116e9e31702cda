"""`gaudit plugin check`: does a plug-in keep the rules that gaudit's own classes keep?"""

import sys
from typing import TYPE_CHECKING

import click

from .terminal import clear_errors

if TYPE_CHECKING:
    from ..audit.conformance.plugin_check import Outcome, PluginCheck

WORDS = {True: "holds", False: "BROKEN", None: "not checked"}


@click.group(name="plugin", short_help="Check classes of other packages.")
def plugin_group() -> None:
    """Check what other packages bring: attacks, defenses, targets, games, mechanisms, formats and readers."""


@plugin_group.command(short_help="Run the rules of gaudit on a plug-in.")
@click.argument("name")
@clear_errors
def check(name: str) -> None:
    """Run the rules that gaudit's own classes keep on each class of the plug-in NAME.

    NAME is a distribution as pip knows it, a class as gaudit list shows it, or module:Class of your own. This runs
    its code. Exit codes: 0 all rules hold; 1 one is broken; 2 nothing is called so, or it is not finished.

    Example: gaudit plugin check my_attack:Closest
    """
    from ..audit.conformance.plugin_check import check_plugin
    from ..audit.running.trial import use_one_thread
    from ..reports.console.progress import staged

    use_one_thread()
    with staged() as report:
        found = check_plugin(name, lambda part, rule: report(str(part), rule, 0, 1))
    _print(found)
    sys.exit(1 if found.broken else 0)


def _print(found: "PluginCheck") -> None:
    click.echo(found.sentence())
    for part in dict.fromkeys(one.part for one in found.outcomes):
        click.echo(f"\n{part}")
        for one in found.outcomes:
            if one.part == part:
                click.echo(_line(one))
    click.echo(f"\n{found.doubt()}")


def _line(outcome: "Outcome") -> str:
    words = f"  {WORDS[outcome.holds]:<11}  {outcome.sentence}"
    if not outcome.told:
        return words
    return f"{words} ({outcome.told})" if outcome.holds else f"{words.rstrip('.')}: {outcome.told}."
