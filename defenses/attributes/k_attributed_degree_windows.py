"""k^w-attributed degree: k people are alike in every w snapshots that follow each other (Hoang et al. 2021)."""

from pydantic import Field

from .over_snapshots import OverSnapshots, SnapshotSettings


class KAttributedDegreeWindowsSettings(SnapshotSettings):
    """Settings of `KAttributedDegreeWindows`."""

    window: int = Field(2, ge=1, description="w: snapshots that follow each other, over which people are alike")


class KAttributedDegreeWindows(OverSnapshots):
    """Adds values and edges until k people are alike in every w snapshots that follow each other.

    How that is done, and what alike means, is said at `OverSnapshots`. With w no smaller than the number of
    snapshots it promises what `k-ad` does with snapshots as relations. With a smaller w it adds fewer edges, and
    somebody who knows degrees in more snapshots is not covered.

    Source:
        Hoang, Carminati and Ferrari, "Privacy-Preserving Sequential Publishing of Knowledge Graphs", ICDE 2021
        (k^w). The people are the same in all snapshots here: who is absent has no edge and shares that with k - 1
        others, so that nobody is made up or held back. Attributes are told once. Clusters are MDAV's.
    """

    name = "k-ad-windows"
    phrase = "with every signature over snapshots that follow each other at least k times"
    alternative = "k-ad-by-snapshot"
    guarantee = (
        "each node shares its published attributes, and its number of links in each relation of every w snapshots "
        "that follow each other, with at least k - 1 others; who knows more snapshots, or more of its links, may "
        "tell them apart"
    )
    Settings = KAttributedDegreeWindowsSettings
    settings: KAttributedDegreeWindowsSettings

    @property
    def window(self) -> int:
        return self.settings.window
