"""A plan that names no attacks: they are chosen for its targets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...errors import InputError
from .automatic import Choice, automatic
from .grid import graphs_for
from .plan import AUTO, Plan, PlannedAttack
from .resolve import target_of

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True)
class ChosenPlan:
    """A plan whose attacks all have names.

    Attributes:
        plan: with the attacks that it named, and those that were chosen.
        graphs: those that had to be read for it, by name.
        choices: what was chosen and left out, for each target on each graph; empty where nothing was to be chosen.
    """

    plan: Plan
    graphs: dict[str, Data] = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()

    def sentences(self) -> list[str]:
        """What runs and what was left out, where it was chosen."""
        if not self.choices:
            return []
        names = ", ".join(attack.name for attack in self.plan.attack)
        left = dict.fromkeys(line for choice in self.choices for line in choice.sentences())
        return [f"Attacks that run: {names}.", *left]


def with_attacks(plan: Plan) -> ChosenPlan:
    """The plan; where it names no attack, or ``auto``, with those that are chosen for each of its targets.

    Raises:
        InputError: a graph cannot be read, settings do not fit, or no attack reads what the targets let out.
    """
    named = tuple(attack for attack in plan.attack if attack.name != AUTO)
    if plan.attack and len(named) == len(plan.attack):
        return ChosenPlan(plan)
    graphs = graphs_for(plan)
    targets = (
        target_of(planned.name, planned.preset or plan.preset, data, planned.settings)
        for planned in plan.target
        for data in graphs.values()
    )
    choices = tuple(automatic(target, named=[attack.name for attack in named]) for target in targets)
    chosen = dict.fromkeys(name for choice in choices for name in choice.chosen)
    added = tuple(PlannedAttack(name=name) for name in chosen if name not in {attack.name for attack in named})
    if not (named or added):
        raise InputError(
            f"plan '{plan.name}': no attack reads what its targets let out: name one, for example "
            "[[attack]] name = \"mia\" ('gaudit list attacks' lists them)"
        )
    return ChosenPlan(plan.model_copy(update={"attack": (*named, *added)}), graphs, choices)
