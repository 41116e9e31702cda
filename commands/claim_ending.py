"""How commands end that put a promise to the test."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..output_files import write
from .terminal import console

if TYPE_CHECKING:
    from ..audit.claims.claim_check import ClaimCheck


def end_with(found: "ClaimCheck", json_file: Path | None) -> None:
    """Shows what was found, writes it if asked to, and exits with 1 where the promise is refuted, else with 0."""
    from ..reports.console.claim_console import claim_table

    screen = console()
    screen.print(claim_table(found))
    screen.print(found.guarantee.sentence())
    screen.print(found.sentence())
    if json_file is not None:
        write(json_file, found.json())
    sys.exit(1 if found.refuted else 0)
