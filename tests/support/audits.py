"""Audits made of simulated guesses, so that what is read off them can be checked against what was put in."""

from zlib import crc32

import numpy as np
import torch
from torch_geometric.data import Data

from gaudit.audit.planning.grid import Cell, Grid, PlannedTrial
from gaudit.audit.planning.plan import Plan
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.results.assemble import assemble
from gaudit.audit.results.audit_result import Audit
from gaudit.audit.running.ledger import Content
from gaudit.audit.running.trial import Attacked, TrialResult
from gaudit.audit.statistics.scored_subjects import ScoredSubjects
from gaudit.audit.statistics.severity import Scale
from gaudit.targets.target import Utility

CLASSIFIER = {"recipe": {"hidden": 16}}


def guesses(leak: float, rng: np.random.Generator, members: int = 150, others: int = 1000) -> ScoredSubjects:
    """Scores of members shifted by ``leak`` standard deviations: the AUC is Phi(leak / sqrt 2)."""
    truth = np.arange(members + others) < members
    return ScoredSubjects(np.arange(members + others), rng.normal(size=len(truth)) + leak * truth, truth)


def attacked(plan: AttackPlan, leak: float, rng: np.random.Generator, **sizes: int) -> Attacked:
    """One attack's guesses; the public graph knows nothing."""
    judged = guesses(leak, rng, **sizes)
    none = guesses(0.0, rng, **sizes)
    baselines = {name: guesses(0.0, rng, **sizes) for name in ("degree", "features")}
    by = {"degree": np.where(judged.subjects % 2 == 0, "0 to 2", "3 or more")}
    return Attacked(plan, 1, judged, none, {}, "knows nothing", baselines=baselines, attributes=by)


def trial(
    plan: Plan, dataset: str, defense: str, settings: dict, index: int, leak: float, accuracy: float, **sizes: int
) -> tuple[TrialPlan, TrialResult]:
    """One trial of the target ``classifier`` with every attack of the plan."""
    rng = np.random.default_rng([index, crc32(f"{dataset} {defense} {settings}".encode())])
    attacks = tuple(AttackPlan(a.name, dict(a.settings)) for a in plan.attack)
    made = TrialPlan("classifier", CLASSIFIER, defense, settings, attacks, plan.seed, index)
    utility = Utility(1, accuracy, float(np.clip(accuracy + rng.normal() * 0.01, 0, 1)), accuracy)
    found = tuple(attacked(a, leak, rng, **sizes) for a in attacks)
    return made, TrialResult(made, (utility,), 0, found, {}, (), (), 1000)


def parts(
    leaks: dict[tuple[str, float | None], tuple[float, float]],
    seeds: int = 3,
    attacks: tuple[str, ...] = ("loss",),
    datasets: tuple[str, ...] = ("citations",),
    planted: float = 4.0,
    listed: tuple[str, ...] = (),
    severity: Scale | None = None,
    **sizes: int,
) -> tuple[Plan, Grid, dict[str, TrialResult]]:
    """What an audit of ``classifier`` is made of.

    Args:
        leaks: for each defense and strength its leak (shift of members' scores) and accuracy; ``("none", None)`` is
            the control, others for instance ``("ldp", 1.0)``.
        seeds: repetitions.
        attacks: names of registered attacks; all leak the same.
        datasets: names, taken as text.
        planted: leak of the planted control.
        listed: defenses that the plan lists.
        severity: where the levels begin.
        sizes: ``members`` and ``others``.
    """
    plan = Plan(
        name="simulated",
        datasets=datasets,
        seeds=seeds,
        target=({"name": "classifier"},),
        defense=tuple({"name": d} for d in listed),
        attack=tuple({"name": a} for a in attacks),
        severity=severity or Scale(),
    )
    tasks, results, cells = [], {}, []
    for cell, dataset in enumerate(datasets):
        cells.append(Cell("classifier", CLASSIFIER, dataset, "what is published of the trained model", {}))
        for (defense, strength), (leak, accuracy) in leaks.items():
            settings = {} if strength is None else {knob_of(defense): strength}
            for index in range(seeds):
                made, result = trial(plan, dataset, defense, settings, index, leak, accuracy, **sizes)
                key = f"{dataset}-{defense}-{strength}-{index}"
                tasks.append(PlannedTrial(key, cell, dataset, made))
                results[key] = result
    made, result = trial(plan, "planted", "none", {}, 0, planted, 1.0)
    tasks.insert(0, PlannedTrial("planted", -1, "planted", made))
    results["planted"] = result
    graphs = {name: Data(x=torch.zeros(1, 1)) for name in datasets}
    grid = Grid(tuple(cells), tuple(tasks), graphs, "0123456789abcdef")
    return plan, grid, results


def simulated(leaks: dict[tuple[str, float | None], tuple[float, float]], **how) -> Audit:
    """An audit of such parts, all of which ran."""
    return assemble(Content(*parts(leaks, **how), {}, {"gaudit": "0.0.0"}, {}))


def knob_of(defense: str) -> str:
    """The name of a defense's strength."""
    from gaudit.registry import find

    return str(find("defenses", defense).strength)
