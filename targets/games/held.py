"""Who holds which node, of a run that took place elsewhere: by it links and lone nodes are in question."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...untrusted import check_memory
from ..partition import Partition
from ..party import Client, clients_of

if TYPE_CHECKING:
    from torch_geometric.data import Data

MOST_HOLDERS = 10**6


def held_by(data: Data, holders: np.ndarray) -> list[Client]:
    """The clients that hold something; one without a labelled node may be among them.

    Args:
        data: the whole graph, its train mask the labels that were trained on.
        holders: the number of the client that holds each node, -1 for none, [N].

    Raises:
        InputError: nobody holds anything.
    """
    import torch

    owner = torch.from_numpy(holders)
    if not bool((owner >= 0).any()):
        raise InputError("nobody holds a node: at least one must have a holder from 0 on")
    numbers = np.unique(holders[holders >= 0])
    return clients_of(
        data, Partition(owner, int(numbers[-1]) + 1, "given", owner.new_empty((2, 0))), numbers.tolist()
    )


def read_holders(path: Path) -> np.ndarray:
    """The number of the client that holds each node, [N] int64, from a ``.npy`` file, which is never unpickled.

    Raises:
        InputError: it cannot be read, is too large, or holds something else.
    """
    try:
        check_memory(f"the holders {path}", 3 * path.stat().st_size)
        with path.open("rb") as stream:
            found = np.lib.format.read_array(stream, allow_pickle=False)
    except OSError as error:
        raise InputError(f"cannot read the holders {path}: {error.strerror or error}") from error
    except InputError:
        raise
    except Exception as error:  # the parser of headers has errors of many kinds
        raise InputError(f"{path} is no .npy file of holders: {type(error).__name__}") from error
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise InputError(
            f"the holders {path} are {found.dtype} of shape {list(found.shape)}: expected integers [N]"
        )
    return checked_holders(found, f"the holders {path}")


def checked_holders(found: np.ndarray, source: str) -> np.ndarray:
    """Holders [N] as int64.

    Raises:
        InputError: a number is none of a client.
    """
    if found.size and (int(found.min()) < -1 or int(found.max()) >= MOST_HOLDERS):
        raise InputError(f"{source}: expected numbers of clients from 0, or -1 for nobody")
    return found.astype(np.int64)


def check_parties(holders: np.ndarray, parties: Iterable[str], source: str) -> None:
    """Refuses holders that are no parties of a run, and clients of a run who hold nothing.

    Args:
        holders: the number of the client that holds each node, -1 for none.
        parties: names of those that took part.
        source: what the holders are called in errors.

    Raises:
        InputError: they do not match: links would be asked of the wrong client.
    """
    held = {f"client:{number}" for number in np.unique(holders[holders >= 0]).tolist()}
    took_part = {name for name in parties if name.startswith("client:")}
    for absent, fault in ((held - took_part, "took no part"), (took_part - held, "holds no node")):
        if absent:
            named = sorted(absent, key=lambda name: int(name.partition(":")[2]))
            shown = ", ".join(named[:5]) + (" and others" if len(named) > 5 else "")
            raise InputError(f"{source} does not match the parties of the run: {shown} {fault}")
