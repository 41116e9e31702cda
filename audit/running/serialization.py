"""A trial's result as bytes and back: arrays in a safetensors file, everything else in one of them as JSON.

No pickle: a ledger may come from somebody else. Every array is stored once, under a digest of its content, so that
a bit that has changed on a disk is noticed.
"""

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from typing import Any

import numpy as np
from pydantic import TypeAdapter
from safetensors import SafetensorError
from safetensors.numpy import load, save

from ...errors import InputError, one_line
from ...targets.target import Utility
from ...targets.transcript import Exposure
from ...untrusted import JSON_MEMORY, check_memory, json_of
from ..planning.facts import AttackFacts, DefenseFacts
from ..planning.grid import Cell, Grid, PlannedTrial, versions
from ..planning.plan import Plan
from ..planning.trial_plan import AttackPlan, TrialPlan
from ..statistics.accused import Accused
from ..statistics.scored_subjects import ScoredSubjects
from .trial import Attacked, TrialResult

HEADER = "header "
"""What the name of the JSON's array begins with, before its digest."""
ARRAYS = ("subjects", "score", "truth")
"""Parts of guesses that are arrays."""
LABELS = ("strata", "clusters")
"""Parts that are arrays where there are any."""
ACCUSED = ("subjects", "right", "label", "owner", "proven", "alike")
"""Parts of accusations, all arrays."""
MOST_NODES = 2**31
"""Ids of pairs of more nodes would not fit into 64 bits."""
DAMAGED = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError)
"""What reading something else may raise."""


def dumps(result: TrialResult) -> bytes:
    """The result as bytes; equal results give equal bytes."""
    arrays: dict[str, np.ndarray] = {}
    content = {
        "plan": _plan(result.plan),
        "utilities": [_without_nan(vars(u)) for u in result.utilities],
        "chosen": result.chosen,
        "attacked": [_attacked(a, arrays) for a in result.attacked],
        "refused": result.refused,
        "exposure": [asdict(e) for e in result.exposure],
        "notes": list(result.notes),
        "tested": result.tested,
        "transfer": _without_nan(result.transfer),
        "kept": _without_nan(result.kept),
        "in_place": result.in_place,
        "figures": _without_nan(result.figures),
    }
    text = json.dumps(content, sort_keys=True, allow_nan=False, default=_plain)
    header = np.frombuffer(text.encode(), np.uint8)
    return bytes(save(arrays | {HEADER + _digest(header): header}))


def loads(content: bytes, trust_code: bool = False) -> TrialResult:
    """The result that was dumps; only if ``trust_code`` a ``module:Class`` in it may be imported.

    Raises:
        InputError: these bytes are not a result.
    """
    try:
        arrays = load(content)
        for name, array in arrays.items():
            if name.removeprefix(HEADER) != _digest(array):
                raise ValueError(f"the array {name} has changed")
        (name,) = (name for name in arrays if name.startswith(HEADER))
        header = arrays.pop(name).tobytes()
        check_memory("its header", JSON_MEMORY * len(header))
        return _checked(_result(json_of(header), arrays, trust_code))
    except (SafetensorError, *DAMAGED) as error:
        raise _damage("it does not hold a trial's result", error) from error


def dumps_plan(plan: Plan, grid: Grid) -> str:
    """A plan with its trials as text."""
    content = {
        "plan": plan.model_dump(mode="json"),
        "cells": [vars(cell) for cell in grid.cells],
        "tasks": [{**vars(task), "plan": _plan(task.plan)} for task in grid.tasks],
        "fingerprint": grid.fingerprint,
        "versions": versions(),
    }
    text = json.dumps(content, sort_keys=True)
    return f"{hashlib.sha256(text.encode()).hexdigest()} {text}"


def loads_plan(content: str, trust_code: bool = False) -> tuple[Plan, Grid, dict[str, str]]:
    """Plan, grid (without its graphs) and versions; ``trust_code`` as in `loads`.

    Raises:
        InputError: the text is something else.
    """
    try:
        digest, _, text = content.partition(" ")
        if digest != hashlib.sha256(text.encode()).hexdigest():
            raise ValueError("it has changed")
        check_memory("its plan", JSON_MEMORY * len(text))
        known = json_of(text)
        cells = tuple(map(_of(Cell), known["cells"]))
        tasks = tuple(
            _of(PlannedTrial)({**task, "plan": _trial_plan(task["plan"], trust_code)}) for task in known["tasks"]
        )
        plan = Plan.model_validate(known["plan"])
        versions_then = _of(dict[str, str])(known["versions"])
        return plan, Grid(cells, tasks, {}, str(known["fingerprint"])), versions_then
    except DAMAGED as error:
        raise _damage("its plan cannot be read", error) from error


def _damage(what: str, error: Exception) -> InputError:
    """What is wrong with content that cannot be read; what a reader can mend is said as it is."""
    if isinstance(error, InputError):
        return error
    return InputError(f"{what} ({type(error).__name__}: {one_line(error, 200)})")


def _plan(plan: TrialPlan) -> dict[str, Any]:
    target, defense = plan.make_target(), plan.make_defense()
    own = {
        "target_settings": target.settings.model_dump(mode="json"),
        "defense_settings": defense.settings.model_dump(mode="json"),
        "attacks": [_attack_plan(a) for a in plan.attacks],
        "kept": DefenseFacts.kept_of(defense) if plan.kept is None else plan.kept.model_dump(),
    }
    return {**vars(plan), **own}


def _attack_plan(plan: AttackPlan) -> dict[str, Any]:
    kept = AttackFacts.kept_of(plan.make()) if plan.kept is None else plan.kept.model_dump()
    return {**vars(plan), "kept": kept}


def _attacked(found: Attacked, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    def kept(judged: ScoredSubjects) -> dict[str, Any]:
        there = [name for name in (*ARRAYS, *LABELS) if getattr(judged, name) is not None]
        parts = {name: _kept(np.asarray(getattr(judged, name)), arrays) for name in there}
        return {**parts, "nodes": judged.nodes, "sampling_weight": judged.sampling_weight}

    return {
        "plan": _attack_plan(found.plan),
        "round": found.round,
        "judged": kept(found.judged),
        "blind": kept(found.blind),
        "groups": {name: _kept(mask, arrays) for name, mask in found.groups.items()},
        "knowledge": found.knowledge,
        "game": found.game,
        "baselines": {name: kept(judged) for name, judged in found.baselines.items()},
        "attributes": {name: _kept_labels(labels, arrays) for name, labels in found.attributes.items()},
        "accuracies": found.accuracies,
        "samples": {name: kept(judged) for name, judged in found.samples.items()},
        "clustered_by": found.clustered_by,
        "accused": None if found.accused is None else _kept_accused(found.accused, arrays),
    }


def _kept_accused(accused: Accused, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    return {name: _kept(getattr(accused, name), arrays) for name in ACCUSED} | {"members": accused.members}


def _kept(array: np.ndarray, arrays: dict[str, np.ndarray]) -> str:
    """The name under which an array is stored."""
    array = np.ascontiguousarray(array)
    name = _digest(array)
    arrays[name] = array
    return name


def _digest(array: np.ndarray) -> str:
    about = f"{array.dtype} {array.shape}".encode()
    return hashlib.sha256(about + array.tobytes()).hexdigest()[:24]


def _kept_labels(labels: np.ndarray, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Labels as places in the list of different ones."""
    values, places = np.unique(labels, return_inverse=True)
    return {"values": values.tolist(), "places": _kept(places.astype(np.int32), arrays)}


def _result(header: dict[str, Any], arrays: dict[str, np.ndarray], trust_code: bool) -> TrialResult:
    return TrialResult(
        _trial_plan(header["plan"], trust_code),
        tuple(_of(Utility)(_with_nan(u)) for u in header["utilities"]),
        int(header["chosen"]),
        tuple(_read_attacked(a, arrays, trust_code) for a in header["attacked"]),
        _of(dict[str, str])(header["refused"]),
        tuple(map(_of(Exposure), header["exposure"])),
        _of(tuple[str, ...])(header["notes"]),
        int(header["tested"]),
        _of(dict[str, float])(_with_nan(header["transfer"])),
        _of(dict[str, float])(_with_nan(header.get("kept", {}))),
        _of(str | None)(header.get("in_place")),
        _of(dict[str, float])(_with_nan(header.get("figures", {}))),
    )


def _trial_plan(content: dict[str, Any], trust_code: bool) -> TrialPlan:
    attacks = tuple(_read_attack_plan(a, trust_code) for a in content["attacks"])
    kept = DefenseFacts.read(content["defense"], content.get("kept"), trust_code)
    made: TrialPlan = _of(TrialPlan)({**content, "attacks": attacks, "kept": kept})
    return made


def _read_attack_plan(content: dict[str, Any], trust_code: bool) -> AttackPlan:
    kept = AttackFacts.read(content["name"], content.get("kept"), trust_code)
    made: AttackPlan = _of(AttackPlan)({**content, "kept": kept})
    return made


def _read_attacked(content: dict[str, Any], arrays: dict[str, np.ndarray], trust_code: bool) -> Attacked:
    def judged(content: dict[str, Any]) -> ScoredSubjects:
        there = [*ARRAYS, *(part for part in LABELS if part in content)]
        parts = {part: arrays[content[part]] for part in there}
        nodes = content.get("nodes")
        return ScoredSubjects(
            **parts,
            nodes=None if nodes is None else int(nodes),
            sampling_weight=float(content.get("sampling_weight", 1.0)),
        )

    accuracies, accused = content["accuracies"], content.get("accused")
    return Attacked(
        _read_attack_plan(content["plan"], trust_code),
        int(content["round"]),
        judged(content["judged"]),
        judged(content["blind"]),
        {name: arrays[kept] for name, kept in content["groups"].items()},
        str(content["knowledge"]),
        str(content["game"]),
        {name: judged(kept) for name, kept in content["baselines"].items()},
        {name: np.array(kept["values"])[arrays[kept["places"]]] for name, kept in content["attributes"].items()},
        None if accuracies is None else (float(accuracies[0]), float(accuracies[1])),
        {name: judged(kept) for name, kept in content.get("samples", {}).items()},
        content.get("clustered_by", ""),
        None if accused is None else _read_accused(accused, arrays),
    )


def _read_accused(content: dict[str, Any], arrays: dict[str, np.ndarray]) -> Accused:
    return Accused(**{name: arrays[content[name]] for name in ACCUSED}, members=int(content["members"]))


@cache
def _of(kind: Any) -> Callable[[Any], Any]:
    """Makes values of a type from plain ones; a ValueError where these have other types, or other names."""
    return TypeAdapter(kind).validate_python


def _checked(result: TrialResult) -> TrialResult:
    """The result, if its parts have the types and sizes that scoring takes for granted.

    Raises:
        ValueError: one has not.
    """
    if not 0 <= result.chosen < len(result.utilities) or result.tested < 0:
        raise ValueError("it chose a release that it does not hold")
    for attacked in result.attacked:
        rows = len(attacked.judged.truth)
        for judged in (attacked.judged, attacked.blind, *attacked.baselines.values(), *attacked.samples.values()):
            _check_scores(judged)
        for name, values in (*attacked.groups.items(), *attacked.attributes.items()):
            if values.shape != (rows,):
                raise ValueError(f"'{one_line(name, 40)}' has {values.shape} entries, expected {rows}")
        if any(mask.dtype != np.bool_ for mask in attacked.groups.values()):
            raise ValueError("a group is no mask")
    return result


def _check_scores(judged: ScoredSubjects) -> None:
    truth, score = judged.truth, judged.score
    if truth.dtype != np.bool_ or truth.ndim != 1 or not truth.shape == score.shape == judged.subjects.shape:
        raise ValueError("guesses, subjects and truth do not go together")
    if score.dtype.kind not in "biuf" or not np.isfinite(score).all():
        raise ValueError("a guess is no finite number")
    if judged.subjects.dtype.kind not in "iu":
        raise ValueError("subjects have no ids")
    if judged.nodes is not None:
        most = judged.nodes**2 if 0 < judged.nodes <= MOST_NODES else 0
        pairs = judged.subjects.astype(np.int64)
        if ((pairs < 0) | (pairs >= most)).any():
            raise ValueError("subjects are no pairs of nodes")
    if not 0 < judged.sampling_weight < np.inf:
        raise ValueError("a sampling weight is not above 0")


def _plain(value: Any) -> Any:
    """A number of numpy's, which pipelines may well return, as Python's own."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"cannot store a {type(value).__name__}")


def _without_nan(values: dict[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float | np.floating) and math.isnan(v) else v for k, v in values.items()}


def _with_nan(values: dict[str, Any]) -> dict[str, Any]:
    return {k: math.nan if v is None else v for k, v in values.items()}
