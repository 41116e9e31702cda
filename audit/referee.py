"""Puts the truth beside the guesses; nobody else gets to see both."""

import numpy as np

from ..attacks.attack import Scores
from ..targets.target import Secrets
from .knowledge import Grant
from .metrics import Judged


def judge(scores: Scores, grant: Grant, secrets: Secrets) -> Judged:
    """An attack's scores with the truth, in ascending order of subject id.

    Raises:
        ValueError: the scores are not for the subjects of the game.
    """
    ids = grant.subject_ids(scores.subjects)
    order = np.argsort(ids)
    if not np.array_equal(ids[order], np.sort(secrets.subjects)):
        raise ValueError("the scores are for other subjects than those of the game")
    truth = secrets.truth[np.argsort(secrets.subjects)]
    return Judged(ids[order], scores.score[order], truth)


def group(secrets: Secrets, name: str) -> np.ndarray:
    """Which subjects, in ascending order of id, belong to a named group."""
    return secrets.groups[name][np.argsort(secrets.subjects)]
