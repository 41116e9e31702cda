"""gaudit: what a graph pipeline gives away, to whom, how sure we are, and what it costs to stop it.

The names in ``__all__`` are what other packages may rely on: ``from gaudit import Attack``. Where they are defined,
and all else in the modules below, is private by convention and may move between versions.

Nothing is imported before it is asked for: ``import gaudit`` costs nothing, a name costs what its module imports.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers; while running, `__getattr__` does it
    from .attacks.attack import Attack, Scores
    from .audit.checks.check_files import check_files
    from .audit.planning.plan import Plan
    from .audit.results.assemble import read_audit
    from .errors import InputError
    from .graphs.datasets.loading import load_dataset
    from .graphs.files.data_file import read_graph, write_graph
    from .graphs.files.network_file import read_network, write_network
    from .graphs.network import Network
    from .mechanisms.guarantee import Guarantee
    from .mechanisms.mechanism import Mechanism
    from .randomness import branch
    from .registry import find, registered
    from .settings import Settings
    from .targets.channel import Channel
    from .targets.defense import Defense
    from .targets.game import Adversary, Game, Grant, Knowledge, Words
    from .targets.games.identities import Identity, PersonKnowledge
    from .targets.games.links import EdgePresence, LinkKnowledge
    from .targets.games.lone_node import LoneNode, UploadKnowledge
    from .targets.games.membership import LabelMembership, NodeKnowledge, NodePresence
    from .targets.messages import Carries, Carrying
    from .targets.messages import declare as declare_message
    from .targets.models.training_config import TrainingConfig
    from .targets.target import Offers, Progress, Run, Target, Utility
    from .targets.transcript import Message, Transcript, View

__version__ = "0.1.0"

__all__ = [
    "Adversary",
    "Attack",
    "Carries",
    "Carrying",
    "Channel",
    "Defense",
    "EdgePresence",
    "Game",
    "Grant",
    "Guarantee",
    "Identity",
    "InputError",
    "Knowledge",
    "LabelMembership",
    "LinkKnowledge",
    "LoneNode",
    "Mechanism",
    "Message",
    "Network",
    "NodeKnowledge",
    "NodePresence",
    "Offers",
    "PersonKnowledge",
    "Plan",
    "Progress",
    "Run",
    "Scores",
    "Settings",
    "Target",
    "TrainingConfig",
    "Transcript",
    "UploadKnowledge",
    "Utility",
    "View",
    "Words",
    "branch",
    "check_files",
    "declare_message",
    "find",
    "load_dataset",
    "read_audit",
    "read_graph",
    "read_network",
    "registered",
    "write_graph",
    "write_network",
]

_PLACES = {
    "Adversary": "targets.game",
    "Attack": "attacks.attack",
    "Carries": "targets.messages",
    "Carrying": "targets.messages",
    "Channel": "targets.channel",
    "Defense": "targets.defense",
    "EdgePresence": "targets.games.links",
    "Game": "targets.game",
    "Grant": "targets.game",
    "Guarantee": "mechanisms.guarantee",
    "Identity": "targets.games.identities",
    "InputError": "errors",
    "Knowledge": "targets.game",
    "LabelMembership": "targets.games.membership",
    "LinkKnowledge": "targets.games.links",
    "LoneNode": "targets.games.lone_node",
    "Mechanism": "mechanisms.mechanism",
    "Message": "targets.transcript",
    "Network": "graphs.network",
    "NodeKnowledge": "targets.games.membership",
    "NodePresence": "targets.games.membership",
    "Offers": "targets.target",
    "PersonKnowledge": "targets.games.identities",
    "Plan": "audit.planning.plan",
    "Progress": "targets.target",
    "Run": "targets.target",
    "Scores": "attacks.attack",
    "Settings": "settings",
    "Target": "targets.target",
    "TrainingConfig": "targets.models.training_config",
    "Transcript": "targets.transcript",
    "UploadKnowledge": "targets.games.lone_node",
    "Utility": "targets.target",
    "View": "targets.transcript",
    "Words": "targets.game",
    "branch": "randomness",
    "check_files": "audit.checks.check_files",
    "declare_message": "targets.messages:declare",
    "find": "registry",
    "load_dataset": "graphs.datasets.loading",
    "read_audit": "audit.results.assemble",
    "read_graph": "graphs.files.data_file",
    "read_network": "graphs.files.network_file",
    "registered": "registry",
    "write_graph": "graphs.files.data_file",
    "write_network": "graphs.files.network_file",
}
"""The module of each public name, and after a colon what it is called there if that is another name."""


def __getattr__(name: str) -> Any:
    """Imports a public name when it is asked for, and keeps it."""
    if name not in _PLACES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    module, _, called = _PLACES[name].partition(":")
    value = getattr(import_module(f".{module}", __name__), called or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """What is there and what can be asked for."""
    return sorted({*globals(), *__all__})
