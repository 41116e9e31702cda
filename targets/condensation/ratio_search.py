"""Which size of condensed graphs is best on validation nodes: FedGM tunes it with Optuna (section 5.1)."""

from collections.abc import Callable

import numpy as np

from ...errors import InputError
from ...randomness import integer

LEAST = 0.1
"""Smallest ratio that is tried; the paper searches between 0 and 1."""


def best_ratio(validation: Callable[[float], float], tries: int, seed: np.random.SeedSequence) -> float:
    """The ratio of the best validation accuracy among some that a tree-structured Parzen estimator proposes.

    Args:
        validation: accuracy on validation nodes with a ratio.
        tries: how many ratios.
        seed: of the proposals.

    Raises:
        InputError: Optuna is not installed.
    """
    try:
        import optuna
    except ImportError as error:
        raise InputError("searching a ratio needs Optuna: pip install 'gaudit[search]'") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.TPESampler(seed=integer(seed) % 2**32)
    )
    study.optimize(lambda trial: validation(trial.suggest_float("ratio", LEAST, 1.0)), n_trials=tries)
    return float(study.best_params["ratio"])
