"""A finding: one measured number with its interval and an honest word about both."""

from dataclasses import asdict, dataclass, replace


@dataclass(frozen=True)
class Finding:
    """A metric, its estimate, an interval, and how far the interval can be trusted.

    ``estimate`` is None when the sample cannot resolve the metric, ``low`` and ``high`` are None when there
    is no interval; ``note`` then says why. ``method`` says in one phrase how the interval was made.
    ``validity`` is ``"valid"`` (the interval holds its level under the assumptions stated by its method),
    ``"heuristic"`` (its coverage is measured by simulation, not derived) or ``"indicative"`` (no interval, or
    a sample too small for the method). ``members`` and ``non_members`` count distinct subjects of all seeds.
    """

    metric: str
    estimate: float | None
    low: float | None
    high: float | None
    level: float
    method: str
    validity: str
    note: str = ""
    members: int = 0
    non_members: int = 0
    seeds: int = 1

    @property
    def below_chance(self) -> bool:
        """Whether it is an AUC that is shown to be below 0.5: turned round, its scores tell as much."""
        return self.metric.endswith("auc") and self.high is not None and self.high < 0.5

    @property
    def above_zero(self) -> bool:
        """Whether it is shown to be above 0: a difference in favour of what comes first."""
        return self.low is not None and self.low > 0

    @property
    def turned(self) -> "Finding":
        """What the scores tell either way round: an AUC shown to be below 0.5 is mirrored, all else is as it is."""
        if not self.below_chance or None in (self.estimate, self.low, self.high):
            return self
        estimate, low, high = (1 - (x or 0.0) for x in (self.estimate, self.high, self.low))
        return replace(self, estimate=estimate, low=low, high=high)

    def as_dict(self) -> dict[str, str | int | float | None]:
        """Plain JSON types, floats rounded to 6 decimals."""
        return {
            name: round(float(value), 6) if isinstance(value, float) else value
            for name, value in asdict(self).items()
        }

    def text(self, digits: int = 3, percent: bool = False) -> str:
        """The number as a reader sees it: ``0.742 [0.701, 0.780]``, or ``not measurable``."""

        def show(value: float) -> str:
            return f"{100 * value:.{digits}f} %" if percent else f"{value:.{digits}f}"

        if self.estimate is None:
            return "not measurable"
        if self.low is None or self.high is None:
            return show(self.estimate)
        return f"{show(self.estimate)} [{show(self.low)}, {show(self.high)}]"
