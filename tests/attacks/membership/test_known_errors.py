"""Errors that were found in other privacy-audit tools, each kept from coming back.

Those about shadow models stand here. Others have their place beside what they are about: the sign of scores in
`attacks/test_calibrated.py`, the two-sided offline ratio in `attacks/test_lira_offline.py`, a target in its own
calibration pool in `attacks/test_lira.py`, tuning on what is reported in `attacks/test_base_offline.py` and
`attacks/test_rmia_offline.py`, the leak by counting models in `test_shadows.py`.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gaudit.attacks.membership.adaptive import adaptive_knowledge
from gaudit.attacks.membership.lira import LiRA
from gaudit.attacks.membership.shadow_models import shadow_models
from gaudit.targets.games.membership import NodePresence
from gaudit.targets.messages import ENCODER_KIND
from gaudit.targets.models.encoder import encoded
from gaudit.targets.models.training_config import TrainingConfig
from gaudit.targets.transcript import Message, View
from support.adversaries import adversary

NODES, SUBJECTS = 50, 40
RECIPE = TrainingConfig(hidden=6, epochs=8)


def graph(seed: int = 0) -> Data:
    rng = np.random.default_rng(seed)
    once = torch.from_numpy(np.unique(np.sort(rng.integers(0, NODES, (2, 90)), axis=0), axis=1))
    once = once[:, once[0] != once[1]]
    x = torch.from_numpy(rng.random((NODES, 9)).astype(np.float32))
    return Data(x=x, y=torch.from_numpy(rng.integers(0, 3, NODES)), edge_index=torch.cat([once, once.flip(0)], 1))


def knowledge(data: Data, recipe: TrainingConfig = RECIPE):
    subjects = np.arange(SUBJECTS)
    game = NodePresence(subjects=subjects, truth=subjects % 2 == 0)
    given, _ = game.grant(data, adversary("none", auditor=True, recipe=recipe), np.random.SeedSequence(0))
    return given.knowledge


def trained(known):
    return shadow_models(known, known.recipe, 4, offline=False)


def changed(data: Data, what: str) -> Data:
    """The same graph but for one thing; the number of rows stays."""
    data = data.clone()
    if what == "features":
        data.x = data.x + 0.1
    if what == "labels":
        data.y = (data.y + 1) % 3
    if what == "edges":
        data.edge_index = data.edge_index[:, ::2]
    if what == "order of rows":
        data.x, data.y = data.x.flip(0), data.y.flip(0)
    return data


@pytest.mark.parametrize("what", ["features", "labels", "edges", "order of rows", "recipe"])
def test_shadow_models_are_never_those_of_other_data_or_another_recipe(what):
    """A cache keyed by algorithm and row count hands out the shadow models of the audit before."""
    data, recipe = graph(), TrainingConfig(hidden=6, epochs=9) if what == "recipe" else RECIPE
    before = trained(knowledge(data))
    after, afresh = (trained(knowledge(changed(data, what), recipe)) for _ in range(2))
    assert not torch.equal(after.weights["w1"], before.weights["w1"])
    assert all(torch.equal(after.weights[name], afresh.weights[name]) for name in after.weights)


def test_scores_after_another_audit_are_those_of_an_audit_alone():
    """One process, two graphs of one size: the second audit's numbers do not depend on the first."""

    def audited(data: Data) -> np.ndarray:
        known = knowledge(data)
        strange = trained(replace(known, seed=np.random.SeedSequence(5))).weights
        message = Message("model", "server", "public", 1, {name: w[-1] for name, w in strange.items()})
        return LiRA(shadows=4)(View("public", (message,)), known, np.random.SeedSequence(0)).score

    first, second, again = (audited(graph(seed)) for seed in (1, 2, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, second)


def test_features_are_never_those_of_another_transformation():
    """The same in small: a transformation with its rows in another order has the same sums and is another one."""
    known, draw = replace(knowledge(graph()), knows_defense=True), torch.Generator().manual_seed(0)
    one = {"w1": torch.randn(9, 9, generator=draw), "w2": torch.randn(9, 18, generator=draw)}
    one |= {"shift": torch.zeros(9), "scale": torch.ones(9)}
    other = one | {"w1": one["w1"].roll(1, 0)}
    seen = {}
    for name, encoder in {"one": one, "other": other, "one again": {n: t.clone() for n, t in one.items()}}.items():
        view = View("client:0", (Message(ENCODER_KIND, "client:0", "client:0", -1, encoder),))
        seen[name] = adaptive_knowledge(view, known)
        assert torch.equal(seen[name].x, encoded(known.x, known.edges, encoder))
    assert seen["one"] is seen["one again"]  # whose shadow models are shared
    assert not torch.equal(seen["one"].x, seen["other"].x)
