"""Loss less difficulty."""

import numpy as np
import torch

from gaudit.attacks.membership.loss import CalibratedLoss


def log_p(logits: torch.Tensor, label: int) -> float:
    return float(logits.double().log_softmax(-1)[label])


def test_difficulty_is_the_mean_over_models_that_never_saw_the_node(gaussian):
    evidence, _ = gaussian(np.random.default_rng(0), 1.0, 8, 12)
    found = CalibratedLoss().judge(evidence)
    told = evidence.subjects
    for i in range(12):
        outside = [log_p(told.shadows[k, i], 0) for k in range(8) if not told.inside[k, i]]
        assert abs(found[i] - (log_p(told.target[i], 0) - np.mean(outside))) < 1e-9


def test_calibration_takes_the_level_of_a_node_out(gaussian):
    """Nodes differ by 3 deviations, members by 1: the plain loss tells little, the calibrated one does."""
    evidence, truth = gaussian(np.random.default_rng(1), 1.0, 32, 3000)
    plain, _ = evidence.subjects.log_confidences()
    members, others = CalibratedLoss().judge(evidence)[truth], CalibratedLoss().judge(evidence)[~truth]
    gain = np.mean(members[:1000, None] > others[None, :1000]) - np.mean(
        plain[truth][:1000, None] > plain[~truth][None, :1000]
    )
    assert gain > 0.05  # a deviation of either AUC is 0.013
