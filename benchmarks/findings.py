"""What an adversary finds out in FedGC, FedGM, FedC4 and SOS, undefended and under three kinds of defense.

    python benchmarks/findings.py run --dataset Cora --seeds 5
    python benchmarks/findings.py run --system fedgc --row "private teacher, epsilon 2" --seeds 5
    python benchmarks/findings.py show

A cell is one run of one system under one defense with one seed, and all attacks on it. It is recorded when it is
done and not run again. Runs of one seed share partition, split and shadow models, whatever the defense. `show`
writes the tables into ``docs/findings.md``.

Of each attack the AUC (compared within what is public, as `gaudit attack` does, and plainly, as papers do), the
true-positive rate at 1 % false positives and the AUC of the same attack without the release are recorded, each with
the interval of that one run over its subjects. A mean over seeds gets both: Student's t over seeds, and the
subjects' mean reach, added in squares. That errs on the wide side: what differs between subjects is partly counted
twice.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy.stats import t as student
from trial_records import TrialRecords, percent, records_option

PAGE = Path(__file__).parents[1] / "docs" / "findings.md"
START, END = "<!-- tables -->", "<!-- end of tables -->"
DATASETS = ("Cora", "CiteSeer", "PubMed")
RATE = 0.01
TEACHER = "private teacher, epsilon 4"


@dataclass(frozen=True)
class Row:
    """What stands between a system and its adversaries: settings besides the paper preset, and a defense."""

    defense: str = "none"
    strength: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Mounted:
    """An attack with its observer; ``paper`` marks that of the system's own paper."""

    name: str
    observer: str
    settings: dict[str, Any] = field(default_factory=dict)
    paper: bool = False

    @property
    def title(self) -> str:
        return f"{self.name}, {self.observer}"


@dataclass(frozen=True)
class System:
    """A pipeline as published but for ``settings``, its rows, and the attacks that are mounted on each of them.

    ``more`` are rows that run where they are named.
    """

    title: str
    rows: dict[str, Row]
    attacks: tuple[Mounted, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    more: dict[str, Row] = field(default_factory=dict)


def taught(epsilon: float) -> Row:
    """A private teacher that promises this."""
    return Row("private-teacher", {"epsilon": epsilon})


STATISTIC = Mounted("statistic-reading", "server")
SYSTEMS = {
    "fedgc": System(
        "FedGC",
        {
            "nothing": Row(),
            "the paper's own: `ib`": Row("ib", {"first_weights": "own"}),
            TEACHER: taught(4),
            "trivial: `pseudo-labels`": Row("pseudo-labels"),
        },
        (
            Mounted("mia", "public", paper=True),
            Mounted("nearest", "public"),
            Mounted("label-pursuit", "server"),
            STATISTIC,
        ),
        {"rounds": 200, "checkpoints": (100, 200)},
        {f"private teacher, epsilon {epsilon}": taught(epsilon) for epsilon in (2, 1)},
    ),
    "fedgm": System(
        "FedGM",
        {
            "nothing, the paper's own: condensing": Row(),
            TEACHER: taught(4),
            "trivial: stage 1 alone, from noise": Row(settings={"refinements": 0, "init": "noise"}),
        },
        (
            Mounted("mia", "public"),
            Mounted("nearest", "public"),
            Mounted("nearest", "server"),
            Mounted("label-pursuit", "server", {"parts": "known"}),
            STATISTIC,
        ),
        {"rounds": 100, "refinements": 20, "release_every": 20},
    ),
    "fedc4": System(
        "FedC4",
        {
            "nothing, the paper's own: condensing": Row(),
            TEACHER: taught(4),
            "trivial: clients alone": Row(settings={"tau": 1.0}),
        },
        (
            Mounted("nearest", "client:0"),
            Mounted("nearest-embedding", "client:0"),
            Mounted("condensed-ownership", "client:0"),
            Mounted("condensed-ownership", "server"),
            STATISTIC,
        ),
        {"rounds": 50, "rows": "unit"},
    ),
    "sos": System(
        "SOS",
        {
            "nothing": Row(),
            "the paper's own: `ib-subgraph`": Row("ib-subgraph", {"smoothness": "mean"}),
            TEACHER: taught(4),
            "trivial: `random-subgraph`": Row("random-subgraph"),
        },
        (
            Mounted("graphmi", "server", paper=True),
            Mounted("update-links", "server"),
            Mounted("unmoved-words", "server"),
            Mounted("span-ownership", "server"),
            Mounted("update-codes", "server"),
            STATISTIC,
        ),
    ),
}
RECORDS = records_option("findings")


@click.group()
def main() -> None:
    """The tables that open the documentation."""


@main.command()
@click.option("--dataset", type=click.Choice(DATASETS), default="Cora", show_default=True)
@click.option("--system", "systems", multiple=True, type=click.Choice(list(SYSTEMS)), default=tuple(SYSTEMS))
@click.option("--row", "rows", multiple=True, help="Rows by name; by default all but those of other epsilons.")
@click.option("--seeds", default=5, show_default=True)
@click.option("--first-seed", default=0, show_default=True)
@RECORDS
def run(
    dataset: str,
    systems: tuple[str, ...],
    rows: tuple[str, ...],
    seeds: int,
    first_seed: int,
    records: TrialRecords,
) -> None:
    """Run the cells that are not recorded yet, seed by seed, one after another on one thread."""
    from gaudit.audit.games.knowledge_cache import KnowledgeCache
    from gaudit.audit.running.trial import use_one_thread
    from gaudit.graphs.datasets.loading import load_dataset

    use_one_thread()
    data = load_dataset(dataset)
    data.name = dataset
    for index in range(first_seed, seeds):
        for name in systems:
            shared: list[KnowledgeCache] = []
            for row in rows or SYSTEMS[name].rows:
                records.make(cell_name(dataset, name, row, index), partial(cell, data, name, row, index, shared))


def cell_name(dataset: str, system: str, row: str, index: int | str = "") -> str:
    """Names a cell; without an index all seeds of it, as `TrialRecords.seeds` wants it."""
    return f"{dataset}: {system}: {row}: {index}".strip()


def plan_of(data: Any, system: str, row: str, index: int) -> Any:
    """The trial of a cell."""
    from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
    from gaudit.registry import find

    chosen = SYSTEMS[system]
    given = (chosen.rows | chosen.more)[row]
    settings = {**find("targets", system).preset("paper", data), **chosen.settings, **given.settings}
    attacks = tuple(AttackPlan(a.name, a.settings, a.observer) for a in chosen.attacks)
    return TrialPlan(system, settings, given.defense, given.strength, attacks, seed=0, index=index)


def cell(data: Any, system: str, row: str, index: int, shared: list[Any]) -> dict[str, Any]:
    """One run, and what each attack finds in it; ``shared`` holds the seed's shadow models for the next one."""
    from gaudit.audit.games.knowledge_cache import KnowledgeCache
    from gaudit.audit.running.trial import run_trial

    plan, began = plan_of(data, system, row, index), time.process_time()
    if not shared:
        shared.append(KnowledgeCache.of(plan, data))
    result = run_trial(plan, data, cache=shared[0])
    promise = plan.make_defense().promise()
    return {
        "accuracy": result.utility.test,
        "promised": promise
        and {"epsilon": float(promise.epsilon), "delta": float(promise.delta), "unit": promise.unit},
        "attacks": {f"{a.plan.name}, {a.plan.observer}": found(a) for a in result.attacked},
        "refused": result.refused,
        "notes": result.notes,
        "seconds": time.process_time() - began,
    }


def found(attacked: Any) -> dict[str, Any]:
    """Figures of one attack on one run: estimate and interval over its subjects."""
    from gaudit.audit.statistics.epsilon import epsilon_of_runs
    from gaudit.audit.statistics.metrics import auc_finding
    from gaudit.audit.statistics.rates import rate_finding
    from gaudit.targets.games.named import game_of

    scaled = attacked.judged.standardised()
    findings = {
        "auc": auc_finding([attacked.judged]),
        "plain": auc_finding([attacked.judged.plainly()]),
        "tpr": rate_finding([scaled if len(scaled.score) else attacked.judged.plainly()], RATE),
        "blind": auc_finding([attacked.blind]),
    }
    told = {name: [one.estimate, one.low, one.high] for name, one in findings.items()}
    if "epsilon" in game_of(attacked.game).metrics:
        shown = epsilon_of_runs([attacked.judged])
        told["epsilon"], told["validity"] = shown.estimate, shown.validity
    return {"game": attacked.game, **told}


def over_seeds(figures: Sequence[Sequence[float | None]]) -> tuple[float, float, float] | None:
    """Mean of estimates with an interval over seeds and subjects; None where some run does not measure it.

    With V the subjects' part of one run's variance and B the variance between runs, the mean over S runs has
    B / S + c, c being at most V: the more runs share their subjects, the nearer. V stands for c here.

    Args:
        figures: estimate, low and high of each run.
    """
    if not figures or any(value is None for one in figures for value in one):
        return None
    estimate, low, high = np.array(figures, dtype=float).T
    mean, count = float(estimate.mean()), len(estimate)
    apart = 0.0 if count < 2 else float(student.ppf(0.975, count - 1) * estimate.std(ddof=1)) / math.sqrt(count)
    down, up = (math.hypot(apart, float(reach.mean())) for reach in (estimate - low, high - estimate))
    return mean, max(mean - down, 0.0), min(mean + up, 1.0)


def strongest(trials: Sequence[dict[str, Any]], attacks: Sequence[Mounted]) -> str | None:
    """The attack that goes furthest beyond itself without the release, in the mean of seeds."""
    leads = {attack.title: lead(trials, attack.title) for attack in attacks}
    measured = {name: value for name, value in leads.items() if value is not None}
    return max(measured, key=lambda name: measured[name]) if measured else None


def lead(trials: Sequence[dict[str, Any]], name: str) -> float | None:
    """Mean of AUC less blind AUC of the runs that an attack applies to; None where one does not measure them."""
    pairs = [(a["auc"][0], a["blind"][0]) for trial in trials if (a := trial["attacks"].get(name))]
    if not pairs or any(value is None for pair in pairs for value in pair):
        return None
    return float(np.mean([auc - blind for auc, blind in pairs]))


@main.command()
@click.option("--page", type=click.Path(path_type=Path, exists=True), default=PAGE, show_default="docs/findings.md")
@RECORDS
def show(page: Path, records: TrialRecords) -> None:
    """Write what is recorded into the page, between its marks."""
    before, _, rest = page.read_text().partition(START)
    _, mark, after = rest.partition(END)
    if not mark:
        raise click.ClickException(f"{page} has no '{START}' and '{END}' on lines of their own")
    parts = [tables(records, dataset, name) for name in SYSTEMS for dataset in DATASETS]
    page.write_text(f"{before}{START}\n\n" + "\n\n".join(filter(None, parts)) + f"\n\n{END}{after}")


def tables(records: TrialRecords, dataset: str, name: str) -> str:
    """One system on one graph: a line for each defense, and one for each attack under it."""
    system = SYSTEMS[name]
    every = {row: records.seeds(cell_name(dataset, name, row)) for row in system.rows | system.more}
    trials = {row: found for row, found in every.items() if found}
    if not trials:
        return ""
    own = next((attack.title for attack in system.attacks if attack.paper), None)
    head = ["defense", "seeds", "accuracy %", "promised", "strongest attack", *COLUMNS, "epsilon shown"]
    told = [_defense(row, found, system.attacks) for row, found in trials.items()]
    each = [line for row, found in trials.items() for line in _attacks(row, found, system.attacks, own)]
    lines = [f"### {system.title} on {dataset}", "", *_markdown(head, told), "", *_markdown(ATTACKS, each)]
    return "\n".join(lines)


COLUMNS = ("AUC %", "TPR % at 1 % FPR", "blind AUC %")
ATTACKS = ("defense", "attack", "seeds", "secret", *COLUMNS, "AUC % among all")


def _defense(row: str, trials: list[dict[str, Any]], attacks: tuple[Mounted, ...]) -> list[str]:
    name = strongest(trials, attacks)
    accuracy = percent([trial["accuracy"] for trial in trials])
    head = [row, str(len(trials)), accuracy, _promised(trials[0]["promised"])]
    if name is None:
        return [*head, "none applies", "", "", "", ""]
    shown = [trial["attacks"][name] for trial in trials if name in trial["attacks"]]
    return [*head, _called(name), *_figures(shown), _epsilon(shown)]


def _attacks(
    row: str, trials: list[dict[str, Any]], attacks: tuple[Mounted, ...], own: str | None
) -> list[list[str]]:
    found = []
    for attack in attacks:
        shown = [trial["attacks"][attack.title] for trial in trials if attack.title in trial["attacks"]]
        called = _called(attack.title) + (" (the paper's)" if attack.title == own else "")
        if shown:
            plain = _text(over_seeds([one["plain"] for one in shown]))
            found.append([row, called, str(len(shown)), shown[0]["game"], *_figures(shown), plain])
        elif attack is not STATISTIC:  # of which only a private teacher sends any
            found.append([row, called, "0", "nothing to read", *[""] * 4])
    return found


def _called(name: str) -> str:
    attack, _, observer = name.partition(", ")
    return f"`{attack}` by {observer}"


def _figures(shown: list[dict[str, Any]]) -> list[str]:
    return [_text(over_seeds([one[what] for one in shown])) for what in ("auc", "tpr", "blind")]


def _text(figure: tuple[float, float, float] | None) -> str:
    if figure is None:
        return "not measurable"
    mean, low, high = (100 * value for value in figure)
    return f"{mean:.1f} [{low:.1f}, {high:.1f}]"


def _promised(promise: dict[str, Any] | None) -> str:
    if promise is None:
        return "nothing"
    return f"epsilon {promise['epsilon']:g}, delta {promise['delta']:g}, {promise['unit']}"


def _epsilon(shown: list[dict[str, Any]]) -> str:
    """The mean of what single runs show, which proves nothing where subjects of one run are what is counted."""
    if "epsilon" not in shown[0] or any(one["epsilon"] is None for one in shown):
        return "not measurable"
    mean = float(np.mean([one["epsilon"] for one in shown]))
    return f"{mean:.2f} ({'valid' if all(one['validity'] == 'valid' for one in shown) else 'indicative'})"


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]


if __name__ == "__main__":
    main()
