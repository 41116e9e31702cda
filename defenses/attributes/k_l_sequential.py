"""(k, l)-sequential attributed degree: k people of l sensitive values alike over snapshots (Hoang et al. 2022)."""

from typing import Literal, Self

from pydantic import Field, model_validator

from .over_snapshots import OverSnapshots, SnapshotSettings
from .requirement import SEVERAL, ClassSettings


class KLSequentialSettings(SnapshotSettings):
    """Settings of `KLSequential`."""

    l_diversity: int = Field(2, ge=1, description="l: sensitive values of people who are alike")
    diversity: Literal["share", "distinct", "entropy"] = Field(
        "share",
        description="share: no value is that of more than 1/l of people who are alike; distinct: they have l "
        "values; entropy: their entropy is log l",
    )
    several: Literal["given-others", "each"] = SEVERAL
    window: int | None = Field(
        None, ge=1, description="w: snapshots that follow each other, over which people are alike; all by default"
    )

    @model_validator(mode="after")
    def _enough_people(self) -> Self:
        ClassSettings(k=self.k, l_diversity=self.l_diversity)
        return self


class KLSequential(OverSnapshots):
    """Adds values and edges until k people, with l sensitive values, are alike over all snapshots.

    As `k-ad-windows`, with clusters that are joined to near ones until their sensitive values are diverse too: with
    ``diversity=share`` no value is that of more than 1/l of people who are alike. The sensitive attribute itself is
    told as it is. With ``window=w`` people are alike in every w snapshots that follow each other.

    Source:
        Hoang, Carminati and Ferrari, "Time-Aware Anonymization of Knowledge Graphs", ACM TOPS 2022 ((k, l)-sad);
        diversity as in `requirement.Requirement`. As in `k-ad-windows` people are the same in all snapshots.
    """

    name = "k-l-sequential"
    phrase = "with every signature over snapshots shared by k people of l sensitive values"
    alternative = "k-ad-by-snapshot"
    guarantee = (
        "each node shares its published attributes, and its number of links in each relation of all snapshots (or "
        "of every w that follow each other), with at least k - 1 others, and their sensitive values are diverse; "
        "who knows more may tell them apart"
    )
    Settings = KLSequentialSettings
    settings: KLSequentialSettings

    @property
    def window(self) -> int | None:
        return self.settings.window

    @property
    def classes(self) -> ClassSettings:
        s = self.settings
        return ClassSettings(k=s.k, l_diversity=s.l_diversity, diversity=s.diversity, several=s.several)
