"""Audits of a node classifier: by the user's own training, by its answers, or by asking a service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..errors import InputError
from ..registry import find
from ..targets.external.own_functions import name_of
from ..targets.messages import QUERY_NAMES
from .own_graph import OWN_GRAPH, own_graph
from .result import Result
from .running import attack_names, plain_recipe, run_target

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from ..targets.models.own_training import Fit, Predict

BOTH = ("full", "0-hop")
ASKED_AS = {name: neighbours for neighbours, name in QUERY_NAMES.items()}
WITH_TRAINING, WITHOUT = ("lira", "rmia", "loss"), ("loss",)
"""Attacks that ``attacks="auto"`` means, where it is known how the model was trained, and where it is not."""


def audit(
    data: Data,
    *,
    members: Any = None,
    non_members: Any = None,
    fit: Fit | None = None,
    predict: Predict | None = None,
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
        data: the private graph: ``x`` [n, d], ``y`` [n], ``edge_index`` [2, e], and what else ``fit`` reads:
            arrays with a row for each node or each edge, and plain values (other fields `fit` does not get).
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
    settings = _settings(graph, fit, predict, answers, url, budget, recipe, queries, seeds)
    asked = settings.get("queries") or tuple(settings["answers"])
    alike = WITHOUT if fit is None and recipe is None else WITH_TRAINING
    planned = [
        {
            "name": name,
            "observers": (observer,),
            "neighbours": tuple(ASKED_AS[query] for query in asked),
            "settings": _shadows(name, shadows),
        }
        for name in attack_names(alike if attacks == "auto" else attacks)
    ]
    target, settings = "own" if url is None else "service", {**settings, "game": game}
    return run_target(target, settings, planned, seeds, seed, {OWN_GRAPH: graph}, workers, ledger, progress)


def _settings(
    graph: Data,
    fit: Fit | None,
    predict: Predict | None,
    answers: Any,
    url: str | None,
    budget: int | None,
    recipe: Mapping[str, Any] | None,
    queries: str | Sequence[str] | None,
    seeds: int,
) -> dict[str, Any]:
    """Those of the target for the one way in that was taken."""
    if (fit is None) != (predict is None):
        raise InputError("fit and predict belong together: give both")
    for name, function in (("fit", fit), ("predict", predict)):
        if function is not None and not callable(function):
            raise InputError(f"{name} must be a function, not {type(function).__name__}")
    if (fit is not None) + (answers is not None) + (url is not None) != 1:
        raise InputError("give one of: fit and predict, answers, url and budget")
    queries = _checked((queries,) if isinstance(queries, str) else queries)
    if fit is not None and predict is not None:
        return _by_training(fit, predict, recipe, queries)
    if url is not None:
        return _by_asking(url, budget, recipe, queries, seeds)
    return _by_answers(graph, answers, recipe, queries, seeds)


def _checked(queries: Sequence[str] | None) -> Sequence[str] | None:
    if queries is not None and not queries:
        raise InputError(f"no query is named: the model can be asked with {', '.join(ASKED_AS)}")
    unknown = [name for name in queries or () if name not in ASKED_AS]
    if unknown:
        raise InputError(f"the query '{unknown[0]}' is none: the model can be asked with {', '.join(ASKED_AS)}")
    return queries


def _by_training(
    fit: Fit, predict: Predict, recipe: Mapping[str, Any] | None, queries: Sequence[str] | None
) -> dict[str, Any]:
    if recipe is not None:
        raise InputError("recipe and fit: fit says how the model is trained: leave the recipe out")
    return {"fit": name_of(fit), "predict": name_of(predict), "queries": tuple(queries or BOTH)}


def _by_asking(
    url: str, budget: int | None, recipe: Mapping[str, Any] | None, queries: Sequence[str] | None, seeds: int
) -> dict[str, Any]:
    if budget is None:
        raise InputError("url needs a budget: how many answers the service may be asked for")
    if seeds != 1:
        raise InputError(f"seeds = {seeds}: a service is one model: give 1")
    return {"url": url, "budget": budget, "queries": tuple(queries or BOTH), **_declared(recipe)}


def _by_answers(
    graph: Data, answers: Any, recipe: Mapping[str, Any] | None, queries: Sequence[str] | None, seeds: int
) -> dict[str, Any]:
    if seeds != 1:
        raise InputError(f"seeds = {seeds}: answers are of one run: give 1, or fit and predict")
    attached = _attached(graph, answers, queries)
    _checked(tuple(attached))
    return {"answers": attached, **_declared(recipe)}


def _declared(recipe: Mapping[str, Any] | Any | None) -> dict[str, Any]:
    """The recipe among the settings, where one is declared."""
    return {} if recipe is None else {"recipe": plain_recipe(recipe)}


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


def _shadows(name: str, shadows: int | None) -> dict[str, Any]:
    has = "shadows" in find("attacks", name).Settings.model_fields
    return {"shadows": shadows} if has and shadows is not None else {}
