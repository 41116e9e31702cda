"""Membership inference against a trained GNN, measured beside published figures.

    python benchmarks/membership.py protocol --dataset Cora --shadows 8        # that of Lassila et al. 2025
    python benchmarks/membership.py overfit --dataset Cora                     # all attacks on an overfit GCN
    python benchmarks/membership.py graphs --dataset Cora                      # what query graphs alone give away

Every repetition draws members, target and shadow models anew. Results are written to a folder as they come
(`--folder`), and `show` prints what it holds as Markdown.
"""

import json
import time
from pathlib import Path
from typing import Any

import click
import numpy as np

# Lassila et al. 2025, result files committed before the preprint: AUC %, TPR % at 1 % FPR; ten targets that share
# one set of shadow models. Typical standard deviations over targets: AUC 0.5-2, TPR 1-4 (0.2-1 on PubMed, Photo).
PUBLISHED = {
    ("Cora", "gcn", 8): {
        "mia": (69.1, 3.1),
        "lira-record": (81.9, 8.2),
        "rmia": (81.5, 15.6),
        "base": (81.5, 15.7),
        "lira-offline-record": (81.8, 10.5),
        "base-offline": (80.5, 16.5),
        "g-base": (77.4, 15.6),
    },
    ("Cora", "gat", 8): {
        "mia": (67.9, 2.9),
        "lira-record": (78.9, 8.0),
        "rmia": (79.7, 13.0),
        "base": (79.7, 13.0),
        "lira-offline-record": (80.0, 11.9),
        "base-offline": (78.5, 15.9),
        "g-base": (74.0, 12.0),
    },
    ("Cora", "sage", 8): {
        "mia": (62.7, 4.2),
        "lira-record": (70.3, 7.1),
        "rmia": (74.5, 11.2),
        "base": (74.5, 11.2),
        "lira-offline-record": (72.4, 11.0),
        "base-offline": (73.4, 16.0),
        "g-base": (76.6, 13.1),
    },
    ("CiteSeer", "gcn", 8): {
        "mia": (73.9, 4.7),
        "lira-record": (87.1, 15.4),
        "rmia": (85.8, 22.6),
        "base": (85.8, 22.6),
        "lira-offline-record": (85.1, 21.8),
        "base-offline": (86.4, 26.8),
        "g-base": (84.5, 23.4),
    },
    ("CiteSeer", "gat", 8): {
        "mia": (73.2, 5.2),
        "lira-record": (85.3, 15.7),
        "rmia": (83.9, 20.0),
        "base": (83.9, 20.0),
        "lira-offline-record": (84.1, 19.5),
        "base-offline": (84.0, 23.2),
        "g-base": (82.2, 20.3),
    },
    ("CiteSeer", "sage", 8): {
        "mia": (68.2, 5.1),
        "lira-record": (77.7, 11.5),
        "rmia": (81.2, 18.6),
        "base": (81.2, 18.6),
        "lira-offline-record": (77.8, 14.4),
        "base-offline": (80.8, 24.6),
        "g-base": (85.1, 25.0),
    },
    ("PubMed", "gcn", 8): {
        "mia": (52.7, 1.1),
        "lira-record": (56.2, 1.5),
        "rmia": (59.7, 3.8),
        "base": (59.7, 3.8),
        "lira-offline-record": (57.1, 1.8),
        "base-offline": (59.7, 4.5),
        "g-base": (61.8, 5.4),
    },
    ("PubMed", "gat", 8): {
        "mia": (50.4, 0.9),
        "lira-record": (53.7, 1.3),
        "rmia": (57.7, 3.4),
        "base": (57.7, 3.4),
        "lira-offline-record": (55.6, 1.5),
        "base-offline": (57.2, 3.4),
        "g-base": (60.5, 4.6),
    },
    ("PubMed", "sage", 8): {
        "mia": (49.9, 1.0),
        "lira-record": (53.1, 1.2),
        "rmia": (57.2, 2.9),
        "base": (57.2, 2.9),
        "lira-offline-record": (55.3, 1.4),
        "base-offline": (56.7, 3.1),
        "g-base": (63.0, 5.2),
    },
    ("Photo", "gcn", 8): {
        "mia": (51.6, 1.4),
        "lira-record": (56.2, 1.9),
        "rmia": (55.6, 1.4),
        "base": (55.6, 1.5),
        "lira-offline-record": (56.3, 2.5),
        "base-offline": (56.5, 3.4),
        "g-base": (57.4, 2.4),
    },
    ("Photo", "gat", 8): {
        "mia": (51.7, 1.4),
        "lira-record": (54.9, 2.3),
        "rmia": (56.6, 2.4),
        "base": (56.6, 2.4),
        "lira-offline-record": (57.1, 3.0),
        "base-offline": (56.6, 3.7),
        "g-base": (56.5, 3.9),
    },
    ("Photo", "sage", 8): {
        "mia": (50.0, 1.2),
        "lira-record": (52.0, 1.6),
        "rmia": (52.8, 1.4),
        "base": (52.8, 1.4),
        "lira-offline-record": (53.1, 2.1),
        "base-offline": (52.7, 2.1),
        "g-base": (56.4, 2.7),
    },
    ("Cora", "gcn", 128): {
        "lira-record": (89.2, 35.5),
        "base": (82.7, 19.8),
        "g-base": (78.4, 19.2),
        "lira-offline-record": (86.0, 33.5),
        "base-offline": (81.5, 22.1),
    },
    ("CiteSeer", "gat", 128): {
        "lira-record": (91.6, 47.5),
        "base": (85.0, 24.0),
        "g-base": (83.5, 26.0),
        "lira-offline-record": (87.3, 45.4),
        "base-offline": (85.5, 31.2),
    },
    ("Photo", "gat", 128): {
        "lira-record": (58.8, 6.1),
        "base": (56.3, 2.5),
        "g-base": (55.1, 4.1),
        "lira-offline-record": (57.5, 5.5),
        "base-offline": (56.5, 4.0),
    },
    ("PubMed", "sage", 128): {
        "lira-record": (56.6, 3.4),
        "base": (57.5, 3.4),
        "g-base": (63.1, 5.6),
        "lira-offline-record": (56.1, 2.4),
        "base-offline": (57.4, 3.4),
    },
}
TUNED = {  # lr, weight decay, dropout, hidden, epochs; released configuration
    ("Cora", "gcn"): (1e-3, 1e-5, 0.5, 64, 200),
    ("Cora", "gat"): (1e-3, 1e-4, 0.5, 64, 100),
    ("Cora", "sage"): (1e-3, 1e-4, 0.5, 64, 200),
    ("CiteSeer", "gcn"): (1e-3, 1e-4, 0.5, 64, 100),
    ("CiteSeer", "gat"): (1e-3, 1e-4, 0.5, 64, 50),
    ("CiteSeer", "sage"): (1e-3, 1e-4, 0.5, 64, 100),
    ("PubMed", "gcn"): (1e-2, 1e-5, 0.25, 64, 400),
    ("PubMed", "gat"): (1e-2, 1e-4, 0.5, 64, 200),
    ("PubMed", "sage"): (1e-2, 1e-4, 0.5, 128, 100),
    ("Photo", "gcn"): (1e-3, 1e-5, 0.0, 128, 2000),
    ("Photo", "gat"): (1e-3, 1e-4, 0.25, 64, 400),
    ("Photo", "sage"): (1e-2, 1e-4, 0.0, 256, 200),
}
FOLDER = click.option("--folder", type=click.Path(path_type=Path), default=Path("results"), show_default=True)


SHADOWED = ("lira", "lira-offline", "rmia", "rmia-offline", "base", "base-offline")
OTHERS = ("loss-calibrated", "label-only")


@click.group()
def main() -> None:
    """Membership inference, measured beside published."""


def recipe(dataset: str, architecture: str) -> dict[str, Any]:
    """The tuned recipe of the released configuration."""
    lr, decay, dropout, hidden, epochs = TUNED[dataset, architecture]
    return {
        "architecture": architecture,
        "lr": lr,
        "weight_decay": decay,
        "dropout": dropout,
        "hidden": hidden,
        "epochs": epochs,
    }


@main.command()
@click.option("--dataset", type=click.Choice(["Cora", "CiteSeer", "PubMed", "Photo"]), required=True)
@click.option("--architecture", type=click.Choice(["gcn", "gat", "sage"]), default="gcn", show_default=True)
@click.option("--shadows", default=8, show_default=True)
@click.option("--seeds", default=5, show_default=True)
@click.option("--g-base/--no-g-base", default=True, show_default=True)
@FOLDER
def protocol(dataset: str, architecture: str, shadows: int, seeds: int, g_base: bool, folder: Path) -> None:
    """The protocol of Lassila et al.: half of all nodes are members, queries are 0-hop, tuned recipes."""
    from gaudit.audit.planning.trial_plan import AttackPlan

    record = {"shadows": shadows, "variance": "record"}
    plans = {
        "loss": AttackPlan("loss", {}, neighbours="none"),
        "lira-record": AttackPlan("lira", record, neighbours="none"),
        "lira-offline-record": AttackPlan("lira-offline", record, neighbours="none"),
        **{n: AttackPlan(n, {"shadows": shadows}, neighbours="none") for n in SHADOWED},
    }
    if g_base:
        plans["g-base"] = AttackPlan("g-base", {"shadows": shadows})
    settings = {"game": "node-presence", "in_question": 1.0, "recipe": recipe(dataset, architecture)}
    _run(f"protocol-{dataset}-{architecture}-{shadows}", dataset, settings, plans, seeds, folder)


@main.command()
@click.option("--dataset", type=click.Choice(["Cora", "CiteSeer", "PubMed"]), required=True)
@click.option("--shadows", default=64, show_default=True)
@click.option("--seeds", default=5, show_default=True)
@FOLDER
def overfit(dataset: str, shadows: int, seeds: int, folder: Path) -> None:
    """All attacks on an overfit GCN; the adversary also owns nodes of its own. 0-hop queries."""
    from gaudit.audit.planning.trial_plan import AttackPlan

    plans = {n: AttackPlan(n, {"shadows": shadows}, neighbours="none") for n in (*SHADOWED, *OTHERS)}
    plans["loss"] = AttackPlan("loss", {}, neighbours="none")
    plans["mia"] = AttackPlan("mia", {"shadows": 8}, neighbours="none")
    settings = {"game": "node-presence", "recipe": recipe(dataset, "gcn")}
    _run(f"overfit-{dataset}-gcn-{shadows}", dataset, settings, plans, seeds, folder)


@main.command()
@click.option("--dataset", type=click.Choice(["Cora", "CiteSeer"]), required=True)
@click.option("--seeds", default=5, show_default=True)
def graphs(dataset: str, seeds: int) -> None:
    """Members asked on the training subgraph against non-members, and the same members, asked on the full graph.

    The recipe of Olatunji et al. 2021 (their code: GCN of width 256, Adam at 1e-4, 300 epochs, no dropout, no
    decay); the attack model is a perceptron of posteriors, trained on a shadow model asked in the same two ways.
    """
    found = [_two_graphs(dataset, seed) for seed in range(seeds)]
    click.echo("| told apart | AUC % | sd |")
    click.echo("| --- | --- | --- |")
    for name in found[0]:
        values = np.array([f[name] for f in found])
        click.echo(f"| {name} | {100 * values.mean():.1f} | {ddof_std(values)} |")


@main.command()
@click.option("--repetitions", default=100, show_default=True)
@click.option("--shadows", default=8, show_default=True)
def null(repetitions: int, shadows: int) -> None:
    """Every attack on a model that never saw the members in question (Cora, label membership, 0-hop).

    The model is trained on nodes drawn at random from those in question, the members are another such draw.
    """
    from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
    from gaudit.audit.running.trial import run_trial, use_one_thread
    from gaudit.audit.statistics.epsilon import epsilon_of_runs
    from gaudit.audit.statistics.metrics import auc_finding
    from gaudit.graphs.datasets.loading import load_dataset

    use_one_thread()
    data = load_dataset("Cora")
    given = {"shadows": shadows}
    plans = [AttackPlan(n, given, neighbours="none") for n in (*SHADOWED, *OTHERS)]
    plans += [AttackPlan("loss", {}, neighbours="none"), AttackPlan("mia", {}, neighbours="none")]
    inside: dict[str, list[bool]] = {p.name: [] for p in plans}
    bounds: dict[str, list[float]] = {p.name: [] for p in plans}
    areas: dict[str, list[float]] = {p.name: [] for p in plans}
    for index in range(repetitions):
        for a in run_trial(
            TrialPlan("classifier", {}, "none", {}, tuple(plans), seed=1, index=index), data
        ).attacked:
            found = auc_finding([a.blind])
            inside[a.plan.name].append(found.low <= 0.5 <= found.high)
            areas[a.plan.name].append(found.estimate)
            bounds[a.plan.name].append(epsilon_of_runs([a.blind]).low)
    click.echo("| attack | mean AUC | intervals with 0.5, % | epsilon bound of 0, % |")
    click.echo("| --- | --- | --- | --- |")
    for name, hits in inside.items():
        zero = 100 * np.mean(np.array(bounds[name]) == 0)
        click.echo(f"| {name} | {np.mean(areas[name]):.3f} | {100 * np.mean(hits):.0f} | {zero:.0f} |")


def _two_graphs(dataset: str, seed: int) -> dict[str, float]:
    import torch

    from gaudit.attacks.membership.shadow_mia import ShadowMIA
    from gaudit.audit.statistics.metrics import auc
    from gaudit.graphs.datasets.loading import load_dataset
    from gaudit.targets.models.model_ensemble import train_models
    from gaudit.targets.models.training_config import TrainingConfig
    from gaudit.targets.models.training_task import Query, TrainingTask

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    data = load_dataset(dataset)
    nodes = torch.randperm(data.num_nodes)
    target_in, target_out, shadow_in, shadow_out = nodes.chunk(4)
    members = torch.zeros((2, data.num_nodes), dtype=torch.bool)
    members[0, target_in] = True
    members[1, shadow_in] = True
    made = TrainingConfig(hidden=256, epochs=300, lr=1e-4, weight_decay=0, dropout=0)
    everybody = torch.arange(data.num_nodes)
    queries = [Query(everybody, data.edge_index, apart=True), Query(everybody, data.edge_index)]
    task = TrainingTask(data, members, made, int(data.y.max()) + 1, induced=True)
    own, full = (a.softmax(-1) for a in train_models(task, queries, np.random.SeedSequence(seed)).answers)
    attack = ShadowMIA()

    def judged(train: tuple[Any, Any], asked: tuple[Any, Any]) -> float:
        flags = [torch.cat([torch.ones(len(a)), torch.zeros(len(b))]) for a, b in (train, asked)]
        judge = attack._judge(torch.cat(train), flags[0])
        return auc(flags[1].bool().numpy(), attack._judged(judge, torch.cat(asked), hard=False).numpy())

    as_published = (own[1, shadow_in], full[1, shadow_out])
    return {
        "members on their subgraph, non-members on the full graph (as published)": judged(
            as_published, (own[0, target_in], full[0, target_out])
        ),
        "the same members, on their subgraph and on the full graph (control)": judged(
            as_published, (own[0, target_in], full[0, target_in])
        ),
        "members and non-members, both on the full graph": judged(
            (full[1, shadow_in], full[1, shadow_out]), (full[0, target_in], full[0, target_out])
        ),
    }


def _run(
    name: str, dataset: str, settings: dict[str, Any], plans: dict[str, Any], seeds: int, folder: Path
) -> None:
    from joblib import parallel_config

    from gaudit.audit.planning.trial_plan import TrialPlan
    from gaudit.audit.running.trial import run_trial, use_one_thread
    from gaudit.graphs.datasets.loading import load_dataset

    use_one_thread()
    data = load_dataset(dataset)
    folder.mkdir(parents=True, exist_ok=True)
    for index in range(seeds):
        file = folder / f"{name}-{index}.json"
        if file.exists():
            continue
        plan = TrialPlan("classifier", settings, "none", {}, tuple(plans.values()), seed=0, index=index)
        start = time.process_time()
        with parallel_config(n_jobs=1):
            result = run_trial(plan, data)
        spent = time.process_time() - start
        found = {
            key: {
                "subjects": a.judged.subjects.tolist(),
                "truth": a.judged.truth.tolist(),
                "score": a.judged.score.tolist(),
            }
            for key, a in zip(plans, result.attacked, strict=True)
        }
        part = file.with_suffix(".part")
        part.write_text(json.dumps({"note": result.notes[0], "cpu_seconds": spent, "attacks": found}))
        part.replace(file)
        click.echo(f"{file}: {result.notes[0]}, {spent:.0f} CPU s")


@main.command()
@FOLDER
def show(folder: Path) -> None:
    """Print what the folder holds as Markdown, measured beside published."""
    names = sorted({file.stem.rsplit("-", 1)[0] for file in folder.glob("*-*-*-*-*.json")})
    for name in names:
        kind, dataset, architecture, shadows = name.split("-")
        trials = [json.loads(f.read_text()) for f in sorted(folder.glob(f"{name}-*.json"))]
        published = PUBLISHED.get((dataset, architecture, int(shadows)), {}) if kind == "protocol" else {}
        cost = np.mean([t["cpu_seconds"] for t in trials])
        click.echo(
            f"\n### {dataset}, {architecture}, {shadows} shadow models ({kind}), {len(trials)} repetitions\n"
        )
        click.echo(f"Target: {trials[0]['note']}. {cost:.0f} CPU s a repetition.\n")
        _table(trials, published)


def _table(trials: list[dict[str, Any]], published: dict[str, tuple[float, float]]) -> None:
    from gaudit.audit.statistics.metrics import auc, auc_finding
    from gaudit.audit.statistics.rates import tpr_at_fpr, tpr_at_fpr_finding
    from gaudit.audit.statistics.scored_subjects import ScoredSubjects

    click.echo("| attack | AUC % | sd | published | TPR % at 1 % FPR | sd | published | TPR % at 0.1 % FPR |")
    click.echo("| --- " * 8 + "|")
    for attack in trials[0]["attacks"]:
        if not all(attack in t["attacks"] for t in trials):
            continue
        runs = [
            ScoredSubjects(*(np.array(t["attacks"][attack][part]) for part in ("subjects", "score", "truth")))
            for t in trials
        ]
        areas = np.array([auc(r.truth, r.score) for r in runs])
        rates = np.array([tpr_at_fpr(r.truth, r.score, 0.01) or np.nan for r in runs])
        area, rate, low = auc_finding(runs), tpr_at_fpr_finding(runs, 0.01), tpr_at_fpr_finding(runs, 0.001)
        old = published.get(attack, ("", ""))
        spread = ddof_std(areas), ddof_std(rates)
        cells = (
            attack,
            area.text(1, True),
            spread[0],
            old[0],
            rate.text(1, True),
            spread[1],
            old[1],
            low.text(1, True),
        )
        click.echo("| " + " | ".join(str(c).replace(" %", "") for c in cells) + " |")


def ddof_std(values: np.ndarray) -> str:
    """Standard deviation over repetitions, in points."""
    return f"{100 * values.std(ddof=1):.1f}" if len(values) > 1 else ""


if __name__ == "__main__":
    main()
