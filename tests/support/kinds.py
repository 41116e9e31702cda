"""Kinds of messages that only tests send, declared as any target's are, and ways that a kind may go.

What they carry is what no defense and no attack selects: to declare them changes nothing for the kinds of targets.
"""

from gaudit.targets.messages import Carries, declare, kind_of

EVERY_WAY = [f"{a} > {b}" for a in ("server", "client") for b in ("server", "client", "clients", "public")]
PING = declare("test-ping", Carries.COUNTS, routes=EVERY_WAY)
SUMS = declare("test-sums", Carries.SUMS, routes=EVERY_WAY)
SHARED = declare("test-shared-model", Carries.COUNTS, routes=EVERY_WAY)
GRADIENTS = declare("test-gradients", Carries.COUNTS, routes=EVERY_WAY)
RELEASE = declare("test-release", Carries.COUNTS, routes=EVERY_WAY)
TABLE = declare("test-table", Carries.SUMS, routes=EVERY_WAY)
HELD = declare("test-held", Carries.COUNTS, routes=[])


def way_of(kind: str) -> tuple[str, str]:
    """A sender and a receiver between whom a kind may go: from a client, and to the server, where it may."""
    sender, receiver = min(kind_of(kind).routes, key=lambda ends: (ends[0] != "client", ends[1] != "server", ends))
    return {"client": "client:0"}.get(sender, sender), {"client": "client:1"}.get(receiver, receiver)
