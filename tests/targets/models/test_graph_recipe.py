"""The recipe of classifiers of whole graphs."""

import numpy as np
import pytest

from gaudit.errors import InputError
from gaudit.targets.models.graph_recipe import GraphRecipe
from gaudit.targets.models.training_config import initial_weights, weight_shapes


@pytest.mark.parametrize(("architecture", "per_layer"), [("gin", 4), ("gcn", 2)])
@pytest.mark.parametrize("layers", [1, 3])
def test_weights_of_each_layer(architecture, per_layer, layers):
    recipe = GraphRecipe(architecture=architecture, layers=layers, hidden=8)
    shapes = weight_shapes(recipe, 5, 3)
    assert len(shapes) == per_layer * layers + 2
    assert shapes["w1"] == (5, 8)
    assert shapes["w"] == (8, 3)
    first = initial_weights(recipe, 5, 3, np.random.SeedSequence(0))
    assert {name: tuple(weight.shape) for name, weight in first.items()} == shapes


def test_first_weights_are_drawn_as_torch_and_pyg_draw_them():
    gin = initial_weights(GraphRecipe(hidden=64), 16, 2, np.random.SeedSequence(0))
    assert 0.24 < gin["w1"].abs().max() <= 0.25  # 1 / sqrt(16)
    assert 0.12 < gin["v1"].abs().max() <= 0.125  # 1 / sqrt(64)
    gcn = initial_weights(GraphRecipe(architecture="gcn", hidden=64), 32, 2, np.random.SeedSequence(0))
    assert 0.24 < gcn["w1"].abs().max() <= 0.25  # sqrt(6 / (32 + 64))
    assert not gcn["b1"].any()
    assert gcn["b"].any()


def test_what_classifiers_of_nodes_alone_have_is_refused():
    assert GraphRecipe(**GraphRecipe(epochs=3).model_dump()).epochs == 3
    for other in ({"heads": 2}, {"patience": 1}, {"init": "pygcn"}, {"architecture": "gat"}):
        with pytest.raises((ValueError, InputError)):
            GraphRecipe(**other)
