"""The control of group density: clients have all links among their people or none, and say their number."""

import numpy as np

from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.controls.planted_density import PlantedDensity
from gaudit.targets.defense import Defense


def test_numbers_tell_who_has_links():
    data = load_dataset("citations")
    run = PlantedDensity()(data, Defense(), np.random.SeedSequence(0), lambda message: True)
    (game,) = run.secrets.values()
    assert len(game.subjects) == 20
    assert game.truth.sum() == 10
    told = {m.sender: float(m.tensors["confidence"]) for m in run.transcript.messages if m.kind == "label-moments"}
    for number, many in zip(game.subjects.tolist(), game.truth.tolist(), strict=True):
        assert (told[f"client:{number}"] > 0) == many
