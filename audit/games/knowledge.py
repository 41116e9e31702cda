"""Hands an adversary exactly what the game grants it, under ids that say nothing."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.utils import subgraph

from ...attacks.attack import Knowledge, Neighbours
from ...errors import InputError
from ...randomness import branch
from ...targets.messages import ANSWERS
from ...targets.models.training_config import TrainingConfig
from ...targets.target import Secrets
from ...targets.transcript import Message, View

POPULATION = 1000
FEW = 50


@dataclass(frozen=True)
class Grant:
    """An adversary's knowledge, and the referee's way back from its node ids to ours."""

    knowledge: Knowledge
    ids: np.ndarray

    def subject_ids(self, granted: np.ndarray) -> np.ndarray:
        """Our ids of nodes that the adversary names."""
        ids: np.ndarray = self.ids[granted]
        return ids

    def renamed(self, view: View) -> View:
        """What an observer sees, with the adversary's node ids in place of ours.

        A tensor called ``nodes`` in a table of answers, or in what goes to the public, names nodes; the message's
        rows are put into the order of the new ids, since the old order may tell.
        """
        theirs = torch.empty(len(self.ids), dtype=torch.long)
        theirs[torch.from_numpy(self.ids)] = torch.arange(len(self.ids))
        return replace(view, messages=tuple(_renamed(message, theirs) for message in view.messages))


def _renamed(message: Message, theirs: torch.Tensor) -> Message:
    nodes = message.tensors.get("nodes")
    if nodes is None or (message.receiver != "public" and not ANSWERS.covers(message.kind)):
        return message
    if nodes.dim() != 1 or nodes.is_floating_point() or bool(((nodes < 0) | (nodes >= len(theirs))).any()):
        raise InputError(
            f"the message '{message.kind}' names nodes that the graph does not have: expected ids from 0 to "
            f"{len(theirs) - 1}"
        )
    if any(len(t) != len(nodes) for t in message.tensors.values()):
        raise InputError(f"the message '{message.kind}' must hold one row for each of its {len(nodes)} nodes")
    order = theirs.to(nodes.device)[nodes.long()].argsort()
    rows = {name: tensor[order] for name, tensor in message.tensors.items()}
    return replace(message, tensors={**rows, "nodes": theirs.to(nodes.device)[nodes.long()][order]})


def grant(
    data: Data,
    secrets: Secrets,
    neighbours: Neighbours,
    knows_defense: bool,
    seed: np.random.SeedSequence,
    *,
    auditor: bool = False,
    recipe: TrainingConfig | None = None,
) -> Grant:
    """The prior knowledge of the shadow-model adversary (FedGC, appendix E), or of an auditor.

    Shadow nodes are drawn from those that are neither train nor test nodes of the target, as many as there
    are subjects or as many as there are. What is left then is the population that no model is trained on; where
    next to nothing is left, it is a quarter of the shadow nodes.
    """
    rng = np.random.default_rng(branch(seed, "grant"))
    nodes = data.num_nodes
    ours = rng.permutation(nodes)
    theirs = np.empty(nodes, dtype=np.int64)
    theirs[ours] = np.arange(nodes)
    left = np.setdiff1d(np.arange(nodes), secrets.subjects)
    drawn = rng.permutation(left)
    shadow = np.sort(theirs[drawn[: len(secrets.subjects)]])
    rest = theirs[drawn[len(secrets.subjects) :][:POPULATION]]
    population = np.sort(rest if len(rest) >= FEW else rng.choice(shadow, len(shadow) // 4, replace=False))
    edges = torch.from_numpy(theirs)[data.edge_index.cpu()]
    known = torch.from_numpy(shadow)
    labels = torch.full((nodes,), -1, dtype=torch.long)
    told = torch.from_numpy(np.concatenate([shadow, population, theirs[secrets.subjects] if auditor else shadow]))
    labels[told] = data.y.cpu()[torch.from_numpy(ours)[told]]
    inside, _ = subgraph(known, edges, num_nodes=nodes)
    knowledge = Knowledge(
        x=data.x.cpu()[torch.from_numpy(ours)],
        edges=_asked_with(edges, neighbours, rng),
        neighbours=neighbours,
        labels=labels,
        subjects=torch.from_numpy(np.sort(theirs[secrets.subjects])),
        shadow=known,
        shadow_edges=inside,
        members=int(secrets.truth.sum()),
        classes=int(data.y.max()) + 1,
        knows_defense=knows_defense,
        game=secrets.game,
        recipe=recipe,
        auditor=auditor,
        population=torch.from_numpy(population),
        all_edges=edges if auditor else edges[:, :0],
        seed=without_ancestry(branch(seed, "coins")),
    )
    return Grant(knowledge, ours)


def without_ancestry(seed: np.random.SeedSequence) -> np.random.SeedSequence:
    """Fresh entropy: a branch would carry the plan's seed along, from which the members could be drawn again."""
    return np.random.SeedSequence(seed.generate_state(4).tolist())


def _asked_with(edges: torch.Tensor, neighbours: Neighbours, rng: np.random.Generator) -> torch.Tensor:
    """The edges of the adversary's queries: all, a random half (both directions together), or none."""
    if neighbours in ("true", "apart"):
        return edges
    if neighbours == "none":
        return edges[:, :0]
    once = edges[:, edges[0] < edges[1]]
    once = once[:, torch.from_numpy(rng.permutation(once.shape[1])[: once.shape[1] // 2])]
    return torch.cat([once, once.flip(0)], dim=1)
