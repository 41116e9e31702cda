"""What a published network keeps, in words: figures from samples say so, and how far off they may be."""

from collections.abc import Sequence

from ...graphs.measures.utility import Kept


def kept_cells(one: Kept) -> tuple[str, str, str]:
    """The value before, the value after and the score in percent, with intervals where they come from samples."""
    values = f"{one.before:.4g}", f"{one.after:.4g}", f"{100 * one.score:.1f}"
    if one.intervals is None:
        return values
    (low, high), (other_low, other_high), (least, most) = one.intervals
    return (
        f"{values[0]} [{low:.4g}, {high:.4g}]",
        f"{values[1]} [{other_low:.4g}, {other_high:.4g}]",
        f"{values[2]} [{100 * least:.1f}, {100 * most:.1f}]",
    )


def kept_note(kept: Sequence[Kept]) -> str:
    """Which measures were estimated and from what, in a sentence; nothing where all are exact."""
    parts = [f"{one.name} is {one.method}" for one in kept if one.intervals is not None]
    return f"In brackets: intervals of 95 % where a measure is an estimate. {'; '.join(parts)}." if parts else ""
