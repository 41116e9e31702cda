"""The list of `gaudit published --at-risk`: who is alone in a network that another tool published."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...audit.planning.plan import is_file
from ...audit.planning.resolve import graph_of
from ...graphs.measures.at_risk import at_risk, write_at_risk
from ...graphs.pyg import node_names
from ...targets.external.published import Published


def list_at_risk(place: Path, original: str, settings: Mapping[str, Any]) -> None:
    """Writes who is alone in the original and in the published network, by the original's names.

    Args:
        place: the list.
        original: file or data set.
        settings: of the target `published`, which say what was published and who is who.

    Raises:
        InputError: a file cannot be read, or who is who is not told, or the list is there already.
    """
    target = Published(**settings)
    data = graph_of(original, is_file(original), plain=True, timed=settings.get("windows") is not None)
    found = at_risk(target.original(data).network, target.under_original_numbers(data))
    write_at_risk(place, node_names(data), found)
