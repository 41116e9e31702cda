"""Models that are trained and asked by functions of the user's own, whatever framework they use."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ...errors import InputError, quoted
from ...graphs.masks import MASKS
from ...randomness import branch, integer, seeded
from .training_task import Query

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data

Fit = Callable[["Data", "Tensor", int], Any]
"""``fit(data, mask, seed) -> model``: trains on the labels of the nodes in a mask [n] bool."""
Predict = Callable[[Any, "Tensor", "Tensor", "Tensor"], Any]
"""``predict(model, x, edge_index, nodes) -> logits`` [s, C] of nodes [s] on a graph with features x [n, d]."""
Step = Callable[[int, int], None]
FEW_ROWS = 10
"""With fewer rows, logits may have one sum by chance."""


def _silent(done: int, total: int) -> None:
    """Reports nothing."""


@dataclass(frozen=True, eq=False)
class OwnTraining:
    """How a model's owner trains and asks, by two functions.

    Attributes:
        fit: trains a model. It gets a copy of the graph as `with_known_fields` leaves it, whose ``train_mask`` is
            the mask and which has no ``test_mask``; in the game node presence the graph of the mask's nodes alone.
            Whatever it draws from the global generators of Python, numpy and torch is seeded before.
        predict: gives logits, log-probabilities or posteriors.
        data: the graph, in the ids of whoever is granted it, with fields that can be told in any ids.
        classes: C.
        induced: whether each model sees its members' subgraph alone.
        progress: called with models trained and in all.
    """

    fit: Fit
    predict: Predict
    data: Data
    classes: int
    induced: bool = False
    progress: Step = field(default=_silent, repr=False)

    def granted(self, ours: np.ndarray) -> Self:
        """The same under the ids that an adversary is told: ``ours`` [n] holds our id of each."""
        return replace(self, data=renumbered(self.data, ours))

    def models(
        self, masks: Sequence[np.ndarray], pool: np.ndarray | None, seed: np.random.SeedSequence
    ) -> list[Any]:
        """One model for each mask [n] bool, side by side in processes where joblib's context says so.

        Args:
            masks: whose labels each model trains on.
            pool: nodes whose edges among themselves are all that models are trained with; None for all edges.
            seed: root of the models' randomness; results do not depend on who trains what.

        Raises:
            InputError: ``fit`` failed, or its model cannot be sent between processes.
        """
        from joblib import Parallel, delayed

        data = self.data if pool is None else _among(self.data, pool)
        jobs = (
            delayed(_fitted)(self.fit, self._view(data, mask), _short(branch(seed, k)))
            for k, mask in enumerate(masks)
        )
        found: list[Any] = []
        try:
            for model in Parallel(return_as="generator", batch_size=1)(jobs):
                found.append(model)
                self.progress(len(found), len(masks))
        except (TypeError, AttributeError) as error:
            if "pickle" not in str(error).lower():
                raise
            raise InputError(
                f"fit or its model cannot be sent between processes ({quoted(str(error))}): use one worker, or "
                "return something that pickle can write"
            ) from error
        return found

    def fitted(self, mask: np.ndarray, seed: np.random.SeedSequence) -> Any:
        """One model, trained in this process."""
        return _fitted(self.fit, self._view(self.data, mask), _short(seed))

    def ask(self, model: Any, x: Tensor, query: Query, members: np.ndarray) -> Tensor:
        """Logits [s, C] of a model that was trained on ``members`` [n] bool.

        Raises:
            InputError: ``predict`` failed, or gave something else.
        """
        import torch

        edges = torch.empty((2, 0), dtype=torch.long) if query.edges is None else query.edges.cpu()
        if query.apart:
            inside = torch.from_numpy(members)
            edges = edges[:, inside[edges[0]] == inside[edges[1]]]
        features, nodes = (x if query.x is None else query.x).cpu(), query.nodes.cpu()
        try:
            with torch.no_grad():
                told = self.predict(model, features.clone(), edges.clone(), nodes.clone())
        except Exception as error:  # the user's own code may fail in any way
            raise InputError(f"predict failed: {type(error).__name__}: {quoted(str(error))}") from error
        return _as_logits(told, len(nodes), self.classes)

    def _view(self, data: Data, mask: np.ndarray) -> Data:
        """What ``fit`` gets: without any mask that tells who is asked about, and with its own."""
        import torch

        own = torch.from_numpy(mask)
        if self.induced:
            data = data.subgraph(own)
            own = torch.ones(int(own.sum()), dtype=torch.bool)
        else:
            data = data.clone()
        data.train_mask = own
        if "test_mask" in data:
            del data.test_mask
        return data


@contextmanager
def _all_seeded(seed: int) -> Iterator[None]:
    """Within the block the default generators of Python, numpy and torch follow ``seed``.

    gaudit draws from none of them; the user's code may from all.
    """
    python, arrays = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        with seeded(np.random.SeedSequence(seed)):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(arrays)  # noqa: NPY002


def _short(seed: np.random.SeedSequence) -> int:
    """31 bits: numpy's and scikit-learn's generators take no more than 32."""
    return integer(seed) >> 32


def _fitted(fit: Fit, data: Data, seed: int) -> Any:
    with _all_seeded(seed):
        try:
            model = fit(data, data.train_mask.clone(), seed)
        except Exception as error:  # the user's own code may fail in any way
            raise InputError(f"fit failed: {type(error).__name__}: {quoted(str(error))}") from error
    if model is None:
        raise InputError("fit returned nothing: it must return the trained model")
    return model


def with_known_fields(data: Data) -> tuple[Data, tuple[str, ...]]:
    """A graph with the fields alone whose meaning is known, and the names of those that were left out.

    Shadow models are trained under other ids, on the edges of fewer nodes, and without being told who is a member.
    That can be done to an array with a row for each node or for each edge, and to plain values. Lists of ids,
    matrices between nodes, sparse copies of the edges would keep the old ids or tell who is a member: no model gets
    them, the one that is audited neither, so that all are trained alike.
    """
    copy = data.clone()
    left = tuple(sorted(name for name in data.keys() if not _is_known(data, name)))  # noqa: SIM118 (not a dict)
    for name in left:
        del copy[name]
    return copy, left


def _is_known(data: Data, name: str) -> bool:
    import torch
    from torch import Tensor

    value = data[name]
    told = isinstance(value, bool | int | float | str)
    if told or name in ("x", "y", "edge_index", *MASKS):
        return True
    if not isinstance(value, Tensor) or value.layout != torch.strided or not value.dim():
        return False
    nodes = int(data.num_nodes or 0)
    rows = value.shape[0] in (nodes, data.num_edges)
    return rows and tuple(value.shape[:2]) != (nodes, nodes) and not name.endswith(("index", "adj"))


def renumbered(data: Data, ours: np.ndarray) -> Data:
    """A copy under other ids, without train and test masks; ``ours`` [n] holds the old id of each new one.

    Fields of nodes are put in order, fields of edges stay beside their edges, all else is copied.
    """
    import torch
    from torch import Tensor

    nodes, order = int(data.num_nodes or 0), torch.from_numpy(ours)
    theirs = torch.empty(nodes, dtype=torch.long)
    theirs[order] = torch.arange(nodes)
    copy = data.clone()
    for name in (MASKS[0], MASKS[2]):
        if name in copy:
            del copy[name]
    for name, value in copy.to_dict().items():
        if name == "edge_index":
            copy[name] = theirs[value]
        elif isinstance(value, Tensor) and copy.is_node_attr(name):
            copy[name] = value[order]
    return copy


def _among(data: Data, pool: np.ndarray) -> Data:
    """The same nodes with the edges among some of them alone."""
    import torch
    from torch import Tensor

    kept = torch.zeros(int(data.num_nodes or 0), dtype=torch.bool)
    kept[torch.from_numpy(pool)] = True
    inside = kept[data.edge_index[0]] & kept[data.edge_index[1]]
    copy = data.clone()
    for name, value in data.to_dict().items():
        if name == "edge_index":
            copy[name] = value[:, inside]
        elif isinstance(value, Tensor) and data.is_edge_attr(name):
            copy[name] = value[inside]
    return copy


def _as_logits(told: Any, nodes: int, classes: int) -> Tensor:
    """What ``predict`` gave, as float32 logits [s, C]; rows that are posteriors are taken for these."""
    import torch

    try:
        found = torch.as_tensor(told).detach().cpu().float()
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"predict must return an array of logits, not {type(told).__name__}") from error
    if found.shape != (nodes, classes):
        raise InputError(
            f"predict must return one row of {classes} logits for each of {nodes} nodes, not {list(found.shape)}"
        )
    if not bool(torch.isfinite(found).all()):
        bad = int((~torch.isfinite(found).all(1)).nonzero()[0])
        raise InputError(f"predict returned values that are not finite, first in row {bad}")
    sums = found.sum(1)
    if not bool((found >= 0).all()) or not bool(torch.isclose(sums, sums[:1], rtol=1e-3).all()):
        return found
    if not torch.isclose(sums[:1], torch.ones(1), atol=1e-3).all():
        if nodes < FEW_ROWS or not float(sums[0]):
            return found
        raise InputError(
            f"predict returned rows that sum to {float(sums[0]):g}: give logits, or probabilities that sum to 1"
        )
    return found.clamp_min(1e-30).log()
