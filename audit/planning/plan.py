"""What an audit shall run: a grid of targets, graphs, defenses with strengths, attacks, observers and seeds."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from ...attacks.attack import Attack
from ...errors import InputError, unknown_name
from ...graphs.datasets.loading import dataset_names
from ...graphs.files.network_file import is_readable
from ...registry import find, installed, is_installed
from ...settings import Settings
from ...targets.defense import Defense
from ...targets.game import Neighbours
from ...targets.transcript import observer_members
from ...untrusted import read_text, toml_of
from ..statistics.severity import Scale

AUTO = "auto"
"""In place of an attack's name: those that read something of a target and do not cost much."""
MANY = 10_000
"""Trials from which on a plan is only run when the user says so twice."""
LARGEST_PLAN = 2**20


class PlannedTarget(Settings):
    """A target with its settings; its defenses are those of the plan unless it names its own."""

    name: str
    preset: Literal["quick", "paper"] | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    defenses: tuple[str, ...] | None = Field(None, description="of the plan's, by name")


class PlannedDefense(Settings):
    """A defense at several strengths; without any at those that it suggests itself."""

    name: str
    strengths: tuple[float, ...] | None = None
    settings: dict[str, Any] = Field(default_factory=dict)

    def variants(self, preset: str, nodes: int | None = None) -> list[dict[str, Any]]:
        """Its settings at each strength; on a graph of some size those that are worth a look there.

        Raises:
            InputError: strengths for a defense that has none, or out of their range.
        """
        kind: type[Defense] = find("defenses", self.name)
        base = {**kind.preset(preset), **self.settings}
        if self.strengths is not None and kind.strength is None:
            raise InputError(f"plan: the defense '{self.name}' has no strength: leave 'strengths' out")
        suggested = kind.sweep if nodes is None else kind.strengths_for(nodes)
        strengths = suggested if self.strengths is None and kind.strength not in base else self.strengths or ()
        found = [{**base, str(kind.strength): value} for value in strengths] or [base]
        for settings in found:
            kind(**settings)
        return found


class PlannedAttack(Settings):
    """An attack, by each of its observers and with each way to ask."""

    name: str
    observers: tuple[str, ...] | None = Field(None, description="by default the weakest that can mount it")
    neighbours: tuple[Neighbours, ...] = Field(("true",), min_length=1)
    settings: dict[str, Any] = Field(default_factory=dict)

    @field_validator("observers")
    @classmethod
    def _observers_have_names(cls, observers: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for observer in observers or ():
            try:
                observer_members(observer)
            except InputError as error:
                raise ValueError(str(error)) from error
        return observers


class Plan(Settings):
    """An audit's plan, as `gaudit audit` reads it from a TOML file."""

    name: str = Field("audit", min_length=1, max_length=200)
    preset: Literal["quick", "paper"] = "quick"
    datasets: tuple[str, ...] = ("citations",)
    seeds: int = Field(
        3, strict=True, ge=1, description="repetitions; each draws its own partition, models and noise"
    )
    seed: int = Field(0, strict=True, ge=0, description="root of all randomness")
    timeline: bool = Field(
        False, strict=True, description="attack every release, not only the one that validation chose"
    )
    alternatives: bool = Field(True, strict=True, description="run the trivial alternative to each defense too")
    target: tuple[PlannedTarget, ...] = ()
    defense: tuple[PlannedDefense, ...] = ()
    attack: tuple[PlannedAttack, ...] = Field((), description="by default auto: chosen for each target")
    severity: Scale = Scale()

    @classmethod
    def read(cls, path: Path) -> "Plan":
        """From a TOML file.

        Raises:
            InputError: it cannot be read, or does not say what it must.
        """
        content = toml_of(read_text(path, "plan", LARGEST_PLAN), f"plan {path}")
        return cls.of(content, str(path), path.parent)

    @classmethod
    def of(cls, content: dict[str, Any], where: str, folder: Path = Path()) -> "Plan":
        """From plain values; graph files are looked for beside the plan.

        Raises:
            InputError: unknown keys or names, values out of range, or nothing to run.
        """
        plan = cls.checked(f"plan {where}", content)
        for key in ("target", "datasets"):
            if not getattr(plan, key):
                raise InputError(f"plan {where} is empty: it names no {key}, for example {EXAMPLES[key]}")
        plan._check_names()
        beside = tuple(str(folder / d) if is_file(d) and not Path(d).is_absolute() else d for d in plan.datasets)
        spelled = {name.casefold(): name for name in dataset_names()}
        found = (spelled.get(name.casefold(), name) for name in beside)
        return plan.model_copy(update={"datasets": tuple(dict.fromkeys(found))})

    def _check_names(self) -> None:
        known = {name.casefold() for name in dataset_names()}
        for dataset in self.datasets:
            if not is_file(dataset) and dataset.casefold() not in known:
                raise unknown_name("dataset", dataset, dataset_names())
        for target in self.target:
            find("targets", target.name)
            planned = [d.name for d in self.defense]
            for name in target.defenses or ():
                if name not in planned:
                    raise InputError(f"plan: target '{target.name}' names a defense without [[defense]]: '{name}'")
        for defense in (*self.defense, *self.all_defenses()):
            defense.variants(self.preset)
        for attack in self.attack:
            if attack.name == AUTO:
                continue
            kind: type[Attack[Any]] = find("attacks", attack.name)
            kind(**{**kind.preset(self.preset), **attack.settings})

    def all_defenses(self) -> list[PlannedDefense]:
        """The control, the planned ones, and the trivial alternatives that are not planned themselves."""
        planned = [d for d in self.defense if d.name != "none"]
        names = {d.name for d in planned}
        if self.alternatives:
            wanted = dict.fromkeys(find("defenses", d.name).alternative for d in planned)
            planned += [PlannedDefense(name=name) for name in wanted if name is not None and name not in names]
        return [PlannedDefense(name="none"), *planned]

    def defense_names(self) -> set[str]:
        """Names of all defenses that may run, as far as installed classes tell: of a plan that is read as data."""
        names = {"none", *(d.name for d in self.defense)}
        known = [installed("defenses", name) for name in names if is_installed("defenses", name)]
        return names | {str(kind.alternative) for kind in known if self.alternatives and kind.alternative}

    def defenses_of(self, target: PlannedTarget) -> list[PlannedDefense]:
        """Those that run before one target."""
        if target.defenses is None:
            return self.all_defenses()
        own = self.model_copy(update={"defense": tuple(d for d in self.defense if d.name in target.defenses)})
        return own.all_defenses()

    def count(self) -> int:
        """How many trials at most, without its controls; nothing is loaded."""
        runs = sum(len(d.variants(self.preset)) for t in self.target for d in self.defenses_of(t))
        return runs * len(self.datasets) * self.seeds


EXAMPLES = {"target": '[[target]] name = "fedgc"', "datasets": '["citations"]'}


def is_file(dataset: str) -> bool:
    """Whether a dataset is a graph file, or a folder with a slash at its end, and not a name."""
    return is_readable(dataset) or dataset.endswith("/")
