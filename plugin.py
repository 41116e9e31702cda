"""The names that a plug-in needs, and that stay where they are: ``from gaudit.plugin import Attack, Scores``.

A plug-in is a package that registers attacks, defenses, targets, games, mechanisms, report formats or readers of
files by entry points of ``gaudit.attacks`` and so on. ``docs/extend/plugins.md`` says what each name is for. The
names here, and what their docstrings say, change with a new major version only. The modules in which they are
defined are private and may move with any version.

Nothing is imported before it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers; while running, `__getattr__` does it
    from .attacks.attack import Attack, Scores
    from .attacks.identity.identity_attack import IdentityAttack
    from .attacks.membership.calibrated import Calibrated
    from .errors import InputError
    from .graphs.files.rows import Rows
    from .graphs.network import Network, Verified
    from .mechanisms.guarantee import Guarantee
    from .mechanisms.mechanism import Mechanism
    from .randomness import branch, seeded
    from .registry import find, registered
    from .settings import Settings
    from .targets.channel import Channel, Retention, keep_kinds
    from .targets.controls.control import PlantedLeak
    from .targets.defense import Defense, LossTerm, SharedModel
    from .targets.game import Adversary, Game, Grant, Knowledge, Words, as_it_is, without_ancestry
    from .targets.games.identities import Identity, PersonKnowledge
    from .targets.games.links import EdgePresence, LinkKnowledge
    from .targets.games.lone_node import LoneNode, UploadKnowledge
    from .targets.games.membership import LabelMembership, NodeKnowledge, NodePresence
    from .targets.messages import Carries, Carrying
    from .targets.messages import declare as declare_message
    from .targets.models.training_config import TrainingConfig
    from .targets.partition import Partition
    from .targets.party import Client, clients_of
    from .targets.target import Offers, Progress, Run, Target, Utility, no_progress
    from .targets.transcript import Message, Transcript, View
    from .untrusted import check_memory

__all__ = [
    "Adversary",
    "Attack",
    "Calibrated",
    "Carries",
    "Carrying",
    "Channel",
    "Client",
    "Defense",
    "EdgePresence",
    "Game",
    "Grant",
    "Guarantee",
    "Identity",
    "IdentityAttack",
    "InputError",
    "Knowledge",
    "LabelMembership",
    "LinkKnowledge",
    "LoneNode",
    "LossTerm",
    "Mechanism",
    "Message",
    "Network",
    "NodeKnowledge",
    "NodePresence",
    "Offers",
    "Partition",
    "PersonKnowledge",
    "PlantedLeak",
    "Progress",
    "Retention",
    "Rows",
    "Run",
    "Scores",
    "Settings",
    "SharedModel",
    "Target",
    "TrainingConfig",
    "Transcript",
    "UploadKnowledge",
    "Utility",
    "Verified",
    "View",
    "Words",
    "as_it_is",
    "branch",
    "check_memory",
    "clients_of",
    "declare_message",
    "find",
    "keep_kinds",
    "no_progress",
    "registered",
    "seeded",
    "without_ancestry",
]

_OTHERS = {
    "Calibrated": "attacks.membership.calibrated",
    "IdentityAttack": "attacks.identity.identity_attack",
    "LossTerm": "targets.defense",
    "PlantedLeak": "targets.controls.control",
    "Rows": "graphs.files.rows",
    "check_memory": "untrusted",
    "keep_kinds": "targets.channel",
}
"""The module of each name that is not one of ``gaudit`` itself."""


def __getattr__(name: str) -> Any:
    """Imports a name when it is asked for, and keeps it."""
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    own = __name__.partition(".")[0]
    place = f"{own}.{_OTHERS[name]}" if name in _OTHERS else own
    value = getattr(import_module(place), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """What is there and what can be asked for."""
    return sorted({*globals(), *__all__})
