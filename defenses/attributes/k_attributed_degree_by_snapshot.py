"""k-attributed degree of each snapshot by itself: what several snapshots together undo."""

from .over_snapshots import OverSnapshots


class KAttributedDegreeBySnapshot(OverSnapshots):
    """Adds values and edges until k people are alike in each snapshot, whatever the others do.

    This is `k-ad` on one snapshot after the other, with attributes that are told once. It is the trivial
    alternative: who is like k - 1 others in each of two snapshots may be like nobody in both.
    """

    name = "k-ad-by-snapshot"
    phrase = "with every signature at least k times in each snapshot by itself"
    trivial = True
    guarantee = (
        "in each snapshot by itself each node shares its published attributes, and its number of links in each "
        "relation, with at least k - 1 others; several snapshots together may tell them apart"
    )

    @property
    def window(self) -> int:
        return 1
