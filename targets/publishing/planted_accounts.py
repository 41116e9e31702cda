"""Accounts that an active adversary opens in a network before it is published, to find them and others again."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...graphs.network import Ints, Network
from ...graphs.pair_codes import codes

MOST_ACCOUNTS = 60
"""Sets of accounts are kept as bits of one int64."""
TOGETHER = 3
"""Accounts that mark one target, at most (c = 3 in Backstrom et al. 2007)."""
ASYMMETRIC = 6
"""The smallest number of nodes (but one) of a graph that has no automorphism."""
TRIES, REDRAWN = 1_000, 10


def plant(
    network: Network,
    accounts: int,
    targets: int | Ints,
    rng: np.random.Generator,
    external: tuple[int, int] = (10, 20),
    together: int = TOGETHER,
) -> Network:
    """A network with an adversary's accounts, walk-based (Backstrom, Dwork and Kleinberg 2007).

    Account i has links to ``external`` persons (uniform within the range, both ends included) and to accounts
    i - 1 and i + 1; any other two accounts are linked with probability 1/2. Each target is marked by a set of
    accounts of its own, and no other person is linked to exactly that set. Where the authors leave it to chance
    that the accounts cannot be mistaken for each other, links among them are drawn again until no automorphism
    is left that keeps their degrees; with six accounts or more none at all, so that changed degrees do no harm.

    Args:
        network: the persons, ids 0 to n - 1.
        accounts: k, how many to add; they become nodes n to n + k - 1, along the path.
        targets: the persons to mark [b], or how many to draw.
        rng: of everything that is drawn.
        external: the smallest and the largest number of persons that an account is linked to.
        together: accounts that mark one target, at most.

    Returns:
        The network with nodes n to n + k - 1 and their links; weights and types of these are drawn from all edges.

    Raises:
        InputError: accounts or targets do not fit the network, each other or the numbers of links.
    """
    persons = network.nodes
    _check_accounts(accounts, persons, external)
    marked = _targets(targets, persons, rng)
    degrees, inside = _rigid(accounts, external, rng)
    sets = _sets(inside, len(marked), degrees, together, rng)
    linked = _linked(persons, marked, sets, degrees, rng)
    account, person = np.nonzero(linked)
    one, other = np.nonzero(np.triu(inside))
    nodes = persons + accounts
    new = np.concatenate([codes(person, persons + account, nodes), codes(persons + one, persons + other, nodes)])
    pairs = np.concatenate([codes(network.edges[0], network.edges[1], nodes), new])
    return network.with_edges(pairs, rng, nodes, hidden=False)  # accounts link like anybody


def distinguished(inside: NDArray[np.bool_], degrees: Ints) -> bool:
    """Whether no automorphism but the identity maps each account to one of its degree (BLISS).

    Args:
        inside: symmetric, which accounts are linked, [k, k].
        degrees: of the accounts, [k]; equal ones may be mapped to each other.
    """
    import igraph

    graph = igraph.Graph(n=len(inside), edges=np.argwhere(np.triu(inside)))
    colours = np.unique(degrees, return_inverse=True)[1]
    return not graph.automorphism_group(color=colours.tolist())  # generators; the trivial group has none


def _check_accounts(accounts: int, persons: int, external: tuple[int, int]) -> None:
    fewest, most = external
    if not 3 <= accounts <= MOST_ACCOUNTS:
        raise InputError(f"{accounts} accounts to plant: give 3 to {MOST_ACCOUNTS}")
    if not 1 <= fewest <= most:
        raise InputError(
            f"links of an account to persons from {fewest} to {most}: give 1 or more, the smaller first"
        )
    if most >= persons:
        raise InputError(f"{most} links of an account to persons, of whom there are {persons}: give fewer links")


def _targets(targets: int | Ints, persons: int, rng: np.random.Generator) -> Ints:
    if not isinstance(targets, np.ndarray):
        if not 0 <= targets <= persons:
            raise InputError(f"{targets} targets in a network of {persons} persons: give at most as many")
        return rng.permutation(persons)[:targets]
    if len(np.unique(targets)) < len(targets):
        raise InputError("a target is named twice: name each person once")
    if len(targets) and not (targets.min() >= 0 and targets.max() < persons):
        raise InputError(f"a target is no person: ids are 0 to {persons - 1}")
    return targets


def _rigid(accounts: int, external: tuple[int, int], rng: np.random.Generator) -> tuple[Ints, NDArray[np.bool_]]:
    """Numbers of links to persons [k] and links among the accounts [k, k] that cannot be mistaken."""
    path = np.eye(accounts, k=1, dtype=bool)
    for _ in range(TRIES):
        degrees = rng.integers(external[0], external[1] + 1, size=accounts)
        upper = path | np.triu(rng.random((accounts, accounts)) < 0.5, 1)
        inside = upper | upper.T
        told = degrees + inside.sum(1)
        if distinguished(inside, np.zeros_like(told) if accounts >= ASYMMETRIC else told):
            return degrees, inside
    raise InputError(
        f"{accounts} accounts with {external[0]} to {external[1]} links to persons can be mistaken for each other: "
        f"plant at least {ASYMMETRIC}, or widen the range of links"
    )


def _sets(
    inside: NDArray[np.bool_], targets: int, degrees: Ints, together: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """For each target a set of accounts of its own, [b, k]."""
    accounts = len(inside)
    chosen = _preferred(inside, together, rng)
    if targets > len(chosen):
        raise InputError(
            f"{targets} targets, and {accounts} accounts make {len(chosen)} sets of at most {together}: "
            f"plant more accounts or name fewer targets"
        )
    found, left, row = np.zeros((targets, accounts), dtype=bool), degrees.copy(), 0
    for own in chosen:
        if row < targets and (left[own] > 0).all():
            found[row, own] = True
            left[own] -= 1
            row += 1
    if row < targets:
        raise InputError(
            f"{targets} targets need more links than {accounts} accounts have ({degrees.sum()}): plant more "
            f"accounts, give them more links or name fewer targets"
        )
    return found


def _preferred(inside: NDArray[np.bool_], together: int, rng: np.random.Generator) -> list[list[int]]:
    """All sets of at most ``together`` accounts in random order, but last those that make mistakes likely.

    A target that is linked to the very accounts that another account is linked to might be taken for that account.
    And one that an account marks alone forbids that account to be linked to any other person alone.
    """
    numbers = range(len(inside))
    sets = [s for size in range(1, together + 1) for s in combinations(numbers, size)]
    neighbours = {tuple(np.flatnonzero(row).tolist()) for row in inside}
    last = np.array([2 * (len(s) == 1) + (s in neighbours) for s in sets])
    order = rng.permutation(len(sets))
    return [list(sets[place]) for place in order[np.argsort(last[order], kind="stable")]]


def _linked(
    persons: int, marked: Ints, sets: NDArray[np.bool_], degrees: Ints, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Which accounts are linked to which persons, [k, n]: targets by their sets, others up to the degrees."""
    others = np.setdiff1d(np.arange(persons), marked)
    needed = degrees - sets.sum(0)
    taken = {row.tobytes() for row in sets}
    if needed.max() <= len(others):
        for _ in range(REDRAWN):
            drawn = np.zeros((len(degrees), len(others)), dtype=bool)
            for own, count in zip(drawn, needed, strict=True):
                own[rng.choice(len(others), size=count, replace=False)] = True
            if _repaired(drawn, taken, rng):
                linked = np.zeros((len(degrees), persons), dtype=bool)
                linked[:, marked], linked[:, others] = sets.T, drawn
                return linked
    raise InputError(
        f"{len(marked)} targets, {persons} persons and {len(degrees)} accounts with up to {degrees.max()} links: "
        f"others are linked to the same accounts as a target; name fewer targets or give accounts fewer links"
    )


def _repaired(drawn: NDArray[np.bool_], taken: set[bytes], rng: np.random.Generator) -> bool:
    """Moves links [k, o] in place from persons whose set of accounts is a target's to others; whether it worked."""
    for _ in range(TRIES):
        wrong = [p for p in np.flatnonzero(drawn.any(0)) if drawn[:, p].tobytes() in taken]
        if not wrong:
            return True
        person = rng.choice(wrong)
        account = rng.choice(np.flatnonzero(drawn[:, person]))
        alone = np.arange(len(drawn)) == account
        free = np.flatnonzero(~drawn[account] & (drawn.any(0) | (alone.tobytes() not in taken)))
        if not len(free):
            return False
        drawn[account, person], drawn[account, rng.choice(free)] = False, True
    return False
