"""Kinds of messages that only tests send, declared as any target's are."""

from gaudit.targets.messages import Carries, declare

EVERY_WAY = [f"{a} > {b}" for a in ("server", "client") for b in ("server", "client", "clients", "public")]
PING = declare("ping", Carries.WEIGHTS, routes=EVERY_WAY)
SUMS = declare("sums", Carries.SUMS, routes=EVERY_WAY)
SHARED = declare("shared-model", Carries.WEIGHTS, routes=EVERY_WAY)
GRADIENTS = declare("gradients", Carries.GRADIENT, routes=EVERY_WAY)
RELEASE = declare("release", Carries.CONDENSED, routes=EVERY_WAY)
TABLE = declare("table", Carries.ROWS, routes=EVERY_WAY)
