"""`gaudit lint-claim`: does a promise of privacy follow from what is said of it?"""

import sys
from pathlib import Path

import click

from ..errors import InputError
from .terminal import clear_errors, console


@click.command(name="lint-claim", short_help="Look for known mistakes in a claim on paper.")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "shape",
    type=click.Choice(["console", "json"]),
    default="console",
    show_default=True,
    help="How remarks are printed.",
)
@click.option("--example", is_flag=True, help="Print a file to begin with, with a comment on every fact.")
@clear_errors
def lint_claim_command(file: Path | None, shape: str, example: bool) -> None:
    """Look for known mistakes in a claim of differential privacy: FILE (TOML or JSON) says what it rests on.

    Nothing is run: the facts are taken as stated, and the numbers recomputed from them. Exit codes: 0 nothing is
    wrong as stated; 1 the claim does not follow; 2 something in the command or file is wrong.

    Example: gaudit lint-claim --example > claim.toml && gaudit lint-claim claim.toml
    """
    if example:
        from ..audit.lint.claim_example import example_text

        click.echo(example_text(), nl=False)
        return
    if file is None:
        raise InputError("no file is given: write one, beginning with gaudit lint-claim --example > claim.toml")
    from ..audit.lint.claim_rules import lint
    from ..audit.lint.claim_statement import Statement

    found = lint(Statement.read(file))
    if shape == "json":
        click.echo(found.json(), nl=False)
    else:
        from ..reports.console.claim_console import print_lint

        print_lint(console(), found)
    sys.exit(1 if found.wrong else 0)
