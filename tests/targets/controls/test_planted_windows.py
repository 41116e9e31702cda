"""The control of attacks by windows: most people are alone, and only by windows."""

import numpy as np

from gaudit.graphs.datasets.loading import load_dataset
from gaudit.graphs.pyg import network_of_data
from gaudit.graphs.snapshots import degree_vectors
from gaudit.targets.controls.planted_windows import WINDOWS, PlantedWindows
from gaudit.targets.defense import Defense
from gaudit.targets.messages import WINDOWS_KIND
from gaudit.targets.published import network_of


def test_everybody_is_published_and_most_are_alone():
    data = load_dataset("planted-network")
    run = PlantedWindows()(data, Defense(), np.random.SeedSequence(0), lambda message: True)
    (message,) = run.transcript.seen_by("public").of_kind(WINDOWS_KIND)
    published, image = network_of(message), run.secrets["identity"].image
    assert published.plain().digest == network_of_data(data).renamed(image).digest
    rows = list(map(tuple, degree_vectors(published, WINDOWS).tolist()))
    assert sum(rows.count(row) == 1 for row in rows) > 80
    degrees = published.degrees.tolist()
    assert sum(degrees.count(degree) == 1 for degree in degrees) < 30
