"""Adversaries who mount nothing in particular, as games ask of whom they grant knowledge."""

from types import SimpleNamespace

from gaudit.targets.game import Adversary


def adversary(neighbours="true", *, auditor=False, knows_links=0.0, knows_parts=False, **told) -> Adversary:
    """Somebody whose attack says no more than what a game asks of it; the rest as in `Adversary`."""
    return Adversary(
        SimpleNamespace(name="any", auditor=auditor, knows_links=knows_links, knows_parts=knows_parts),
        neighbours,
        **told,
    )
