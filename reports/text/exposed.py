"""How much observers see, and when, in words."""

from ...targets.transcript import Exposure


def readable_bytes(count: int) -> str:
    """1536 as '1.5 KiB'."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError


def rounds_of(row: Exposure) -> str:
    """The rounds in which messages were seen."""
    first, last = ("before the first" if r < 0 else str(r) for r in (row.first_round, row.last_round))
    return first if first == last else f"{first} to {last}"
