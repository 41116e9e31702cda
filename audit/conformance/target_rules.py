"""What every target owes: it sends what it says through the channel and nothing beside it, and knows its truth."""

import math
import sys
from collections import Counter
from typing import Any

import numpy as np

from ...registry import find, registered
from ...targets.messages import KINDS
from ...targets.target import Target
from ...targets.transcript import Message
from .fingerprint import fingerprint
from .named import check_name
from .planted_runs import planted_runs
from .rule import Kept, Rule, must
from .small_runs import content, quick, ran, run_once, run_otherwise

HOLDERS = (dict, list, set, frozenset, tuple, np.ndarray)
"""What a truth may be left in."""


def check_runs(target: str) -> Kept:
    """It runs on a small graph, and has a utility."""
    run = ran(target).run
    must(0 <= run.chosen < len(run.utilities), f"{target} chose release {run.chosen} of {len(run.utilities)}")
    counted = any("counts" in message.tensors for message in run.transcript.messages)
    must(
        counted or math.isfinite(run.utility.test) or find("targets", target).runs_elsewhere,
        f"{target}: no utility",
    )
    return Kept(f"messages: {len(run.transcript.messages)}")


def check_messages(target: str) -> Kept:
    """What anybody saw of a run is declared, and named by the target, or was held and never sent."""
    kind: type[Target] = find("targets", target)
    run = ran(target).run
    tallies = run.transcript.tallies.values()
    held = {tally.kind for tally in tallies if tally.sender == tally.receiver}
    sent = {tally.kind for tally in tallies if tally.sender != tally.receiver}
    rows = run.transcript.exposure(["public", *run.transcript.parties()])
    seen = {row.kind for row in rows}
    must(seen <= set(KINDS), f"{target} sent {_listed(seen - set(KINDS))}, which nobody declared")
    must(sent <= set(kind.sends), f"{target} sent {_listed(sent - set(kind.sends))}, which it does not name")
    must(seen <= sent | held, f"{_listed(seen - sent - held)} was seen and neither sent nor held")
    must(kind.runs_elsewhere or kind.release in seen, f"{target} never let out its release, {kind.release}")
    return Kept(_listed(sent))


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names))


def check_channel(target: str) -> Kept:
    """Every message passed the channel, is there as it was sent, and is counted.

    What a target writes into the transcript itself no defense changed, and may be shared with what it goes on to
    change. Runs that took place elsewhere are as they were recorded.
    """
    kind: type[Target] = find("targets", target)
    if kind.runs_elsewhere:
        return Kept("it took place elsewhere")
    small = ran(target)
    passed, there = small.gate.passed, small.run.transcript.messages
    beside = Counter(map(_way, there)) - Counter(_way(message) for message, _ in passed)
    must(not beside, f"{target} put the message {next(iter(beside), '')} into the transcript beside the channel")
    digests = {digest for _, digest in passed}
    changed = [_way(message) for message in there if fingerprint(message) not in digests]
    must(not changed, f"{target} changed the message {next(iter(changed), '')} after it was sent")
    counted = {key: (tally.count, tally.nbytes) for key, tally in small.run.transcript.tallies.items()}
    count, size = Counter[Any](), Counter[Any]()
    for message, _ in passed:
        key = (message.kind, message.sender, message.receiver, message.sealed_from)
        count[key] += 1
        size[key] += message.nbytes
    must(
        counted == {key: (count[key], size[key]) for key in count},
        f"{target} has other numbers of messages or bytes in its transcript than passed the channel",
    )
    return Kept(f"messages: {len(passed)}")


def _way(message: Message) -> str:
    return f"'{message.kind}' from {message.sender} to {message.receiver} in round {message.round}"


def check_games(target: str) -> Kept:
    """Each game that the target offers has both truths, and an attack that plays it and a leak planted for that."""
    kind: type[Target] = find("targets", target)
    secrets_of = ran(target).run.secrets
    must(bool(secrets_of), f"{target} offers no game")
    for game, secrets in secrets_of.items():
        must(secrets.name == game, f"{target} offers {secrets.name} under the name {game}")
        must(game in kind.games, f"{target} offers {game}, and does not say so")
        must(game in registered("games"), f"{target} offers {game}, and nothing says what that protects")
        one_each = len(secrets.subjects) == len(secrets.truth) == len(np.unique(secrets.subjects))
        must(one_each, f"{target}: subjects of {game} are there twice, or have no truth")
        must(bool(secrets.truth.any()), f"{target}: nobody is a member in {game}")
        must(not secrets.truth.all(), f"{target}: everybody is a member in {game}")
        playing = [name for name in registered("attacks") if game in find("attacks", name).games]
        reading = [name for name in playing if find("attacks", name).kinds()]
        planted = (control.run.secrets for name in reading for control in planted_runs(name))
        must(any(game in offered for offered in planted), f"no attack that plays {game} has a planted leak of it")
    return Kept(_listed(set(secrets_of)))


def check_seeded(target: str) -> Kept:
    """The same seed gives the same run, whatever else the process drew before."""
    again = run_once(target, quick("none"), coins=1).run
    must(
        content(again) == content(ran(target).run),
        f"{target} sent something else, or drew another truth, with the same seed: take randomness from its seed",
    )
    return Kept()


def check_leaves_nothing(target: str) -> Kept:
    """A run leaves nothing in the module or the class, where an attack could find a truth.

    The run has another truth than those before it, which may have left theirs. Looked at are collections, arrays
    and tensors of the module, the class and its bases outside of gaudit, and names that are new there. What is
    hidden elsewhere is found by the attacks' own rules only.
    """
    kind: type[Target] = find("targets", target)
    before = _state(kind)
    run_otherwise(target)
    after = _state(kind)
    changed = sorted(name for name in after if after[name] != before.get(name))
    must(not changed, f"a run of {target} leaves something behind in {', '.join(changed)}")
    return Kept()


def _state(kind: type[Target]) -> dict[str, str]:
    """Fingerprints of what the module and the class hold, by dotted name; of other values their type."""
    own = __name__.partition(".")[0]
    bases = [
        one
        for one in kind.__mro__
        if one is kind or one.__module__.partition(".")[0] not in (own, "builtins", "abc")
    ]
    places: list[Any] = [sys.modules[kind.__module__], *bases]
    return {
        f"{place.__name__}.{name}": fingerprint(value) if _holds(value) else type(value).__name__
        for place in places
        for name, value in list(vars(place).items())
        if not name.startswith(("__", "_abc"))
    }


def _holds(value: Any) -> bool:
    return isinstance(value, HOLDERS) or hasattr(value, "detach")


RULES = (
    Rule("name", "It bears its name and says what it is.", lambda name: check_name("targets", name), first=True),
    Rule("runs", "It runs on a small graph and has a utility.", check_runs, first=True),
    Rule("messages", "It sends declared kinds that it names, and its release is among them.", check_messages),
    Rule("channel", "All that it sends passes the channel, and stays as it was sent.", check_channel),
    Rule("games", "Its games have members and others, and an attack with a planted leak.", check_games),
    Rule("seeded", "The same seed gives the same run.", check_seeded),
    Rule("leaves-nothing", "A run leaves nothing behind in its module and class.", check_leaves_nothing),
)
"""What targets owe."""
