"""The control of reading members off gradients."""

import numpy as np
import pytest

from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.registry import find
from gaudit.targets.controls.planted_labels import PlantedLabels
from gaudit.targets.defense import Defense
from gaudit.targets.federated_condensation.fedgc import FedGC
from gaudit.targets.federated_condensation.fedgm import FedGM


@pytest.mark.parametrize(
    ("tells", "kind"), [("gradients", "self-training-gradients"), ("class-gradients", "class-gradients")]
)
def test_each_client_tells_of_its_labels(tells, kind):
    graph = load_dataset("planted")
    run = PlantedLabels(tells=tells)(graph, Defense(), np.random.SeedSequence(0), lambda message: True)
    sent = run.transcript.seen_by("server").of_kind(kind)
    assert {message.sender for message in sent} == {f"client:{number}" for number in range(5)}
    secrets = run.secrets["label-membership"]
    assert np.array_equal(np.sort(secrets.subjects[secrets.truth]), np.flatnonzero(graph.train_mask.numpy()))


def test_it_imitates_targets_that_send_gradients_by_class_alone():
    assert PlantedLabels.imitating(FedGM) == {"tells": "class-gradients"}
    assert PlantedLabels.imitating(FedGC) == {}


def test_it_is_not_defended():
    with pytest.raises(InputError, match="not defended"):
        PlantedLabels()(
            load_dataset("planted"), find("defenses", "ldp")(), np.random.SeedSequence(0), lambda m: True
        )
