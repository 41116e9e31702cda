"""What one gradient of a few whole graphs tells: their neighbourhoods, and of a single graph the graph itself.

    python benchmarks/graph_inversion.py run --seeds 5
    python benchmarks/graph_inversion.py rebuild --graphs 50
    python benchmarks/graph_inversion.py show

`graph-fedavg` with `upload=gradients`, four clients, first round, width 64 unless a row says otherwise. Seeds begin
at 10: the cut of singular values was picked on seeds 0 to 2 of MUTAG and Mutagenicity. Graphs that are rebuilt are
drawn anew, each at weights of its own. Each trial is recorded when it is done and not run again.
"""

import time
from functools import partial
from typing import Any

import click
import numpy as np
from trial_records import TrialRecords, percent, records_option
from update_ownership import Case, ran

FIRST_SEED, ATTACK = 10, "graph-inversion"
BASE = {"upload": "gradients", "rounds": 1, "answers": "last", "clients": 4}
BATCHES = (1, 2, 4, 8)
DATASETS = ("MUTAG", "Mutagenicity", "ENZYMES")
MODELS: dict[str, dict[str, Any]] = {
    "GIN": {},
    "GIN, width 256": {"hidden": 256},
    "GCN": {"architecture": "gcn"},
}
DEFENSES: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"`gaussian-uploads`, {m:g}": ("gaussian-uploads", {"multiplier": m}) for m in (1e-5, 1e-4, 1e-3, 1e-2)},
    **{f"`top-k-uploads`, {share:g}": ("top-k-uploads", {"share": share}) for share in (0.5, 0.1)},
    **{f"`quantised-uploads`, {bits} bits": ("quantised-uploads", {"bits": bits}) for bits in (16, 8)},
}
REBUILT = {"3 layers, width 64": (3, 64), "3 layers, width 128": (3, 128), "5 layers, width 128": (5, 128)}
MOST_NEIGHBOURS = 4
RECORDS = records_option("graph_inversion")


def told(dataset: str, settings: dict[str, Any], defense: tuple[str, dict[str, Any]], index: int) -> dict[str, Any]:
    """AUC of the attack and of its blind version, and how many neighbourhoods are in question."""
    from gaudit.audit.games.knowledge_cache import KnowledgeCache
    from gaudit.audit.games.referee import judge
    from gaudit.audit.planning.trial_plan import AttackPlan
    from gaudit.audit.statistics.metrics import auc_of_run

    one = ran(dataset, Case(dataset, "graph-fedavg", BASE | settings, *defense, attacks=(ATTACK,)), index)
    plan = AttackPlan(ATTACK, {}, "server")
    attack = plan.make()
    given, knowledge, game = KnowledgeCache(one.data, one.seed, "cpu").for_attack(attack, plan, one.run)
    view = given.renamed(one.run.transcript.seen_by("server"))
    both = attack(view, knowledge, one.seed), attack.blind(knowledge, one.seed)
    attacked, blind = (float(auc_of_run(judge(scores, given, game)) or 0) for scores in both)
    return {"AUC": attacked, "blind": blind, "asked": len(knowledge.subjects)}


def gradient_of(data: Any, graph: int, recipe: Any, seed: np.random.SeedSequence) -> tuple[Any, Any]:
    """Weights drawn anew and the gradient of one graph of a collection at them."""
    import torch
    from torch.nn import functional as F

    from gaudit.graphs.collection import by_graph
    from gaudit.targets.models.graph_models import logits_of, some_graphs
    from gaudit.targets.models.training_config import initial_weights

    labels = by_graph(data, "y")
    wanted = torch.arange(len(labels)) == graph
    weights = initial_weights(recipe, data.num_features, int(labels.max()) + 1, seed)
    free = {name: weight.clone().requires_grad_() for name, weight in weights.items()}
    loss = F.cross_entropy(logits_of(recipe, free, some_graphs(data, wanted, recipe)), labels[wanted])
    return weights, dict(zip(free, torch.autograd.grad(loss, list(free.values())), strict=True))


def rebuilding(dataset: str, layers: int, hidden: int, index: int) -> dict[str, Any]:
    """Whether one graph is found again: the number of its nodes, any graph at all, and the graph itself."""
    import igraph

    from gaudit.attacks.gradients.kinds_of_nodes import Limits
    from gaudit.attacks.gradients.whole_graphs import rebuilt
    from gaudit.graphs.collection import graphs_in
    from gaudit.graphs.datasets.loading import load_dataset
    from gaudit.targets.models.graph_recipe import GraphRecipe

    data = load_dataset(dataset)
    graph = int(np.random.default_rng([FIRST_SEED, index]).integers(graphs_in(data)))
    recipe = GraphRecipe(layers=layers, hidden=hidden)
    weights, gradient = gradient_of(data, graph, recipe, np.random.SeedSequence([FIRST_SEED, index]))
    features = data.x.unique(dim=0)
    began = time.process_time()
    got = rebuilt(gradient, weights, features, Limits(MOST_NEIGHBOURS))
    seconds = time.process_time() - began
    own = (data.graph_of == graph).nonzero().flatten()
    feature = (data.x[own][:, None] == features).all(2).int().argmax(1).tolist()
    edges = data.edge_index[:, data.graph_of[data.edge_index[0]] == graph] - own[0]
    true = igraph.Graph(n=len(own), edges=[pair for pair in edges.t().tolist() if pair[0] < pair[1]])
    found = {"nodes": len(own), "connected": true.is_connected(), "CPU s": seconds}
    if got is None:
        return found | {"found": False, "atoms": False, "same": False}
    other = igraph.Graph(n=len(got.feature), edges=got.edges.tolist())
    atoms = sorted(feature) == sorted(got.feature.tolist())
    alike = atoms and true.ecount() == other.ecount()
    same = alike and true.isomorphic_vf2(other, color1=feature, color2=got.feature.tolist())
    return found | {"found": True, "atoms": atoms, "same": bool(same)}


@click.group()
def main() -> None:
    """Run what is not recorded yet, or print what is."""
    from gaudit.audit.running.trial import use_one_thread

    use_one_thread()


@main.command()
@click.option("--seeds", default=5, show_default=True)
@RECORDS
def run(seeds: int, records: TrialRecords) -> None:
    """Neighbourhoods: models and sizes of batches, and defenses of uploads of two graphs."""
    for index in range(FIRST_SEED, FIRST_SEED + seeds):
        for dataset in DATASETS:
            for model, settings in MODELS.items():
                for batch in BATCHES:
                    work = partial(told, dataset, settings | {"batch": batch}, ("none", {}), index)
                    records.make(f"{dataset}, {model}, {batch}: {index}", work)
        for label, defense in DEFENSES.items():
            work = partial(told, "Mutagenicity", {"batch": 2}, defense, index)
            records.make(f"Mutagenicity, {label}: {index}", work)
    table(TrialRecords(records.file))


@main.command()
@click.option("--graphs", default=50, show_default=True)
@RECORDS
def rebuild(graphs: int, records: TrialRecords) -> None:
    """Single graphs of atoms."""
    for dataset in DATASETS[:2]:
        for label, (layers, hidden) in REBUILT.items():
            for index in range(graphs):
                work = partial(rebuilding, dataset, layers, hidden, index)
                records.make(f"{dataset}, rebuilt, {label}: {index}", work)
    rebuilt_table(TrialRecords(records.file))


@main.command()
@RECORDS
def show(records: TrialRecords) -> None:
    """What is recorded."""
    table(records)
    rebuilt_table(records)


def table(records: TrialRecords) -> None:
    """Means over seeds in percent, with 95 % intervals by Student's t."""
    click.echo(f"| | {' | '.join(map(str, BATCHES))} | asked, {BATCHES[-1]} | blind, {BATCHES[-1]} |")
    click.echo("| --- " * (3 + len(BATCHES)) + "|")
    for dataset in DATASETS:
        for model in MODELS:
            found = [records.seeds(f"{dataset}, {model}, {batch}:") for batch in BATCHES]
            if all(found):
                cells = [percent([one["AUC"] for one in trials]) for trials in found]
                asked = f"{np.mean([one['asked'] for one in found[-1]]):.0f}"
                blind = percent([one["blind"] for one in found[-1]])
                click.echo(f"| {dataset}, {model} | {' | '.join(cells)} | {asked} | {blind} |")
    click.echo("\n| | AUC |\n| --- | --- |")
    for label in DEFENSES:
        trials = records.seeds(f"Mutagenicity, {label}:")
        if trials:
            click.echo(f"| {label} | {percent([one['AUC'] for one in trials])} |")


def rebuilt_table(records: TrialRecords) -> None:
    """How many of the graphs were found again."""
    click.echo("\n| | graphs | a graph was found | all atoms right | the same graph | CPU s |")
    click.echo("| --- " * 6 + "|")
    for dataset in DATASETS[:2]:
        for label in REBUILT:
            found = records.seeds(f"{dataset}, rebuilt, {label}:")
            if found:
                counts = [sum(one[key] for one in found) for key in ("found", "atoms", "same")]
                seconds = np.mean([one["CPU s"] for one in found])
                click.echo(
                    f"| {dataset}, {label} | {len(found)} | {' | '.join(map(str, counts))} | {seconds:.1f} |"
                )


if __name__ == "__main__":
    main()
