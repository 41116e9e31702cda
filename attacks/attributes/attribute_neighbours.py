"""Attributes from a published network: people who are linked are alike."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from ...errors import InputError
from ...graphs.network import Floats
from ...targets.games.attributes import AttributeKnowledge
from ...targets.messages import PUBLISHED_GRAPH, Carrying
from ...targets.published import network_of
from ...targets.transcript import View
from .attribute_attack import AttributeAttack, KnownPeople


class AttributeNeighbours(AttributeAttack):
    """Reads the published links: values of known people nearby, smoothed ones, and neighbours' other attributes.

    The adversary knows which published node each person is. What it knows of some it spreads over the links (label
    propagation), and a model is fitted to known people (Yuan et al., KDD 2024, in their simplest form).
    """

    name = "attribute-neighbours"
    needs: ClassVar[tuple[Carrying, ...]] = (PUBLISHED_GRAPH,)

    def columns(self, view: View, knowledge: AttributeKnowledge, people: KnownPeople) -> Mapping[str, Floats]:
        network = network_of(view.carrying(PUBLISHED_GRAPH)[-1])
        count = len(knowledge.x)
        if network.nodes < count or not network.size:
            raise InputError(
                f"the published network tells {network.nodes} nodes and {network.size} edges: links of all {count} "
                "people are needed"
            )
        found = people.near(network.adjacency[:count, :count], knowledge)
        return {f"published {name}": np.asarray(column) for name, column in found.items()}
