"""Condensation of one client's graph by the client alone, one step for each random model (Jin et al. 2022a)."""

import numpy as np
from torch import Tensor

from ..defense import LossTerm
from ..models.backbone import BACKBONES
from ..party import Client
from .matching import ClassCells, MatchingServer, MatchingSettings


def condensed_alone(
    settings: MatchingSettings,
    client: Client,
    cells: ClassCells,
    term: LossTerm | None,
    size: int,
    rounds: int,
    seed: np.random.SeedSequence,
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

    Raises:
        InputError: the size leaves a class empty, or the loss is no number.
    """
    own, started = started_alone(settings, client, size, seed)
    for round_ in range(rounds):
        theta = own.draw_model(round_)
        own.match(theta, cells.to_match(theta, BACKBONES[settings.backbone], term), round_)
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
