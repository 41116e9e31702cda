"""The control of membership of whole graphs gives its members away, and nothing else tells them."""

import numpy as np
import pytest
from scipy.stats import binomtest

from gaudit.audit.games.blind import blind_baselines
from gaudit.audit.statistics.metrics import auc
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.controls.planted_graphs import PlantedGraphs
from gaudit.targets.defense import Defense
from gaudit.targets.messages import labels_kind

LEVEL = 1e-4


@pytest.fixture(scope="module")
def graphs():
    return load_dataset("planted-graphs")


@pytest.fixture(scope="module")
def run(graphs):
    return PlantedGraphs()(graphs, Defense(), np.random.SeedSequence(0), lambda message: True)


def test_members_are_known_by_heart_and_nobody_else(graphs, run):
    secrets = run.secrets["graph-membership"]
    told = run.transcript.seen_by("public").last(labels_kind("full")).tensors["labels"]
    first = np.unique(graphs.graph_of.numpy(), return_index=True)[1]
    right = (told.numpy() == graphs.y.numpy()[first])[secrets.subjects]
    assert right[secrets.truth].all()
    others = right[~secrets.truth]
    assert binomtest(int(others.sum()), len(others), 0.25).pvalue > LEVEL


def test_graphs_alone_tell_nothing(graphs, run):
    secrets = run.secrets["graph-membership"]
    members, others = int(secrets.truth.sum()), int((~secrets.truth).sum())
    spread = np.sqrt((members + others + 1) / (12 * members * others))
    for found in blind_baselines(graphs, secrets, np.random.SeedSequence(0)).values():
        assert abs(auc(found.truth, found.score) - 0.5) < 4.5 * spread  # seven of them: an error below 1e-4


def test_every_client_is_a_party():
    done = PlantedGraphs(clients=3)(
        load_dataset("planted-graphs"), Defense(), np.random.SeedSequence(0), lambda message: True
    )
    for name in ("server", "client:0", "client:2"):
        assert done.transcript.seen_by(name).messages
