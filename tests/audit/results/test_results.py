"""Trials of several seeds, put together: what is said of all of them holds for all of them."""

from dataclasses import replace

import pytest

from gaudit.audit.planning.plan import Plan
from gaudit.audit.results.outcomes import outcomes
from gaudit.targets.target import Utility
from support import audits

PLAN = Plan(target=({"name": "classifier"},), attack=({"name": "loss"},))


def trials(defense="none", settings=None, **by_seed):
    """One trial for each seed, with fields of the result changed."""
    count = len(next(iter(by_seed.values())))
    made = [audits.trial(PLAN, "citations", defense, settings or {}, i, 0.0, 0.8)[1] for i in range(count)]
    return [replace(t, **{name: values[i] for name, values in by_seed.items()}) for i, t in enumerate(made)]


def test_notes_that_differ_between_seeds_are_marked_as_of_the_first():
    (found,) = outcomes(trials(notes=[("both", "accuracy 0.37"), ("accuracy 0.27", "both"), ("both",)]))
    assert found.notes == ("both", "first repetition: accuracy 0.37")


def test_notes_of_one_seed_are_not_marked():
    (found,) = outcomes(trials(notes=[("accuracy 0.37",)]))
    assert found.notes == ("accuracy 0.37",)


def test_intervals_of_shares_and_of_their_differences_hold_nothing_impossible():
    """The interval of two seeds this far apart is wider than all that a share can be."""
    structure = [
        {"tested": [0, 0], "utilities": [(Utility(1, 1.0, u, u),) for u in pair]} for pair in ((1, 1), (0.2, 0.9))
    ]
    kept = [{"communities": 0.2}, {"communities": 0.9}]
    undefended = trials(**structure[0])
    _, found = outcomes([*undefended, *trials("fewer-labels", kept=kept, **structure[1])])
    assert (found.accuracy.low, found.accuracy.high) == (0.0, 1.0)
    assert (found.kept["communities"].low, found.kept["communities"].high) == (0.0, 1.0)
    assert (found.cost.low, found.cost.high) == (-1.0, 1.0)
    assert found.cost.estimate == pytest.approx(0.45)
