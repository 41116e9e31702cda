"""A trial's result as bytes and back: arrays in a safetensors file, everything else in one of them as JSON.

No pickle: a ledger may come from somebody else. Every array is stored once, under a digest of its content, so that
a bit that has changed on a disk is noticed.
"""

import hashlib
import json
import math
from dataclasses import asdict
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from ...errors import InputError
from ...targets.target import Utility
from ...targets.transcript import Exposure
from ..planning.grid import Cell, Grid, PlannedTrial, versions
from ..planning.plan import Plan
from ..planning.trial_plan import AttackPlan, TrialPlan
from ..statistics.metrics import ScoredSubjects
from .trial import Attacked, TrialResult

HEADER = "header "
"""What the name of the JSON's array begins with, before its digest."""
ARRAYS = ("subjects", "score", "truth")
"""Parts of guesses that are arrays."""
LABELS = ("strata", "clusters")
"""Parts that are arrays where there are any."""
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
    }
    text = json.dumps(content, sort_keys=True, allow_nan=False, default=_plain)
    header = np.frombuffer(text.encode(), np.uint8)
    return bytes(save(arrays | {HEADER + _digest(header): header}))


def loads(content: bytes) -> TrialResult:
    """The result that was dumps.

    Raises:
        InputError: these bytes are not a result.
    """
    try:
        arrays = load(content)
        for name, array in arrays.items():
            if name.removeprefix(HEADER) != _digest(array):
                raise ValueError(f"the array {name} has changed")
        (name,) = (name for name in arrays if name.startswith(HEADER))
        return _result(json.loads(arrays.pop(name).tobytes()), arrays)
    except (SafetensorError, *DAMAGED) as error:
        raise InputError(f"it does not hold a trial's result ({type(error).__name__}: {error})") from error


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


def loads_plan(content: str) -> tuple[Plan, Grid, dict[str, str]]:
    """Plan, grid (without its graphs) and versions.

    Raises:
        InputError: the text is something else.
    """
    try:
        digest, _, text = content.partition(" ")
        if digest != hashlib.sha256(text.encode()).hexdigest():
            raise ValueError("it has changed")
        known = json.loads(text)
        cells = tuple(Cell(**cell) for cell in known["cells"])
        tasks = tuple(PlannedTrial(**{**task, "plan": _trial_plan(task["plan"])}) for task in known["tasks"])
        plan = Plan.model_validate(known["plan"])
        return plan, Grid(cells, tasks, {}, str(known["fingerprint"])), dict(known["versions"])
    except DAMAGED as error:
        raise InputError(f"its plan cannot be read ({type(error).__name__}: {error})") from error


def _plan(plan: TrialPlan) -> dict[str, Any]:
    target, defense = plan.make_target(), plan.make_defense()
    own = {
        "target_settings": target.settings.model_dump(mode="json"),
        "defense_settings": defense.settings.model_dump(mode="json"),
        "attacks": [vars(a) for a in plan.attacks],
    }
    return {**vars(plan), **own}


def _attacked(found: Attacked, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    def kept(judged: ScoredSubjects) -> dict[str, Any]:
        there = [name for name in (*ARRAYS, *LABELS) if getattr(judged, name) is not None]
        parts = {name: _kept(np.asarray(getattr(judged, name)), arrays) for name in there}
        return {**parts, "nodes": judged.nodes, "sampling_weight": judged.sampling_weight}

    return {
        "plan": vars(found.plan),
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
    }


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


def _result(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> TrialResult:
    return TrialResult(
        _trial_plan(header["plan"]),
        tuple(Utility(**_with_nan(u)) for u in header["utilities"]),
        int(header["chosen"]),
        tuple(_read_attacked(a, arrays) for a in header["attacked"]),
        dict(header["refused"]),
        tuple(Exposure(**e) for e in header["exposure"]),
        tuple(header["notes"]),
        int(header["tested"]),
        _with_nan(header["transfer"]),
        _with_nan(header.get("kept", {})),
    )


def _trial_plan(content: dict[str, Any]) -> TrialPlan:
    return TrialPlan(**{**content, "attacks": tuple(AttackPlan(**a) for a in content["attacks"])})


def _read_attacked(content: dict[str, Any], arrays: dict[str, np.ndarray]) -> Attacked:
    def judged(content: dict[str, Any]) -> ScoredSubjects:
        there = [*ARRAYS, *(part for part in LABELS if part in content)]
        parts = {part: arrays[content[part]] for part in there}
        nodes = content.get("nodes")
        return ScoredSubjects(
            **parts,
            nodes=None if nodes is None else int(nodes),
            sampling_weight=content.get("sampling_weight", 1.0),
        )

    accuracies = content["accuracies"]
    return Attacked(
        AttackPlan(**content["plan"]),
        content["round"],
        judged(content["judged"]),
        judged(content["blind"]),
        {name: arrays[kept] for name, kept in content["groups"].items()},
        content["knowledge"],
        content["game"],
        {name: judged(kept) for name, kept in content["baselines"].items()},
        {name: np.array(kept["values"])[arrays[kept["places"]]] for name, kept in content["attributes"].items()},
        None if accuracies is None else (float(accuracies[0]), float(accuracies[1])),
        {name: judged(kept) for name, kept in content.get("samples", {}).items()},
        content.get("clustered_by", ""),
    )


def _plain(value: Any) -> Any:
    """A number of numpy's, which pipelines may well return, as Python's own."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"cannot store a {type(value).__name__}")


def _without_nan(values: dict[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float | np.floating) and math.isnan(v) else v for k, v in values.items()}


def _with_nan(values: dict[str, Any]) -> dict[str, Any]:
    return {k: math.nan if v is None else v for k, v in values.items()}
