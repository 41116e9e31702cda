"""Offline attacks that choose a number by shadow models: it is the best on these, and no answer moves it."""

from dataclasses import replace

import numpy as np
import torch

from gaudit.audit.statistics.metrics import auc


def best_of(grid, pool, rounds, scores):
    """The number with the highest mean AUC where each shadow model plays the target beside those of other rounds.

    ``scores(number, k, rest)`` are those of the answers of model ``k`` beside the models ``rest``.
    """
    areas = [
        np.mean([auc(pool.inside[k], scores(number, k, rounds != rounds[k])) for k in range(len(rounds))])
        for number in grid
    ]
    return grid[int(np.argmax(areas))]


def check_answers_do_not_move_it(gaussian, chosen, sure, within):
    """Known error: settings that are tuned on what is reported."""
    for seed in range(3):
        evidence, truth = gaussian(np.random.default_rng(seed), 2.0, 8, 150)
        expected = chosen(evidence)
        for answers in (-evidence.subjects.target, torch.from_numpy(np.stack([sure * truth, 0 * truth], 1))):
            swapped = replace(evidence, subjects=replace(evidence.subjects, target=answers))
            assert abs(chosen(swapped) - expected) < within
