"""How many labels clients train on, as they tell the server, which weights them by that."""

from collections.abc import Sequence

from ..channel import Channel
from ..party import Client

KIND = "labelled-count"


def labelled_counts(clients: Sequence[Client], channel: Channel) -> list[float]:
    """What the server is told, one number for each client."""
    told = [
        channel.send(KIND, client.name, "server", -1, {"count": client.train.sum().cpu()}) for client in clients
    ]
    return [float(message["count"]) for message in told]
