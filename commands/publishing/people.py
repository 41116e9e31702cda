"""Attributes of people beside a network that `gaudit anonymize` writes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...errors import InputError
from ...graphs.files.people_file import PeopleFile, check_people_name, read_people
from ...graphs.network import ATTRIBUTES, Network
from ...graphs.tables.column import ANY, OR
from ...graphs.tables.node_table import UNTOLD
from ...targets.defense import Defense


@dataclass(frozen=True)
class PeopleRequest:
    """What the user asked for of people.

    Attributes:
        source: a table of people, or None: then nothing is told of them.
        destination: a table for what is told.
        attributes: columns by which people are known, apart by commas.
        sensitive: columns that are told as they are, apart by commas.
        hierarchies: ``COLUMN=HOW``, each a rule or a file.
    """

    source: Path | None = None
    destination: Path | None = None
    attributes: str | None = None
    sensitive: str | None = None
    hierarchies: tuple[str, ...] = ()

    @property
    def named(self) -> tuple[str, ...]:
        """The columns that are published as attributes."""
        return _names(self.attributes)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The columns that are published as they are."""
        return _names(self.sensitive)

    def check(self, kind: type[Defense]) -> None:
        """Refuses options that do not go together.

        Raises:
            InputError: one is missing, or there is no table.
        """
        if self.source is None:
            if any((self.destination, self.attributes, self.sensitive, self.hierarchies)):
                raise InputError("attributes of people come from a table: name it with --people FILE.csv")
            if ATTRIBUTES in kind.publishes:
                raise InputError(f"'{kind.name}' makes people alike by attributes: name their table with --people")
            return
        if not self.named and not self.secrets:
            raise InputError("--people: say which of its columns are published, with --attributes or --sensitive")
        if self.destination is None:
            raise InputError("--people: say where the published table goes, with --write-people FILE.csv")
        check_people_name(self.destination)

    def joined(self, network: Network, ids: Sequence[str]) -> tuple[Network, tuple[str, ...]]:
        """The network with attributes of its nodes, and the columns of the table that are left out."""
        if self.source is None:
            return network, ()
        pairs = [pair.partition("=") for pair in self.hierarchies]
        bad = next(
            (pair for pair, (_, sign, how) in zip(self.hierarchies, pairs, strict=True) if not sign or not how),
            None,
        )
        if bad is not None:
            raise InputError(f"--hierarchy {bad}: expected COLUMN=HOW, as in age=interval:10 or city=city.csv")
        asked = PeopleFile(self.source, self.named, self.secrets, {name.strip(): how for name, _, how in pairs})
        table, unused = read_people(asked, ids)
        return replace(network, people=table), unused


def told_of_people(network: Network) -> list[str]:
    """What of people will be published, in words."""
    if network.people is None:
        return []
    return [
        *(f"{column.name!r} of nodes" for column in network.people.columns),
        *(f"{secret.name!r} of nodes as it is" for secret in network.people.secrets),
    ]


def remarks_on_people(network: Network) -> list[str]:
    """What a reader must know of the published table, in sentences: empty cells, and quotes."""
    people = network.people
    if people is None:
        return []
    empty = [] if people.sensitive is None else (people.sensitive == UNTOLD).sum(0).tolist()
    found = [
        f"{secret.name!r} is empty for {count:,} people: it is published as {ANY!r} and counts as no value. Write "
        "a word such as 'none' where being empty says something."
        for secret, count in zip(people.secrets, empty, strict=True)
        if count
    ]
    odd = [column.name for column in people.columns if column.quotes]
    return found + [
        f"Values of {name!r} have {OR!r} in them, which stands between values that are told together, or start "
        "with a quote: these are published in double quotes."
        for name in odd
    ]


def _names(listed: str | None) -> tuple[str, ...]:
    """Names that are apart by commas."""
    return tuple(name.strip() for name in (listed or "").split(",") if name.strip())
