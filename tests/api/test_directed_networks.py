"""Directed graphs of networkx are audited with their directions."""

import networkx as nx
import pytest

import gaudit


def test_ways_of_a_ranking_tell_everybody_apart_and_its_undirected_form_nobody():
    """Everybody is linked to everybody, the earlier to the later: all twelve have other numbers of links."""
    everybody = nx.complete_graph(12)
    ranking = nx.DiGraph(sorted(everybody.edges))
    told, bare = (
        gaudit.published(release, original=ranking, attacks=["refinement"]) for release in (ranking, everybody)
    )
    assert told.auc["refinement"].estimate == 1
    assert bare.auc["refinement"].estimate == pytest.approx(0.5)
