"""A network that is published by windows of time, or one window of it to somebody who holds the one before."""

from typing import Self

from pydantic import Field, model_validator

from ...errors import InputError
from ...graphs.network import Network, Original
from ...graphs.snapshots import MOST_WINDOWS, WindowsBy, snapshot, windowed
from ...mechanisms.guarantee import Guarantee
from ...settings import Settings

NEED_WINDOWS = "speaks of windows of time: say how many with windows, as in windows=8"


def windows_follow(by: WindowsBy, promise: Guarantee | None) -> str | None:
    """Why a promise about messages does not hold for windows that were cut so; None where it does."""
    if by == "time" or promise is None or promise.unit not in ("event", "edge-history"):
        return None
    return (
        "windows with equally many events follow from the very messages that it hides, one of which moves all of "
        "them: cut windows of equal length"
    )


class WindowSettings(Settings):
    """Settings of targets in which a network may be published by windows of time."""

    windows: int | None = Field(
        None, ge=1, le=MOST_WINDOWS, description="published as many snapshots, windows of the times of edges"
    )
    by: WindowsBy | None = Field(
        None, description="windows of equal length (time, the default) or with equally many events (count)"
    )

    @model_validator(mode="after")
    def _by_needs_windows(self) -> Self:
        if self.windows is None and self.by is not None:
            raise ValueError(f"by {NEED_WINDOWS}")
        return self

    def cut(self, network: Network) -> Network:
        """The network by windows, if there are any.

        Raises:
            InputError: edges have no times.
        """
        return network if self.windows is None else windowed(network, self.windows, self.by or "time")

    def unknown_windows(self, promise: Guarantee | None) -> str | None:
        """Why a promise of differential privacy does not hold for these windows; None where it does."""
        return None if self.windows is None else windows_follow(self.by or "time", promise)

    @property
    def lengths(self) -> str:
        """What windows are alike in, in words."""
        return "with equally many events" if self.by == "count" else "of equal length"


class LinkingSettings(WindowSettings):
    """Settings of a target that may also publish one window to somebody who holds the one before."""

    linking: int | None = Field(
        None,
        ge=1,
        description="publishes the window after this one alone, to somebody who holds this one with names; windows "
        "are counted from 1",
    )

    @model_validator(mode="after")
    def _a_window_follows(self) -> Self:
        if self.linking is not None and self.windows is None:
            raise ValueError(f"linking {NEED_WINDOWS}")
        if self.windows is not None and self.linking is not None and self.linking >= self.windows:
            raise ValueError(
                f"linking={self.linking}: no window follows, of {self.windows}: choose a smaller number"
            )
        return self

    @property
    def together(self) -> bool:
        """Whether all windows are published, one beside the other."""
        return self.windows is not None and self.linking is None

    def original(self, network: Network) -> Original:
        """What is to be published of a network, and what the adversary holds of it beforehand.

        Raises:
            InputError: edges have no times, or a window that shall be published or held has no edge.
        """
        cut = self.cut(network)
        if self.linking is None:
            return Original(cut)
        held, published = (snapshot(cut, window) for window in (self.linking - 1, self.linking))
        if not held.size or not published.size:
            empty = self.linking + (held.size > 0)
            raise InputError(
                f"linking={self.linking}: window {empty} of {self.windows} has no edge: choose another"
            )
        return Original(published, auxiliary=held)

    def words(self) -> tuple[str, ...]:
        """What is published of times, as a note of the run; nothing without windows."""
        if self.windows is None:
            return ()
        if self.linking is None:
            return (f"published by {self.windows} windows of time {self.lengths}, and no time itself",)
        return (
            f"window {self.linking + 1} of {self.windows} {self.lengths} is published, to an adversary who holds "
            f"window {self.linking} with names",
        )
