"""A model that was trained on its members: every attack on it finds them, and nobody beside one that was not."""

import numpy as np
import pytest

from gaudit.attacks.membership.base_membership import BASE, OfflineBASE
from gaudit.attacks.membership.label_only import LabelOnly
from gaudit.attacks.membership.lira import LiRA, OfflineLiRA
from gaudit.attacks.membership.loss import CalibratedLoss, Loss
from gaudit.attacks.membership.rmia import RMIA, OfflineRMIA
from gaudit.audit.statistics.metrics import auc_finding

PLANTED = [  # the least lower end of an interval of the AUC, and the mean AUC
    (BASE, 0.6, 0.75),
    (OfflineBASE, 0.6, 0.75),
    (LabelOnly, 0.6, 0.8),
    (LiRA, 0.6, 0.8),
    (OfflineLiRA, 0.6, 0.75),
    (Loss, 0.5, 0.75),
    (CalibratedLoss, 0.5, 0.65),
    (RMIA, 0.6, 0.75),
    (OfflineRMIA, 0.6, 0.72),
]
NULL = [
    pytest.param(lambda kind=kind: kind(shakes=4) if kind is LabelOnly else kind(), id=kind.name)
    for kind, _, _ in PLANTED
]


@pytest.mark.parametrize(("kind", "low", "mean"), PLANTED, ids=[kind.name for kind, _, _ in PLANTED])
def test_planted_overfit_is_found(leaky_models, kind, low, mean):
    findings = [auc_finding([model.judged(kind())]) for model in leaky_models]
    assert min(f.low for f in findings) > low
    assert np.mean([f.estimate for f in findings]) > mean


@pytest.mark.parametrize("attack", NULL)
def test_null_model_of_other_nodes_is_chance(null_models, at_chance, attack):
    at_chance([model.judged(attack()) for model in null_models])


@pytest.mark.parametrize("attack", NULL)
def test_null_blind_baseline_is_chance(null_models, at_chance, attack):
    at_chance([model.judged_blind(attack()) for model in null_models])
