"""Many models as one network with stacked weights: for other devices than the CPU, and for GAT.

A step of all models is one sparse product. Models that read the same graph share its operator, with their rows side
by side; where each has a graph of its own (its members' subgraph) and for GAT the graphs make one block-diagonal
graph. Plain torch with autograd: on a GPU the batch is what makes it fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...randomness import integer
from .propagation import Factor, gcn_operator, mean_operator
from .training_task import One, Query, TrainingTask

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Weights = dict[str, "Tensor"]
FLOATS_PER_UNIT = 12
"""Copies of a hidden layer that a step holds at most: forward, backward, dropout, and the optimiser's."""


def batches(
    task: TrainingTask,
    queries: Sequence[Query],
    first: Sequence[Weights],
    coins: Sequence[np.random.SeedSequence],
    device: str,
    memory: int,
) -> Iterator[One]:
    """Trains the models batch by batch; a batch is as large as ``memory`` bytes allow."""
    for batch in _made(task, first, coins, device, memory):
        yield from batch.trained(queries)


def batch_size(task: TrainingTask, memory: int) -> int:
    """Models that fit into ``memory`` bytes together; at least one.

    Edges count for each model: those of a shared graph are few beside its rows, and answers may need copies.
    """
    n, edges = task.data.num_nodes, task.data.edge_index.shape[1] + task.data.num_nodes
    per_edge = task.recipe.hidden if task.recipe.architecture == "gat" else 1
    floats = FLOATS_PER_UNIT * n * task.recipe.hidden + 8 * edges * per_edge
    floats += 4 * (task.data.num_features * task.recipe.hidden)
    return int(max(1, memory // (4 * floats)))


@dataclass(frozen=True)
class Course:
    """What is asked of a training besides its end.

    Attributes:
        snapshots: epochs after which weights are kept, ascending; 0 for the first weights.
        plain: plain gradient descent instead of Adam, which remembers earlier steps.
        added: what is added to the loss of model k, from its logits [n, C].
    """

    snapshots: tuple[int, ...] = ()
    plain: bool = False
    added: Callable[[int, Tensor], Tensor] | None = None


def recorded(
    task: TrainingTask,
    first: Sequence[Weights],
    coins: Sequence[np.random.SeedSequence],
    device: str,
    memory: int,
    course: Course,
) -> Iterator[Weights]:
    """Trains the models batch by batch; yields a batch's snapshots [g, T, ...] by name, on the CPU."""
    for batch in _made(task, first, coins, device, memory, course):
        yield batch.recorded()


def asked_in_batches(
    task: TrainingTask, queries: Sequence[Query], weights: Sequence[Weights], device: str, memory: int
) -> Iterator[list[Tensor]]:
    """Asks models that are trained already, batch by batch."""
    nobody = np.random.SeedSequence(0)
    for batch in _made(task, weights, [nobody] * len(weights), device, memory):
        answers = [batch.asked(query) for query in queries]
        yield from ([answer[k].cpu() for answer in answers] for k in range(len(batch.members)))


def _made(
    task: TrainingTask,
    first: Sequence[Weights],
    coins: Sequence[np.random.SeedSequence],
    device: str,
    memory: int,
    course: Course = Course(),
) -> Iterator[_Batch]:
    """Batches of models, one after the other, each as large as ``memory`` bytes allow."""
    size = batch_size(task, memory)
    for start in range(0, len(first), size):
        some = range(start, min(start + size, len(first)))
        yield _Batch(task, [first[k] for k in some], [coins[k] for k in some], some, device, course)


@dataclass(frozen=True)
class Blocks:
    """The graphs of g models on n nodes each.

    Attributes:
        edges: of all graphs side by side, or of the one that all share, [2, e], with self-loops for GAT.
        operator: how a layer propagates rows, [g n, g n] or [n, n] where it is shared; none for an MLP.
        nodes: g n, or n.
        shared: whether all models read the same graph.
    """

    edges: Tensor
    operator: Factor | None
    nodes: int
    shared: bool = False

    def propagated(self, rows: Tensor) -> Tensor:
        """Each model's rows [g, n, h] after one step, [g, n, h]."""
        assert self.operator is not None
        if not self.shared:
            return (self.operator @ rows.flatten(0, 1)).view(rows.shape)
        models, nodes, width = rows.shape
        moved = self.operator @ rows.transpose(0, 1).reshape(nodes, models * width)
        return moved.view(nodes, models, width).transpose(0, 1)


class _Batch:
    """Models that are trained together."""

    def __init__(
        self,
        task: TrainingTask,
        first: list[Weights],
        coins: list[np.random.SeedSequence],
        some: range,
        device: str,
        course: Course = Course(),
    ) -> None:
        import torch

        self.recipe, self.classes, self.task, self.device = task.recipe, task.classes, task, device
        self.course, self.some, self.seen = course, some, list[Weights]()
        self.x = task.data.x.float().to(device)
        self.y = task.data.y.to(device)
        self.members = task.members[some.start : some.stop].to(device)
        self.weights = {n: torch.stack([w[n] for w in first]).to(device).requires_grad_() for n in first[0]}
        self.generators = [torch.Generator(device).manual_seed(integer(c)) for c in coins]

    def trained(self, queries: Sequence[Query]) -> Iterator[One]:
        edges = self.task.data.edge_index.to(self.device)
        epochs = self._train(self._blocks(edges, within=self.task.induced))
        answers = [self.asked(query) for query in queries]
        for k in range(len(self.members)):
            kept = {name: weight[k].detach().cpu() for name, weight in self.weights.items()}
            yield [answer[k].cpu() for answer in answers], int(epochs[k]), kept

    def recorded(self) -> Weights:
        import torch

        edges = self.task.data.edge_index.to(self.device)
        self._train(self._blocks(edges, within=self.task.induced))
        return {name: torch.stack([seen[name] for seen in self.seen], 1) for name in self.weights}

    def _keep(self, epoch: int) -> None:
        """Notes the weights if they are asked for: a copy, since the optimiser goes on to change them in place."""
        if epoch in self.course.snapshots:
            self.seen.append({name: w.detach().to("cpu", copy=True) for name, w in self.weights.items()})

    def _train(self, blocks: Blocks) -> Tensor:
        import torch

        recipe, watch = self.recipe, self.task.validation
        validation = None if watch is None else watch.to(self.device)
        seen = blocks if watch is None or not self.task.induced else self._validation_blocks(watch)
        optimiser = self._optimiser(recipe.lr)
        models = len(self.members)
        best, since = torch.full((models,), -1.0, device=self.device), torch.zeros(models, device=self.device)
        kept = {name: w.detach().clone() for name, w in self.weights.items()}
        epochs = torch.full((models,), recipe.epochs, device=self.device)
        self._keep(0)
        for epoch in range(1, recipe.epochs + 1):
            optimiser.zero_grad(set_to_none=True)
            self._loss(self._logits(blocks, training=True)).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            self._keep(epoch)
            if recipe.drop_lr_at is not None and epoch == int(recipe.epochs * recipe.drop_lr_at):
                optimiser = self._optimiser(recipe.lr / 10)
            if validation is not None and (epoch % recipe.every == 0 or epoch == recipe.epochs):
                running = since < recipe.patience if recipe.patience else torch.ones_like(since, dtype=torch.bool)
                with torch.no_grad():
                    right = (self._logits(seen).argmax(2) == self.y)[:, validation].float().sum(1)
                better = (right > best) & running
                best, since = torch.where(better, right, best), torch.where(better, 0, since + running)
                for name, weight in self.weights.items():
                    kept[name][better] = weight.detach()[better]
                if recipe.patience:
                    stopped = running & (since >= recipe.patience)
                    epochs.masked_fill_(stopped, epoch)
                    if bool((since >= recipe.patience).all()):
                        break
        if validation is not None:
            self.weights = kept
        return epochs.cpu()

    def _optimiser(self, lr: float) -> torch.optim.Optimizer:
        import torch

        if self.course.plain:
            return torch.optim.SGD(self.weights.values(), lr=lr, weight_decay=self.recipe.weight_decay)
        return torch.optim.Adam(self.weights.values(), lr=lr, weight_decay=self.recipe.weight_decay, fused=True)

    def _loss(self, logits: Tensor) -> Tensor:
        """The sum of the models' mean losses: each model's gradient is its own."""
        from torch.nn import functional as F

        every = F.cross_entropy(logits.flatten(0, 1), self.y.repeat(len(logits)), reduction="none")
        mine = every.view(len(logits), -1) * self.members
        loss = (mine.sum(1) / self.members.sum(1)).sum()
        if self.course.added is not None:
            loss = loss + sum(self.course.added(k, own) for k, own in zip(self.some, logits, strict=True))
        return loss

    def asked(self, query: Query) -> Tensor:
        """Logits [g, s, C]."""
        import torch

        edges = torch.empty((2, 0), dtype=torch.long) if query.edges is None else query.edges
        x = self.x if query.x is None else query.x.float().to(self.device)
        with torch.no_grad():
            logits = self._logits(self._blocks(edges.to(self.device), apart=query.apart, nodes=len(x)), x=x)
        return logits[:, query.nodes.to(self.device)]

    def _validation_blocks(self, watch: Tensor) -> Blocks:
        edges = self.task.data.edge_index
        return self._blocks(edges[:, watch[edges[0]] & watch[edges[1]]].to(self.device))

    def _blocks(self, edges: Tensor, within: bool = False, apart: bool = False, nodes: int | None = None) -> Blocks:
        """Each model's graph: all edges, those within its members, or those that do not cross to non-members."""
        import torch

        nodes, parts = nodes or len(self.x), []
        if not (within or apart) and self.recipe.architecture != "gat":
            return self._blocks_of(edges, nodes, shared=True)
        for k, members in enumerate(self.members):
            kept = edges
            if within:
                kept = edges[:, members[edges[0]] & members[edges[1]]]
            elif apart:
                kept = edges[:, members[edges[0]] == members[edges[1]]]
            parts.append(kept + k * nodes)
        beside, total = torch.cat(parts, 1), nodes * len(self.members)
        if self.recipe.architecture == "gat":
            loops = torch.arange(total, device=beside.device).repeat(2, 1)
            return Blocks(torch.cat([beside, loops], 1), None, total)
        return self._blocks_of(beside, total, shared=False)

    def _blocks_of(self, edges: Tensor, nodes: int, shared: bool) -> Blocks:
        if self.recipe.architecture == "mlp":
            return Blocks(edges, None, nodes, shared)
        operator = mean_operator if self.recipe.architecture == "sage" else gcn_operator
        return Blocks(edges, Factor.of(operator(edges, nodes)), nodes, shared)

    def _logits(self, blocks: Blocks, training: bool = False, x: Tensor | None = None) -> Tensor:
        """[g, n, C]."""
        import torch
        from torch.nn import functional as F

        w, x = self.weights, self.x if x is None else x
        if self.recipe.architecture == "sgc":
            out = self._projected(x, w["w"])
            for _ in range(self.recipe.hops):
                out = blocks.propagated(out)
            return out + w["b"][:, None]
        hidden = self._layer(blocks, x, "1")
        hidden = F.elu(hidden) if self.recipe.architecture == "gat" else torch.relu(hidden)
        if training:
            hidden = self._dropped(hidden)
        return self._layer(blocks, hidden, "2")

    def _layer(self, blocks: Blocks, rows: Tensor, number: str) -> Tensor:
        w, kind = self.weights, self.recipe.architecture
        out = self._projected(rows, w["w" + number])
        if kind == "gat":
            out = self._attended(blocks, out, w["from" + number], w["to" + number], number)
        elif kind != "mlp":
            out = blocks.propagated(out)
        if kind == "sage":
            out = out + self._projected(rows, w["r" + number])
        return out + w["b" + number][:, None]

    @staticmethod
    def _projected(rows: Tensor, weight: Tensor) -> Tensor:
        """Rows [n, d] or [g, n, d] times each model's weight [g, d, h]: [g, n, h]."""
        import torch

        if rows.dim() == 3:
            return torch.bmm(rows, weight)
        models, _, width = weight.shape
        return (rows @ weight.permute(1, 0, 2).flatten(1)).view(-1, models, width).transpose(0, 1)

    def _attended(self, blocks: Blocks, rows: Tensor, sender: Tensor, receiver: Tensor, number: str) -> Tensor:
        """Attention over neighbours and the node itself (Velickovic et al. 2018), heads side by side."""
        import torch
        from torch.nn import functional as F

        models, nodes, width = rows.shape
        heads = self.recipe.heads if number == "1" else 1
        split = (models, 1, heads, width // heads)
        by_head = rows.view(models, nodes, heads, width // heads)
        source, target = blocks.edges
        sent = (by_head * sender.view(split)).sum(3).view(-1, heads)
        got = (by_head * receiver.view(split)).sum(3).view(-1, heads)
        score = F.leaky_relu(sent[source] + got[target], 0.2)
        index = target[:, None].expand_as(score)
        most = torch.full_like(sent, -torch.inf).scatter_reduce(0, index, score.detach(), "amax")
        share = (score - most[target]).exp()
        total = torch.zeros_like(sent).index_add(0, target, share)
        carried = by_head.reshape(-1, heads, width // heads)[source] * (share / total[target])[..., None]
        out = torch.zeros((blocks.nodes, heads, width // heads), device=rows.device).index_add(0, target, carried)
        return out.view(models, nodes, width)

    def _dropped(self, hidden: Tensor) -> Tensor:
        import torch

        rate = round(256 * self.recipe.dropout) / 256
        if rate == 0:
            return hidden
        drawn = [torch.rand(hidden.shape[1:], generator=g, device=hidden.device) for g in self.generators]
        return hidden * (torch.stack(drawn) >= rate) / (1 - rate)
