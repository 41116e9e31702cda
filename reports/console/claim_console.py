"""A claim of privacy beside what was measured, on a terminal."""

from typing import TYPE_CHECKING

from ...audit.claims.claims import ClaimCheck

if TYPE_CHECKING:
    from rich.table import Table


def claim_table(check: ClaimCheck) -> "Table":
    """One row: what is claimed, what was measured and how, and the verdict."""
    from rich.table import Table

    table = Table()
    for title in ("mechanism", "unit", "claimed epsilon", "delta", "measured, at least", "verdict", "how"):
        table.add_column(title)
    measured, claim = check.measured, check.guarantee
    table.add_row(
        check.mechanism,
        f"one {claim.unit} ({claim.adjacency}, {claim.model})",
        f"{float(claim.epsilon):g}",
        f"{float(claim.delta):g}",
        "not measurable" if measured.low is None else f"{measured.low:.2f}",
        "refuted" if check.refuted else "not refuted",
        f"{measured.method}; {measured.note}; {100 * measured.level:g} % confidence, {measured.validity}",
    )
    return table
