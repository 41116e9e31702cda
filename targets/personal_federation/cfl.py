"""CFL: a server divides clients whose updates point apart into clusters (Sattler et al., TNNLS 2021)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from pydantic import Field
from torch import Tensor

from ..federated.clustering import (
    DivisionRule,
    DivisionSettings,
    changes_of,
    cosine_similarities,
    parts_least_alike,
)
from ..federated.federated_averaging import (
    POSTERIORS_KIND,
    Federated,
    FederatedRun,
    averaged,
    must_read_uploads,
)
from ..federated.local_training import OptimiserName
from ..federated.no_common_model import NoCommonModelSettings
from ..game import Game
from ..games.class_presence import ClassPresence, class_presence
from ..messages import CLUSTERS_KIND, GLOBAL_KIND, MODEL_KIND

if TYPE_CHECKING:
    from torch_geometric.data import Data


class CFLSettings(DivisionSettings, NoCommonModelSettings):
    """Settings of `CFL`: those of `fedavg`, and when a cluster is divided."""

    gamma: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="and only if sqrt((1 - c) / 2) is larger, where c is the largest cosine of two updates across "
        "the parts: how far clients of one group may err; 0 does without",
    )
    optimiser: OptimiserName = "sgd"
    lr: float = Field(
        0.5, gt=0, description="of SGD; Adam takes steps of about the rate however small the gradient"
    )


class _DividedRun(FederatedRun):
    """A run whose server divides clusters.

    Attributes:
        clusters: the places of each cluster's clients; one cluster at first.
        models: the weights of each cluster.
        begun: what each client was handed in the last round, and which one that was.
    """

    settings: CFLSettings
    clusters: list[list[int]]
    models: list[Mapping[str, Tensor]]
    begun: tuple[list[Mapping[str, Tensor]], int]

    @cached_property
    def rule(self) -> DivisionRule:
        """When it does; made once, since it remembers the first rounds."""
        return DivisionRule(self.settings)

    def handed_out(self, weights: Mapping[str, Tensor], round_: int) -> list[Mapping[str, Tensor]]:
        if round_ == 0:
            self.clusters, self.models = [list(range(len(self.clients)))], [weights]
        if len(self.clusters) == 1:
            found = super().handed_out(self.models[0], round_)
        else:
            of = {place: model for part, model in zip(self.clusters, self.models, strict=True) for place in part}
            found = [
                self.channel.send(GLOBAL_KIND, "server", client.name, round_, of[place])
                for place, client in enumerate(self.clients)
            ]
        self.begun = found, round_
        return found

    def averaged(self, uploads: list[Mapping[str, Tensor]]) -> dict[str, Tensor]:
        must_read_uploads(self.channel)
        received, round_ = self.begun
        before, self.clusters = self.clusters, self._regrouped(changes_of(uploads, received), round_)
        if self.clusters != before:
            number = torch.empty(len(self.clients), dtype=torch.long)
            for at, cluster in enumerate(self.clusters):
                number[cluster] = at
            self.channel.hold(CLUSTERS_KIND, "server", round_, {"cluster": number})
        mean = super().averaged(uploads)
        self.models = [mean] if len(self.clusters) == 1 else [self._mean(uploads, part) for part in self.clusters]
        return mean

    def final_models(self, weights: Mapping[str, Tensor]) -> list[Mapping[str, Tensor]]:
        if len(self.clusters) == 1:
            self.notes.append(
                f"no cluster was divided in {self.settings.rounds} rounds: all clients have one model, as in fedavg"
            )
        return self.handed_out(weights, self.settings.rounds)

    def secrets(self) -> dict[str, Game]:
        return super().secrets() | class_presence(self.original)

    def figures(self) -> dict[str, float]:
        return {"clusters": float(len(self.clusters))}

    def _regrouped(self, changes: Tensor, round_: int) -> list[list[int]]:
        """The clusters after a round that changed each client's weights so, [K, p]."""
        self.rule.observe(changes, round_, self.shares)
        found = list[list[int]]()
        for cluster in self.clusters:
            own = changes[cluster]
            parts: tuple[list[int], ...] = ([*range(len(cluster))],)
            if self.rule.divides(own, round_, [self.shares[place] for place in cluster]):
                parts = divided(own, self.settings.gamma)
            found.extend([cluster[at] for at in part] for part in parts)
        return found

    def _mean(self, uploads: list[Mapping[str, Tensor]], cluster: list[int]) -> dict[str, Tensor]:
        total = sum(self.shares[place] for place in cluster)
        return averaged([uploads[k] for k in cluster], [self.shares[k] / total for k in cluster])


def divided(changes: Tensor, gamma: float) -> tuple[list[int], ...]:
    """The optimal bipartition of clients with such ``changes`` [k, p], or all in one if ``gamma`` forbids it."""
    similarities = cosine_similarities(changes)
    one, other = parts_least_alike(similarities)
    across = float(similarities[one][:, other].max()) - 1
    if math.sqrt(max(0.0, 1 - across) / 2) > gamma:
        return one, other
    return ([*range(len(changes))],)


class CFL(Federated):
    """Clustered federated learning: clients whose updates point apart go on with models of their own.

    Step by step, after Sattler, Mueller and Samek (Clustered Federated Learning, TNNLS 2021) and their release:

    1. The clients of a cluster begin a round with its weights, train, and upload theirs; the server reads the
       difference dw_k. At first there is one cluster, so that all is `fedavg` until the first division.
    2. A cluster is divided if |mean of dw_k| < e1, by `fedavg`'s shares, and max |dw_k| > e2. The paper trains
       until the mean is that short and asks then; here, as in the release, this is asked in every round, of more
       than two clients, once ``divides_after`` rounds are over (20, as in the release).
    3. The two parts are those whose largest cosine across, c, is the least (the paper's optimal bipartition; the
       release takes complete linkage instead). They are kept only if sqrt((1 - c) / 2) > ``gamma``, the paper's
       bound on how far gradients within a group may err; its release does without, and so does the default.
    4. From that round on each part is a cluster with a mean of its own, and may be divided again.

    The release sets e1 and e2 by hand for its data (0.4 and 1.6). Norms depend on width, rate and steps, so that
    here both are shares of the same norms, as in `gcfl`: of their means over the first five rounds. With
    ``thresholds=absolute`` they are norms. Local steps are plain ones of SGD, as in the paper, but on all nodes of
    a client at once. With Adam, `fedavg`'s optimiser, updates hardly get shorter when the training comes to rest,
    and so nothing is divided. The tree of models that places newcomers is left out, since all clients take part in
    every round, and so are updates that are hidden from the server by a rotation that clients share.

    What the server learns are the messages of `fedavg`, and who is like whom: it makes the clusters from them.
    Clients are not told who is with them; a division is felt as a model that others do not get. A defense that
    seals uploads does not go with it, since the server compares them.
    """

    name = "cfl"
    release = POSTERIORS_KIND
    release_phrase = "what each cluster's model says of its clients' nodes"
    sends: ClassVar[tuple[str, ...]] = (*(kind for kind in Federated.sends if kind != MODEL_KIND), CLUSTERS_KIND)
    games: ClassVar[tuple[str, ...]] = (*Federated.games, ClassPresence.name)
    loop: ClassVar[type[FederatedRun]] = _DividedRun
    Settings = CFLSettings
    settings: CFLSettings

    @classmethod
    def preset(cls, preset: str, data: Data) -> dict[str, Any]:
        found = super().preset(preset, data)
        found.pop("lr", None)  # a rate for Adam
        # so many rounds leave ten after the first division
        return {**found, "rounds": 30} if preset == "quick" else found
