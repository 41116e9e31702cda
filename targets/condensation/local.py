"""Condensation of one client's graph by the client alone (Jin et al. 2022a, 2022b)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from ..defense import LossTerm
from ..party import Client
from .matching import ClassCells, MatchingServer, MatchingSettings


@dataclass(frozen=True)
class Steps:
    """What is done with each model that is drawn; as it stands, one step and the next model (Jin et al. 2022a).

    Attributes:
        outer: steps on the condensed graph for each model.
        inner: steps of the model on the condensed graph between them.
        lr_model: of these.
    """

    outer: int = 1
    inner: int = 0
    lr_model: float = 0.01


ONE_STEP = Steps()


def matched(
    own: MatchingServer, cells: ClassCells, term: LossTerm | None, rounds: int, steps: Steps = ONE_STEP
) -> Iterator[int]:
    """Moves a condensed graph towards its owner's gradients, and tells how many models were drawn, one by one.

    Args:
        own: the condensed graph.
        cells: the owner's labelled nodes by class.
        term: what a defense adds to the loss.
        rounds: models drawn.
        steps: with each of them.
    """
    backbone = own.backbone
    for round_ in range(rounds):
        theta = own.draw_model(round_)
        learner = own.learner(theta, steps.lr_model) if steps.inner else None
        for step in range(steps.outer):
            own.match(theta, cells.to_match(theta, backbone, term), round_)
            if learner is not None and step + 1 < steps.outer:
                theta = own.taught(learner, steps.inner)
        yield round_ + 1


def condensed_alone(
    settings: MatchingSettings,
    client: Client,
    cells: ClassCells,
    term: LossTerm | None,
    size: int,
    rounds: int,
    seed: np.random.SeedSequence,
    steps: Steps = ONE_STEP,
    kind: type[MatchingServer] = MatchingServer,
    aligned: bool = True,
) -> tuple[MatchingServer, Tensor | None]:
    """What a client has after some rounds, and the own nodes (positions) whose rows it started from.

    Args:
        settings: of the matching.
        client: whose graph.
        cells: its labelled nodes by class.
        term: what a defense adds to the loss.
        size: n', number of condensed nodes.
        rounds: models drawn.
        seed: of everything.
        steps: with each model.
        kind: what moves the condensed graph.
        aligned: whether a condensed node starts from a row of its own class.

    Raises:
        InputError: the size leaves a class empty, or the loss is no number.
    """
    own, started = started_alone(settings, client, size, seed, kind, aligned)
    for _ in matched(own, cells, term, rounds, steps):
        pass
    return own, started


def started_alone(
    settings: MatchingSettings,
    client: Client,
    size: int,
    seed: np.random.SeedSequence,
    kind: type[MatchingServer] = MatchingServer,
    aligned: bool = True,
) -> tuple[MatchingServer, Tensor | None]:
    """A condensed graph of one client's before its first step, and the own nodes (positions) that it starts from.

    Args:
        settings: of the matching.
        client: whose graph.
        size: n', number of condensed nodes.
        seed: of first features, structure and models.
        kind: what moves it.
        aligned: whether a condensed node starts from a row of its own class.

    Raises:
        InputError: the size leaves a class empty.
    """
    train = client.train.nonzero().flatten()
    rows = (client.x[train], client.y_train[train]) if settings.init == "real" else None
    own = kind.starting(settings, client.x.shape[1], client.class_counts()[None], size, seed, rows, aligned)
    return own, None if own.started_from is None else train[own.started_from]
