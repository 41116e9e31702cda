"""Which attacks read which messages, as a table on a terminal."""

from collections.abc import Mapping, Sequence

from rich.table import Table


def readers_table(readers: Mapping[str, Sequence[str]]) -> Table:
    """Kinds of messages beside the attacks that read them.

    Args:
        readers: of each kind of message the attacks that read it.
    """
    table = Table(title="Which attacks read which messages", title_justify="left")
    table.add_column("message kind", no_wrap=True)
    table.add_column("attacks that read it")
    for kind, attacks in readers.items():
        if attacks:
            table.add_row(kind, ", ".join(attacks))
    return table


def unread(readers: Mapping[str, Sequence[str]]) -> str | None:
    """A sentence that names the kinds that no attack reads, or None."""
    left = [kind for kind, attacks in readers.items() if not attacks]
    if not left:
        return None
    return f"No attack reads {', '.join(left)}: what these tell is not audited."
