"""Audits of what users bring: a training function, answers, scores, a release. Each is a plan, run at once."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch_geometric.data import Data

from ..audit.planning.grid import laid_out
from ..audit.planning.plan import Plan, is_file
from ..audit.planning.resolve import graph_of
from ..audit.results.assemble import assemble
from ..audit.running.ledger import Ledger
from ..audit.running.runner import run_audit
from ..errors import InputError
from ..graphs.checks import check_content
from ..graphs.files.network_file import write_network
from ..graphs.network import Network
from ..registry import find, registered
from ..reports.console.progress import staged
from ..targets.external.own_functions import name_of
from ..targets.messages import QUERY_NAMES
from .result import Result

if TYPE_CHECKING:
    from ..targets.models.own_training import Fit, Predict

OWN_GRAPH = "own graph"
ASKED_AS = {name: neighbours for neighbours, name in QUERY_NAMES.items()}
WITH_TRAINING, WITHOUT = ("lira", "rmia", "loss"), ("loss",)
"""Attacks that ``attacks="auto"`` means, where it is known how the model was trained, and where it is not."""
ON_RELEASES = ("nearest", "mia")
ON_NETWORKS = ("refinement", "hub-fingerprint", "seedless-matching")


def audit(
    data: Data,
    *,
    members: Any = None,
    non_members: Any = None,
    fit: "Fit | None" = None,
    predict: "Predict | None" = None,
    answers: Any = None,
    url: str | None = None,
    budget: int | None = None,
    recipe: Mapping[str, Any] | None = None,
    game: str = "label-membership",
    queries: Sequence[str] | None = None,
    attacks: str | Sequence[str] = "auto",
    observer: str = "public",
    shadows: int | None = None,
    seeds: int = 1,
    seed: int = 0,
    workers: int | None = None,
    ledger: str | Path | None = None,
    progress: bool = True,
) -> Result:
    """Audits a node classifier of your own: does what it answers tell whom it was trained on?

    One of four ways in. With ``fit`` and ``predict`` gaudit trains the model on the members, and its attackers
    train shadow models by the same functions, which is the strongest attack. With ``answers`` and a ``recipe``
    shadow models are trained as the recipe says. With ``answers`` alone only attacks without shadow models run.
    With ``url`` and ``budget`` a service is asked, to which the graph is sent; its answers are kept, and nobody is
    asked for them again.

    Args:
        data: the private graph: ``x`` [n, d], ``y`` [n], ``edge_index`` [2, e], and whatever else ``fit`` reads.
        members: whom the model is trained on, bool [n] or ids; by default ``data.train_mask``.
        non_members: whom it is not trained on, and who are asked about too; by default ``data.test_mask``, else
            everybody who is neither a member nor in ``data.val_mask``.
        fit: ``fit(data, mask, seed) -> model``, in any framework. The mask [n] bool says whose labels to train on;
            in the game node presence the graph has these nodes alone.
        predict: ``predict(model, x, edge_index, nodes) -> logits`` [s, C].
        answers: posteriors [n, C] of a model that was trained before, or several by query.
        url: where a service answers with posteriors, by HTTP and JSON.
        budget: how many answers it may be asked for, one of one node in one query.
        recipe: how that model was trained (`TrainingConfig`), if you know.
        game: ``label-membership`` (was this label trained on?) or ``node-presence`` (was this node there at all?).
        queries: how the model is asked: ``full`` (all edges), ``0-hop`` (none), ``apart``.
        attacks: names, or ``auto``.
        observer: who attacks.
        shadows: shadow models of each attack; by default the attack's own number.
        seeds: repetitions with models trained anew.
        seed: root of all randomness: the same seed gives the same numbers.
        workers: processes that train shadow models; by default one for each core, and 1 trains in this process.
        ledger: file to keep every trial in; what is in it is not run again.
        progress: show how far it is, on the error stream.

    Raises:
        InputError: something does not fit, in one line.

    Example:
        >>> result = gaudit.audit(data, fit=train, predict=ask)      # doctest: +SKIP
        >>> result.auc["lira"], result.report("report.html")          # doctest: +SKIP
    """
    graph = own_graph(data, members, non_members)
    settings: dict[str, Any] = {"game": game}
    if url is not None:
        if answers is not None or fit is not None or predict is not None:
            raise InputError("url and answers or functions are two ways in: give one")
        if budget is None:
            raise InputError("url needs a budget: how many answers the service may be asked for")
        asked = ("full", "0-hop") if queries is None else tuple(queries)
        settings |= {"url": url, "budget": budget, "queries": asked}
        settings |= {} if recipe is None else {"recipe": _plain(recipe)}
        if seeds != 1:
            raise InputError(f"seeds = {seeds}: a service is one model: give 1")
    elif answers is not None:
        settings["answers"] = _attached(graph, answers, queries)
        asked = tuple(settings["answers"])
        settings |= {} if recipe is None else {"recipe": _plain(recipe)}
        if seeds != 1:
            raise InputError(f"seeds = {seeds}: answers are of one run: give 1, or fit and predict")
    else:
        if fit is None or predict is None:
            raise InputError("give fit and predict, or answers: there is nothing to audit")
        asked = ("full", "0-hop") if queries is None else tuple(queries)
        settings |= {"fit": name_of(fit), "predict": name_of(predict), "queries": asked}
        if recipe is not None:
            raise InputError("recipe and fit: fit says how the model is trained: leave the recipe out")
    unknown = [name for name in asked if name not in ASKED_AS]
    if unknown:
        raise InputError(f"the query '{unknown[0]}' is none: the model can be asked with {', '.join(ASKED_AS)}")
    wanted = (WITH_TRAINING if fit is not None or recipe is not None else WITHOUT) if attacks == "auto" else attacks
    planned = [
        {
            "name": name,
            "observers": (observer,),
            "neighbours": tuple(ASKED_AS[query] for query in asked),
            "settings": _shadows(name, shadows),
        }
        for name in _names(wanted)
    ]
    target = "own" if url is None else "service"
    return _run(target, settings, planned, seeds, seed, {OWN_GRAPH: graph}, workers, ledger, progress)


def score(
    table: str | Path | Any,
    *,
    id: str = "id",
    member: str = "member",
    score: str = "score",
    run: str = "run",
    blind: str = "blind",
    stratum: str = "stratum",
    game: str = "auto",
    seed: int = 0,
    ledger: str | Path | None = None,
) -> Result:
    """Judges scores that another tool made, as gaudit's own attacks are judged: AUC, rates, levels, intervals.

    Args:
        table: a file (CSV, TSV, Parquet, npz), a pandas DataFrame, or a dictionary of columns.
        id: the column that names each person (for pairs there is ``id2`` beside it).
        member: the column that says who is a member: 1 or 0.
        score: the column of scores, the higher the likelier a member. Without it posteriors p0, p1, ... and a
            column ``label`` are scored by the log-probability of the label.
        run: the column that tells repetitions apart, if there is one.
        blind: the column of the same attack's scores without the release, if there is one.
        stratum: a column of what is public and tells members (a class): subjects are compared within it.
        game: ``label-membership``, ``node-presence`` or ``edge-presence``; ``auto`` takes pairs for edges.
        seed: of the permutations.
        ledger: file to keep it in.

    Raises:
        InputError: a column or a value is wrong, in one line that names it.

    Example:
        >>> gaudit.score("scores.csv").assert_below(tpr_at_1=0.05)    # doctest: +SKIP
    """
    from ..targets.external.scores import ScoresSettings, read_scores

    with TemporaryDirectory(prefix="gaudit-") as folder:
        file = table if isinstance(table, str | Path) else _table_file(table, Path(folder))
        columns = {"id": id, "member": member, "score": score, "run": run, "blind": blind, "stratum": stratum}
        settings = {"file": str(file), **columns, "game": game}
        runs = len(read_scores(ScoresSettings.checked("target 'scores'", settings)).runs)
        planned = [{"name": "given-scores"}]
        return _run("scores", settings, planned, runs, seed, {}, 1, ledger, False)


def release(
    file: str | Path | Mapping[str, Any],
    *,
    original: Data | str | Path,
    labels: str | Path | None = None,
    adjacency: str | Path | None = None,
    no_edges: bool = False,
    members: Any = None,
    non_members: Any = None,
    game: str = "label-membership",
    attacks: str | Sequence[str] = "auto",
    seed: int = 0,
    ledger: str | Path | None = None,
    progress: bool = True,
) -> Result:
    """Audits a condensed graph that was released: does it tell whose data it was made of?

    Args:
        file: the release, ``.npz``, ``.pt`` or ``.safetensors``, or a dictionary with ``x`` [n', d] and, if it has
            them, ``y`` [n'] and ``adjacency`` [n', n'].
        original: the private graph, its file, or a dataset's name.
        labels: the file of its labels, where they are apart.
        adjacency: the file of its adjacency, where that is apart.
        no_edges: it is meant to have none.
        members: as in `audit`.
        non_members: as in `audit`.
        game: as in `audit`.
        attacks: names, or ``auto``; those that need what the release lacks are refused by name.
        seed: root of all randomness.
        ledger: file to keep it in.
        progress: show how far it is.

    Raises:
        InputError: something does not fit, in one line.

    Example:
        >>> gaudit.release("condensed.npz", original=data).auc["nearest"]    # doctest: +SKIP
    """
    name, graph = _graph(original, members, non_members)
    with TemporaryDirectory(prefix="gaudit-") as folder:
        place = file if isinstance(file, str | Path) else _release_file(file, Path(folder))
        settings = {
            "file": str(place),
            "labels": None if labels is None else str(labels),
            "adjacency": None if adjacency is None else str(adjacency),
            "no_edges": no_edges,
            "game": game,
        }
        planned = [{"name": each} for each in _names(ON_RELEASES if attacks == "auto" else attacks)]
        return _run("released", settings, planned, 1, seed, {name: graph}, None, ledger, progress)


def published(
    after: Any,
    *,
    original: Any,
    same: str | Path | Mapping[str, str] | None = None,
    sensitive: int | None = None,
    attacks: str | Sequence[str] = "auto",
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
    ledger: str | Path | None = None,
    progress: bool = True,
) -> Result:
    """Audits a network that any tool anonymised: can persons be found in it, and are their links still there?

    Args:
        after: the published network, a file (edge list, ``.npz``, ``.graphml``) or a networkx graph.
        original: the network before: a file, a dataset's name, or a networkx graph.
        same: who is who: a table with the columns ``original`` and ``published``, or a dictionary from names in the
            original to names in the published network. Without it nodes must have kept their names.
        sensitive: type of edge that is secret; all edges by default.
        attacks: names, or ``auto``.
        settings: of attacks, by their names.
        seed: root of all randomness.
        ledger: file to keep it in.
        progress: show how far it is.

    Raises:
        InputError: something does not fit, in one line.

    Example:
        >>> gaudit.published("after.txt", original="before.txt", same="map.csv").auc    # doctest: +SKIP
    """
    with TemporaryDirectory(prefix="gaudit-") as folder:
        before = _network_file(original, Path(folder), "original")
        target = {
            "after": _network_file(after, Path(folder), "published"),
            "same": _map_file(same, Path(folder)) if isinstance(same, Mapping) else _as_text(same),
            "sensitive": sensitive,
        }
        graph = graph_of(before, is_file(before), plain=True)
        planned = [
            {"name": name, "settings": dict((settings or {}).get(name, {}))}
            for name in _names(ON_NETWORKS if attacks == "auto" else attacks)
        ]
        return _run("published", target, planned, 1, seed, {before: graph}, None, ledger, progress)


def recorded(
    recordings: str | Path | Sequence[str | Path],
    *,
    data: Data | str | Path,
    members: Any = None,
    non_members: Any = None,
    holders: Any = None,
    recipe: Mapping[str, Any] | None = None,
    game: str | None = None,
    attacks: str | Sequence[str] = "auto",
    observer: str | None = None,
    seed: int = 0,
    ledger: str | Path | None = None,
    progress: bool = True,
) -> Result:
    """Audits runs that were recorded (`gaudit.recording`): do their messages tell who or what was in the data?

    Args:
        recordings: folders or files; several are repetitions.
        data: the private graph, its file, or a dataset's name.
        members: as in `audit`; those that a recording names come first.
        non_members: as in `audit`.
        holders: the number of the client that holds each node [n], -1 for none, or the .npy file that says so; else
            what the recording or the graph says. With it links and lone nodes are in question too.
        recipe: how the models were trained (`TrainingConfig`), where the recordings do not say and you know.
        game: which membership is in question, where they do not say.
        attacks: names, or ``auto`` for all that read something of what was sent.
        observer: who attacks; by default who sees what an attack reads.
        seed: root of all randomness.
        ledger: file to keep every trial in.
        progress: show how far it is.

    Raises:
        InputError: something does not fit, in one line.

    Example:
        >>> gaudit.recorded("run/", data=graph, holders=owner).table()    # doctest: +SKIP
    """
    from ..audit.planning.recorded_plan import recorded_plan

    paths = [recordings] if isinstance(recordings, str | Path) else list(recordings)
    name, graph = _graph(data, members, non_members)
    with TemporaryDirectory(prefix="gaudit-") as folder:
        told = {"game": game, "recipe": None if recipe is None else _plain(recipe)}
        plan = recorded_plan(
            [str(path) for path in paths],
            name,
            None if holders is None else str(_holders_file(holders, Path(folder))),
            () if attacks == "auto" else _names(attacks),
            observer,
            {key: value for key, value in told.items() if value is not None},
            seed=seed,
            at_hand=True,
        )
        return _run_plan(plan, {name: graph}, None, ledger, progress)


def _graph(data: Data | str | Path, members: Any, non_members: Any) -> tuple[str, Data]:
    """The graph that a user gave, with its name; its masks say who is a member."""
    if not isinstance(data, str | Path):
        return OWN_GRAPH, own_graph(data, members, non_members)
    if members is not None or non_members is not None:
        raise InputError("members are told by the masks of the graph's file: put them there, or give a graph")
    return str(data), graph_of(str(data), Path(data).suffix != "", draw_split=False)


def _holders_file(holders: Any, folder: Path) -> Path:
    if isinstance(holders, str | Path):
        return Path(holders)
    np.save(folder / "holders.npy", np.asarray(holders), allow_pickle=False)
    return folder / "holders.npy"


def own_graph(data: Data, members: Any, non_members: Any) -> Data:
    """A checked copy of a graph with everything that is in it, whose masks say who is a member.

    Raises:
        InputError: features, labels, edges or masks are not usable, or nobody is a non-member.
    """
    if not isinstance(data, Data):
        raise InputError(f"the graph must be a torch_geometric.data.Data, not {type(data).__name__}")
    copy = data.clone().cpu()
    nodes = int(copy.num_nodes or 0)
    inside = _mask(copy.get("train_mask") if members is None else members, nodes, "members")
    if inside is None:
        raise InputError("nobody says who is a member: give members, or put them into data.train_mask")
    aside = _mask(copy.get("val_mask"), nodes, "val_mask")
    aside = torch.zeros(nodes, dtype=torch.bool) if aside is None else aside & ~inside
    outside = _mask(copy.get("test_mask") if non_members is None else non_members, nodes, "non_members")
    outside = ~inside & ~aside if outside is None else outside
    both = int((inside & outside).sum())
    if both:
        raise InputError(f"{both} nodes are members and non-members: give each to one of the two")
    copy.train_mask, copy.val_mask, copy.test_mask = inside, aside & ~outside, outside
    for name, mask in (("member", inside), ("non-member", outside)):
        if not bool(mask.any()):
            raise InputError(f"no node is a {name}: both are needed")
    copy.x, *_ = check_content(copy, "the graph")
    copy.name = OWN_GRAPH
    return copy


def _mask(given: Any, nodes: int, name: str) -> torch.Tensor | None:
    """A mask [n] bool from a mask or from ids."""
    if given is None:
        return None
    values = torch.as_tensor(np.asarray(given)) if not isinstance(given, torch.Tensor) else given.cpu()
    if values.dtype == torch.bool:
        if tuple(values.shape) != (nodes,):
            raise InputError(f"{name} is a mask {list(values.shape)}: expected [{nodes}], one entry for each node")
        return values.clone()
    if values.dim() != 1 or values.is_floating_point() or bool(((values < 0) | (values >= nodes)).any()):
        raise InputError(f"{name} must be a mask [{nodes}] or ids from 0 to {nodes - 1}")
    mask = torch.zeros(nodes, dtype=torch.bool)
    mask[values.long()] = True
    return mask


def _attached(graph: Data, answers: Any, queries: Sequence[str] | None) -> dict[str, str]:
    """Answers by query, put beside the graph where they are no files."""
    given = answers if isinstance(answers, Mapping) else {(queries or ("full",))[0]: answers}
    found = {}
    for query, told in given.items():
        if isinstance(told, str | Path):
            found[str(query)] = str(told)
            continue
        field = f"posteriors_{query}"
        graph[field] = torch.as_tensor(np.asarray(told)) if not isinstance(told, torch.Tensor) else told.cpu()
        found[str(query)] = f"field:{field}"
    return found


def _plain(recipe: Mapping[str, Any] | Any) -> dict[str, Any]:
    return dict(recipe) if isinstance(recipe, Mapping) else recipe.model_dump()


def _names(attacks: str | Sequence[str]) -> tuple[str, ...]:
    names = (attacks,) if isinstance(attacks, str) else tuple(attacks)
    if not names:
        raise InputError(f"no attack is named: known are {', '.join(registered('attacks'))}")
    return names


def _shadows(name: str, shadows: int | None) -> dict[str, Any]:
    has = "shadows" in find("attacks", name).Settings.model_fields
    return {"shadows": shadows} if has and shadows is not None else {}


def _table_file(table: Any, folder: Path) -> Path:
    import pandas as pd

    place = folder / "scores.csv"
    try:
        pd.DataFrame(table).to_csv(place, index=False, float_format="%.17g")
    except (TypeError, ValueError) as error:
        raise InputError(f"the table is neither a file nor columns of one length: {error}") from error
    return place


def _as_text(place: str | Path | None) -> str | None:
    return None if place is None else str(place)


def _network_file(given: Any, folder: Path, name: str) -> str:
    """The file of a network, or a dataset's name; a networkx graph is written to a file first."""
    if isinstance(given, str | Path):
        return str(given)
    if not (hasattr(given, "edges") and hasattr(given, "nodes") and hasattr(given, "is_directed")):
        raise InputError(f"the {name} network is a {type(given).__name__}: give a file, or a networkx graph")
    if given.is_directed():
        raise InputError(f"the {name} network is directed: give an undirected one, as in graph.to_undirected()")
    ids = [str(node) for node in given.nodes]
    number = {node: place for place, node in enumerate(given.nodes)}
    ends = [
        (number[one], number[other]) for one, other in {tuple(edge[:2]) for edge in given.edges} if one != other
    ]
    pairs = np.unique(np.sort(np.array(ends, dtype=np.int64).reshape(-1, 2), axis=1), axis=0)
    place = folder / f"{name}.npz"
    write_network(Network.from_edges(len(ids), pairs[:, 0], pairs[:, 1]), place, ids)
    return str(place)


def _map_file(same: Mapping[str, str], folder: Path) -> str:
    from ..graphs.files.name_map import write_map

    place = folder / "same.csv"
    write_map(place, [(str(one), str(other)) for one, other in same.items()])
    return str(place)


def _release_file(parts: Mapping[str, Any], folder: Path) -> Path:
    place = folder / "release.npz"
    arrays: dict[str, Any] = {name: np.asarray(part) for name, part in parts.items()}
    np.savez(place, **arrays)
    return place


def _run(
    target: str,
    settings: Mapping[str, Any],
    attacks: Sequence[Mapping[str, Any]],
    seeds: int,
    seed: int,
    graphs: Mapping[str, Data],
    workers: int | None,
    ledger: str | Path | None,
    progress: bool,
) -> Result:
    """Runs a plan of one target in this process; its shadow models are trained side by side."""
    content = {
        "name": target,
        "datasets": tuple(graphs) or ("citations",),
        "seeds": seeds,
        "seed": seed,
        "alternatives": False,
        "target": ({"name": target, "settings": dict(settings)},),
        "attack": tuple(attacks),
    }
    return _run_plan(Plan.checked("audit", content), graphs, workers, ledger, progress)


def _run_plan(
    plan: Plan, graphs: Mapping[str, Data], workers: int | None, ledger: str | Path | None, progress: bool
) -> Result:
    grid = laid_out(plan, graphs)
    folder = TemporaryDirectory(prefix="gaudit-") if ledger is None else None
    place = Path(folder.name) / "audit.db" if folder is not None else Path(str(ledger))
    with Ledger(place, write=True) as book:
        if progress:
            with staged() as report:
                _trials(plan, grid, book, workers, report)
        else:
            _trials(plan, grid, book, workers, None)
        found = assemble(book.content(trust_code=True))
    for failure in found.failures:
        raise InputError(failure.reason)
    return Result(found, place, folder)


def _trials(plan: Plan, grid: Any, book: Ledger, workers: int | None, report: Callable[..., None] | None) -> None:
    run_audit(plan, grid, book, lambda task, done: None, workers, report=report, here=True, retry=True)
