"""k-anonymity of people with attributes in a network: of their attributes together with their degree."""

from dataclasses import replace

import numpy as np

from ...errors import InputError
from ...graphs.network import ATTRIBUTES, Network, Verified
from ...targets.defense import Defense
from .classes import degree_column, table_of, told_of_classes, verified, with_common_degrees
from .partition import partitioned
from .requirement import ClassSettings, Requirement


class KAttributes(Defense):
    """Tells attributes coarsely until k people share them, and gives these people the same number of neighbours.

    Everybody is one class at first. A class is cut along the attribute, or the degree, that it spans most of, as
    long as all parts have k people and, where asked for, l sensitive values and values no further than t from
    everybody's (`partition`). Of each attribute the narrowest range that a class is in is told, or the finest level
    of the attribute's hierarchy. In each class all get its median degree, by edges that are dropped, added and
    exchanged (`degree_realisation.nearby`). With ``degrees=false`` edges stay as they are: then attributes with the
    degree may name people whom k others are like in either alone.

    The sensitive attribute is told as it is. A network without attributes counts as one in which all have the same.

    Source:
        LeFevre, DeWitt and Ramakrishnan, "Mondrian Multidimensional K-Anonymity", ICDE 2006; l-diversity and
        t-closeness as in `requirement.Requirement`. The degree as one more dimension is this module's own; common
        degrees are those of Rossi, Musolesi and Torsello, ICWSM 2015, for one window.
    """

    name = "k-attributes"
    phrase = "with every class of attributes and degree of at least k people"
    strength = "k"
    sweep = (2, 5, 10, 20)
    alternative = "k-attributes-full-domain"
    publishes = (ATTRIBUTES,)
    guarantee = (
        "each node shares its published attributes and its degree with at least k - 1 others; who knows more of "
        "its links may tell them apart"
    )
    Settings = ClassSettings
    settings: ClassSettings

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        rng, table, s = np.random.default_rng(seed), table_of(network), self.settings
        requirement = Requirement.of(s, network)
        check_whole(requirement, network)
        columns, values = table.columns, table.values
        if s.degrees:
            degree, place = degree_column(network.plain().degrees)
            columns, values = (*columns, degree), np.column_stack([values, place])
        group = partitioned(columns, values, requirement)
        made = with_common_degrees(network, group, rng) if s.degrees else network
        told = told_of_classes(table.columns, table.values, group)
        return made if network.people is None else replace(made, people=replace(table, runs=told))

    def verify(self, before: Network, after: Network) -> Verified:
        """Counts the classes of ``after``, checks that nothing untrue is told, and measures what is lost."""
        return verified(self.settings, before, after)


def check_whole(requirement: Requirement, network: Network) -> None:
    """Refuses what not even one class of all people keeps.

    Raises:
        InputError: there are fewer than k people, or their sensitive values are not diverse enough.
    """
    everybody, s = np.arange(network.nodes), requirement.settings
    if s.k > network.nodes:
        raise InputError(
            f"k is {s.k} but there are only {network.nodes} nodes: choose k of at most {network.nodes}"
        )
    if network.nodes and not requirement.met(everybody):
        found = requirement.diversity(everybody)
        given = requirement.columns > 1 and s.several == "given-others"
        who = "people who share their other sensitive values" if given else "all people together"
        raise InputError(
            f"l_diversity={s.l_diversity}: {who} count {found:.3g} sensitive values ({s.diversity}): choose a "
            f"smaller l{', or several=each, which takes no other sensitive value for known' if given else ''}"
        )
