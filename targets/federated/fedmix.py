"""FedMix: clients exchange means of a few rows, and train on mixtures with these (Yoon et al., ICLR 2021)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from ...randomness import branch, integer
from ..messages import COMMON_MEANS_KIND, MEAN_ROWS_KIND
from ..party import Client
from .federated_averaging import Federated, FederatedRun, FederatedSettings
from .local_training import Drop, Forward, LocalTask, Subgraph, Weights, nothing_dropped


class FedMixSettings(FederatedSettings):
    """Settings of `FedMix`: those of `fedavg`, of the means and of the mixture (5 and 0.1 as in the paper)."""

    rows: int = Field(5, ge=1, description="labelled rows in a mean; 1: rows as they are, as in data sharing")
    share: float = Field(0.1, ge=0, le=1, description="of others' means in a mixture")
    upload: Literal["weights"] = "weights"


def means_of(x: Tensor, y: Tensor, rows: int, seed: torch.Generator) -> dict[str, Tensor]:
    """Means of ``rows`` rows each, drawn without replacement; rows that are left over are in none.

    Args:
        x: rows [k, d].
        y: labels, one-hot [k, C].
        rows: of a mean; all k where there are fewer.
        seed: for the draw.

    Returns:
        ``x`` [m, d], ``y`` [m, C] and how many ``rows`` each is the mean of, [m].
    """
    each = min(rows, len(x))
    drawn = torch.randperm(len(x), generator=seed)[: len(x) // each * each].view(-1, each).to(x.device)
    return {"x": x[drawn].mean(1), "y": y[drawn].mean(1), "rows": torch.full((len(drawn),), each)}


@dataclass(frozen=True)
class MixedTask(LocalTask):
    """A client's task on rows (1 - s) x + s m, for the labels of which it pays (1 - s) and s.

    Attributes:
        mixed: what the model reads then.
        others: the mean's labels, [C].
        share: s.
    """

    mixed: Forward | None = None
    others: Tensor | None = None
    share: float = 0.0

    def loss(self, weights: Weights, drop: Drop = nothing_dropped) -> Tensor:
        assert self.mixed is not None
        assert self.others is not None
        logits = self.mixed(weights, drop)
        own = logits[self.labelled]
        return (1 - self.share) * self.loss_of(logits) + self.share * F.cross_entropy(
            own, self.others.expand_as(own)
        )


class _MixedRun(FederatedRun):
    """Attributes: the means of all clients, as each got them."""

    settings: FedMixSettings
    means: Mapping[str, Tensor]

    def before_round(self, round_: int, received: Mapping[str, Tensor]) -> None:
        if round_ == 0:
            told = [self._told(client) for client in self.clients]
            every = {name: torch.cat([one[name] for one in told]) for name in told[0]}
            self.means = self.channel.send(COMMON_MEANS_KIND, "server", "clients", -1, every)

    def _told(self, client: Client) -> Mapping[str, Tensor]:
        labels = F.one_hot(client.y_train[client.train], client.classes).to(client.x.dtype)
        coins = torch.Generator().manual_seed(integer(branch(self.seed, "means", client.number)))
        means = means_of(client.x[client.train], labels, self.settings.rows, coins)
        return self.channel.send(MEAN_ROWS_KIND, client.name, "server", -1, means)

    def tasks_of(self, tasks: list[LocalTask], received: Mapping[str, Tensor], round_: int) -> list[LocalTask]:
        return [self._mixed(c, t, round_) for c, t in zip(self.clients, tasks, strict=True)]

    def _mixed(self, client: Client, task: LocalTask, round_: int) -> LocalTask:
        """The task with one of the means, which is drawn anew in every round."""
        coins = torch.Generator().manual_seed(integer(branch(self.seed, "mixtures", client.number, round_)))
        one, share = int(torch.randint(len(self.means["x"]), (), generator=coins)), self.settings.share
        rows = (1 - share) * client.x + share * self.means["x"][one].to(client.x.device)
        own = {f.name: getattr(task, f.name) for f in fields(task)}
        others = self.means["y"][one].to(client.x.device)
        mixed = Subgraph.of(self.recipe, rows, client.edges)
        return MixedTask(**own, mixed=mixed, others=others, share=share)


class FedMix(Federated):
    """Federated averaging in which clients train on mixtures of their rows with means of others' rows (FedMix).

    Before the first round each client sends means of ``rows`` labelled rows and of their labels; the server hands
    all of them to all. In a round a client draws one mean m with labels z and trains on rows (1 - s) x + s m, with
    the loss (1 - s) l(y) + s l(z). That is the paper's NaiveMix (Yoon et al. 2021, equation 2), which FedMix
    approximates to first order in s; the messages are the same. On a graph all rows of the client are mixed, before
    they are aggregated. With ``rows=1`` real rows are shared, as in data sharing (Zhao et al. 2018).

    A mean of a few sparse rows holds every word of each of them: whoever sees it tells whose rows are in it.
    """

    name = "fedmix"
    sends: ClassVar[tuple[str, ...]] = (*Federated.sends, MEAN_ROWS_KIND, COMMON_MEANS_KIND)
    Settings = FedMixSettings
    settings: FedMixSettings
    loop = _MixedRun
