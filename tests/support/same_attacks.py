"""Results of attacks side by side."""

import numpy as np

from gaudit.audit.running.trial import TrialResult


def same_attacked(one: TrialResult, other: TrialResult) -> None:
    """The same attacks with the same knowledge, subjects, truth, guesses and baselines, to the bit."""
    assert [a.plan.name for a in one.attacked] == [a.plan.name for a in other.attacked]
    assert one.attacked
    for a, b in zip(one.attacked, other.attacked, strict=True):
        assert (a.game, a.knowledge, a.accuracies) == (b.game, b.knowledge, b.accuracies)
        for part in ("subjects", "truth", "score"):
            assert np.array_equal(getattr(a.judged, part), getattr(b.judged, part))
            assert np.array_equal(getattr(a.blind, part), getattr(b.blind, part))
        assert a.baselines.keys() == b.baselines.keys()
        assert all((a.attributes[k] == b.attributes[k]).all() for k in a.attributes)
