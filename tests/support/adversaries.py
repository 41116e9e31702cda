"""Adversaries who mount nothing in particular, as games ask of whom they grant knowledge."""

from types import SimpleNamespace

from gaudit.targets.game import Adversary


def adversary(
    neighbours="true", *, auditor=False, own_data=False, knows_links=0.0, knows_parts=False, **told
) -> Adversary:
    """Somebody whose attack says no more than what a game asks of it; the rest as in `Adversary`."""
    says = {"auditor": auditor, "own_data": own_data, "knows_links": knows_links, "knows_parts": knows_parts}
    return Adversary(SimpleNamespace(name="any", **says), neighbours, **told)
