"""gaudit: what a graph pipeline gives away, to whom, how sure we are, and what it costs to stop it.

The names in ``__all__`` are what other packages may rely on: ``from gaudit import Attack``. Where they are defined,
and all else in the modules below, is private by convention and may move between versions.

Nothing is imported before it is asked for: ``import gaudit`` costs nothing, a name costs what its module imports.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers; while running, `__getattr__` does it
    from .api.kept_audit import read_audit
    from .api.models import audit
    from .api.recordings import recorded
    from .api.releases import published, release
    from .api.result import Result
    from .api.tables import score
    from .attacks.attack import Accusation, Attack, Scores
    from .audit.checks.check_files import check_files
    from .audit.planning.plan import Plan
    from .audit.results.audit_result import Audit, AuditControl
    from .errors import InputError
    from .graphs.datasets.loading import load_dataset
    from .graphs.files.data_file import read_graph, write_graph
    from .graphs.files.network_file import read_network, write_network
    from .graphs.network import Network, Verified
    from .mechanisms.guarantee import Guarantee
    from .mechanisms.mechanism import Mechanism
    from .randomness import branch, seeded
    from .registry import find, registered
    from .settings import Settings
    from .targets.channel import Channel, Retention
    from .targets.defense import Defense, SharedModel
    from .targets.external import flower, lightning
    from .targets.external.weight_names import Names, names
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
    from .targets.recorder import Recorder, recording
    from .targets.target import Offers, Progress, Run, Target, Utility, no_progress
    from .targets.transcript import Message, Transcript, View

__version__ = "0.1.0"

__all__ = [
    "Accusation",
    "Adversary",
    "Attack",
    "Audit",
    "AuditControl",
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
    "InputError",
    "Knowledge",
    "LabelMembership",
    "LinkKnowledge",
    "LoneNode",
    "Mechanism",
    "Message",
    "Names",
    "Network",
    "NodeKnowledge",
    "NodePresence",
    "Offers",
    "Partition",
    "PersonKnowledge",
    "Plan",
    "Progress",
    "Recorder",
    "Result",
    "Retention",
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
    "audit",
    "branch",
    "check_files",
    "clients_of",
    "declare_message",
    "find",
    "flower",
    "lightning",
    "load_dataset",
    "names",
    "no_progress",
    "published",
    "read_audit",
    "read_graph",
    "read_network",
    "recorded",
    "recording",
    "registered",
    "release",
    "score",
    "seeded",
    "without_ancestry",
    "write_graph",
    "write_network",
]

_PLACES = {
    "Accusation": "attacks.attack",
    "Adversary": "targets.game",
    "Attack": "attacks.attack",
    "Audit": "audit.results.audit_result",
    "AuditControl": "audit.results.audit_result",
    "Carries": "targets.messages",
    "Carrying": "targets.messages",
    "Channel": "targets.channel",
    "Client": "targets.party",
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
    "Names": "targets.external.weight_names",
    "Network": "graphs.network",
    "NodeKnowledge": "targets.games.membership",
    "NodePresence": "targets.games.membership",
    "Offers": "targets.target",
    "Partition": "targets.partition",
    "PersonKnowledge": "targets.games.identities",
    "Plan": "audit.planning.plan",
    "Progress": "targets.target",
    "Recorder": "targets.recorder",
    "Result": "api.result",
    "Retention": "targets.channel",
    "Run": "targets.target",
    "Scores": "attacks.attack",
    "Settings": "settings",
    "SharedModel": "targets.defense",
    "Target": "targets.target",
    "TrainingConfig": "targets.models.training_config",
    "Transcript": "targets.transcript",
    "UploadKnowledge": "targets.games.lone_node",
    "Utility": "targets.target",
    "Verified": "graphs.network",
    "View": "targets.transcript",
    "Words": "targets.game",
    "as_it_is": "targets.game",
    "audit": "audit:room",
    "branch": "randomness",
    "check_files": "audit.checks.check_files",
    "clients_of": "targets.party",
    "declare_message": "targets.messages:declare",
    "find": "registry",
    "flower": "targets.external.flower:*",
    "lightning": "targets.external.lightning:*",
    "load_dataset": "graphs.datasets.loading",
    "names": "targets.external.weight_names",
    "no_progress": "targets.target",
    "published": "api.releases",
    "read_audit": "api.kept_audit",
    "read_graph": "graphs.files.data_file",
    "read_network": "graphs.files.network_file",
    "recorded": "api.recordings",
    "recording": "targets.recorder",
    "registered": "registry",
    "release": "api.releases",
    "score": "api.tables",
    "seeded": "randomness",
    "without_ancestry": "targets.game",
    "write_graph": "graphs.files.data_file",
    "write_network": "graphs.files.network_file",
}
"""The module of each public name, and after a colon what it is called there if that is another name.

A ``*`` is the module itself.
"""


def __getattr__(name: str) -> Any:
    """Imports a public name when it is asked for, and keeps it."""
    if name not in _PLACES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    module, _, called = _PLACES[name].partition(":")
    place = import_module(f".{module}", __name__)
    value = place if called == "*" else getattr(place, called or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """What is there and what can be asked for."""
    return sorted({*globals(), *__all__})
