"""Scores that know who is a member."""

import numpy as np

from gaudit import find, load_dataset
from gaudit.targets.controls.planted_scores import PlantedScores


def test_members_score_higher_and_nothing_else_is_sent():
    data = load_dataset("planted")
    run = PlantedScores()(data, find("defenses", "none")(), np.random.SeedSequence(0), lambda m: True)
    (message,) = run.transcript.messages
    assert message.kind == "scores"
    game = run.secrets["label-membership"]
    assert np.array_equal(message.tensors["subjects"].numpy(), game.subjects)
    score = message.tensors["score"].numpy()
    assert abs(score[game.truth].mean() - 1) < 0.2
    assert abs(score[~game.truth].mean()) < 0.2
