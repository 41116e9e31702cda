"""Counts that published graphs are drawn from, as mechanisms whose claims are checked."""

from typing import Any

import numpy as np
from pydantic import Field

from ...graphs.network import Network
from ...mechanisms.group_reports import group_report
from ...mechanisms.guarantee import Released
from ...mechanisms.joint_degrees import joint_degrees
from ...mechanisms.mechanism import MechanismSettings
from ...mechanisms.statistics import Statistic


class JointDegreesSettings(MechanismSettings):
    """Settings of `JointDegrees`."""

    bound: int = Field(4, ge=2, description="public degree bound")


class JointDegrees(Statistic):
    """Numbers of edges between nodes of each two degrees, with noise in every cell (Wang and Wu 2013)."""

    name = "joint-degrees"
    Settings = JointDegreesSettings
    settings: JointDegreesSettings

    def inputs(self) -> tuple[Network, Network]:
        """Two stars of bound - 1 rays, apart and with their centres linked: all edges change their cell."""
        rays = self.settings.bound - 1
        ends = list(range(2, 2 + 2 * rays))
        centres = [0] * rays + [1] * rays
        return Network.from_edges(2 + 2 * rays, centres, ends), Network.from_edges(
            2 + 2 * rays, [*centres, 0], [*ends, 1]
        )

    def release(self, data: Network, rng: np.random.Generator) -> Released:
        return joint_degrees(data, self.settings.epsilon, self.settings.bound, rng)

    def score(self, released: Released) -> float:
        values: Any = released.values
        rays = 2 * (self.settings.bound - 1)
        last = min(max(values[-1, -1], 0), 1)
        return float(np.clip(values[0, -1], 0, rays) - np.clip(values[0, -2], 0, rays) + last)


class GroupReport(Statistic):
    """Every user's number of neighbours, by the user with noise: edge-local privacy (Qin et al. 2017)."""

    name = "group-report"

    def release(self, data: Network, rng: np.random.Generator) -> Released:
        return group_report(data, np.zeros(data.nodes, dtype=np.int64), self.settings.epsilon, rng)

    def score(self, released: Released) -> float:
        return float(np.clip(released.values, 0, 1).sum())
