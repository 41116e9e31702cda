"""Each value is tried: beside stored answers, by a service or a model, and beside known classes."""

import numpy as np
import pytest
import torch

from gaudit.errors import InputError
from gaudit.targets.messages import MODEL_KIND, SUBMITTED_KIND, posteriors_kind
from gaudit.targets.models.model_ensemble import ask_models
from gaudit.targets.models.own_rows import answers_to_own_rows
from gaudit.targets.models.training_config import TrainingConfig, initial_weights
from gaudit.targets.models.training_task import Query, TrainingTask
from support.attribute_worlds import CHANCE, NODES, CoinWorld

STORED = posteriors_kind("full")


def asked(architecture: str = "gcn", linked: bool = True):
    """A world, and a model of it that nobody trained."""
    recipe = TrainingConfig(architecture=architecture, hidden=8)
    world = CoinWorld(linked=linked, recipe=recipe)
    task = TrainingTask(world.data, torch.ones((1, NODES), dtype=torch.bool), recipe, 2)
    return world, task, initial_weights(recipe, 8, 2, np.random.SeedSequence(0))


def stored(task, weights) -> torch.Tensor:
    stacked = {name: weight[None] for name, weight in weights.items()}
    return ask_models(task, [Query(torch.arange(NODES), task.data.edge_index)], stacked)[0][0].softmax(1)


@pytest.mark.parametrize("architecture", ["gcn", "sage", "mlp"])
def test_a_service_that_answers_stored_and_submitted_rows_gives_the_value_away(architecture):
    world, task, weights = asked(architecture, linked=False)
    world.tell(STORED, nodes=world.everybody, posteriors=stored(task, weights))
    for value in (0, 1):
        answers = answers_to_own_rows(task, weights, torch.tensor([0]), torch.tensor([float(value)]))
        told = torch.full((NODES,), value)
        world.tell(SUBMITTED_KIND, nodes=world.everybody, value=told, posteriors=answers)
    assert world.auc("attribute-candidates") > 0.999
    assert abs(world.auc("attribute-candidates", blind=True) - 0.5) < CHANCE


@pytest.mark.parametrize(("architecture", "least"), [("mlp", 0.999), ("sage", 0.7), ("gcn", 0.65)])
def test_a_model_beside_its_answers_gives_it_away_as_far_as_neighbours_are_known(architecture, least):
    world, task, weights = asked(architecture)
    world.tell(MODEL_KIND, **weights)
    world.tell(STORED, nodes=world.everybody, posteriors=stored(task, weights))
    assert world.auc("attribute-candidates") > least


def test_a_class_that_follows_the_value_gives_it_away_through_a_model_that_learned_that():
    """Classes follow the coin and another one: neither the class nor the other coin tells it alone."""
    world = CoinWorld(recipe=TrainingConfig(architecture="mlp", hidden=2))
    coin, other = world.data.x[:, 0].bool(), world.data.x[:, 1].bool()
    world.data.y = (coin ^ other).long()
    w1 = torch.zeros(8, 2)
    w1[0], w1[1] = torch.tensor([4.0, -4.0]), torch.tensor([-4.0, 4.0])
    weights = {
        "w1": w1,
        "b1": torch.zeros(2),
        "w2": torch.tensor([[-4.0, 4.0]] * 2),
        "b2": torch.tensor([8.0, -8.0]),
    }
    told = stored(TrainingTask(world.data, torch.ones((1, NODES), dtype=torch.bool), world.recipe, 2), weights)
    assert torch.equal(told.argmax(1), world.data.y)
    world.tell(MODEL_KIND, **weights)
    assert world.auc("attribute-candidates") == 1.0


def test_a_model_that_does_not_read_the_value_tells_nothing():
    world, task, weights = asked()
    weights["w1"][0] = 0
    world.tell(MODEL_KIND, **weights)
    world.tell(STORED, nodes=world.everybody, posteriors=stored(task, weights))
    assert abs(world.auc("attribute-candidates") - 0.5) < CHANCE


def test_misshapen_answers_and_weights_are_refused():
    world, _, weights = asked()
    weights["w1"] = weights["w1"][:5]
    world.tell(MODEL_KIND, **weights)
    with pytest.raises(InputError, match="do not fit"):
        world.auc("attribute-candidates")
    world, task, weights = asked()
    world.tell(MODEL_KIND, **weights)
    world.tell(STORED, nodes=world.everybody, posteriors=torch.full((NODES, 3), 1 / 3))
    with pytest.raises(InputError, match="must hold nodes"):
        world.auc("attribute-candidates")
    world, task, weights = asked()
    answers = stored(task, weights)
    world.tell(
        SUBMITTED_KIND, nodes=world.everybody, value=torch.zeros(NODES, dtype=torch.long), posteriors=answers
    )
    with pytest.raises(InputError, match="lack those"):
        world.auc("attribute-candidates")
