"""A second network that the adversary holds: whom it names, and what is refused."""

import re

import numpy as np
import pytest
from click.testing import CliRunner

import gaudit
from gaudit.audit.planning.resolve import graph_of
from gaudit.commands.main import main
from gaudit.errors import InputError
from gaudit.graphs.files.network_file import write_network
from gaudit.graphs.network import Network
from gaudit.graphs.pyg import node_names
from gaudit.targets.defense import Defense
from gaudit.targets.publishing.held import held_network
from gaudit.targets.publishing.publish import Publish
from gaudit.targets.publishing.who_is_who import Named
from support.random_networks import random_network, uneven_network

PEOPLE, STRANGERS = 150, 20


def part_with_strangers(network: Network, rng: np.random.Generator) -> tuple[Network, np.ndarray]:
    """Most edges between most people, and strangers who are linked to some; the person of each node, or -1.

    Nodes stand in random order.
    """
    kept = network.edges[:, rng.random(network.size) < 0.9]
    gone = rng.permutation(network.nodes)[:10]
    kept = kept[:, ~np.isin(kept, gone).any(0)]
    strange = np.stack([rng.integers(network.nodes, size=STRANGERS), network.nodes + np.arange(STRANGERS)])
    person = np.concatenate([np.setdiff1d(np.arange(network.nodes), gone), network.nodes + np.arange(STRANGERS)])
    both = np.concatenate([kept, strange[:, ~np.isin(strange[0], gone)]], axis=1)
    person = rng.permutation(person)
    place = np.full(network.nodes + STRANGERS, -1)
    place[person] = np.arange(len(person))
    return Network.from_edges(len(person), *place[both]), np.where(person < network.nodes, person, -1)


def pairs(network: Network) -> set[frozenset[int]]:
    return {frozenset(edge) for edge in network.edges.T.tolist()}


@pytest.fixture(name="world")
def original_and_second(tmp_path):
    before = uneven_network(PEOPLE, 900, 0)
    second, person = part_with_strangers(before, np.random.default_rng(1))
    names = [f"n{node}" for node in range(second.nodes)]
    write_network(second, tmp_path / "second.txt", names)
    rows = [f"p{one},{name}" for name, one in zip(names, person.tolist(), strict=True) if one >= 0]
    (tmp_path / "who.csv").write_text("original,auxiliary\n" + "\n".join(rows) + "\n")
    return before, second, person


def original_of(before: Network) -> Named:
    return Named("before.txt", tuple(f"p{node}" for node in range(before.nodes)))


def test_people_have_the_originals_numbers_and_strangers_come_behind(world, tmp_path):
    before, second, person = world
    held = held_network(str(tmp_path / "second.txt"), str(tmp_path / "who.csv"), before, original_of(before))
    assert held.network.nodes == PEOPLE + (person < 0).sum()
    known = {frozenset(person[list(edge)].tolist()) for edge in pairs(second) if (person[list(edge)] >= 0).all()}
    assert {edge for edge in pairs(held.network) if max(edge) < PEOPLE} == known
    assert held.network.size == second.size
    assert f"{(person >= 0).sum()} of the 150 people with {len(known)} links" in held.note
    assert f"of which {len(known & pairs(before))} are links of before.txt" in held.note


def test_without_a_table_names_are_the_same(world, tmp_path):
    before, second, person = world
    names = [f"p{one}" if one >= 0 else f"stranger-{node}" for node, one in enumerate(person.tolist())]
    write_network(second, tmp_path / "named.txt", names)
    held = held_network(str(tmp_path / "named.txt"), None, before, original_of(before))
    other = held_network(str(tmp_path / "second.txt"), str(tmp_path / "who.csv"), before, original_of(before))
    within = [{edge for edge in pairs(h.network) if max(edge) < PEOPLE} for h in (held, other)]
    assert within[0] == within[1]


TABLES = {
    "p0,n0\np0,n1": "row 2 names 'p0' or 'n1' again",
    "p0,n0\np1,n0": "row 2 names 'p1' or 'n0' again",
    "q,n0": "row 1: before.txt has no node 'q'",
    "p0,q": "row 1: second.txt has no node 'q'",
    "p0,n0": "second.txt: no edge between people of before.txt",
}


@pytest.mark.parametrize("rows", TABLES)
def test_wrong_tables_are_refused(world, tmp_path, rows):
    (tmp_path / "who.csv").write_text(f"original,auxiliary\n{rows}\n")
    with pytest.raises(InputError, match=re.escape(TABLES[rows])) as refused:
        held_network(str(tmp_path / "second.txt"), str(tmp_path / "who.csv"), world[0], original_of(world[0]))
    assert "\n" not in str(refused.value)


def test_names_that_agree_by_chance_or_not_at_all_are_refused(world, tmp_path):
    before = world[0]
    with pytest.raises(InputError, match=r"second\.txt has no node of before\.txt: say who is who in a table"):
        held_network(str(tmp_path / "second.txt"), None, before, original_of(before))
    drawn = before.renamed(np.random.default_rng(0).permutation(PEOPLE))
    write_network(drawn, tmp_path / "drawn.txt", [f"p{node}" for node in range(PEOPLE)])
    with pytest.raises(InputError, match=r"drawn\.txt has names of before\.txt, but only"):
        held_network(str(tmp_path / "drawn.txt"), None, random_network(PEOPLE, 500, 3), original_of(before))


def share_named(tmp_path, table: str) -> float:
    found = gaudit.published(
        tmp_path / "before.txt",
        original=tmp_path / "before.txt",
        auxiliary=tmp_path / "second.txt",
        auxiliary_same=tmp_path / table,
        attacks="seedless-matching",
        progress=False,
    )
    (place,) = found.audit.findings()
    assert "another network of the same people, which it holds" in place.attack.knowledge
    return place.attack.more["re-identified"].estimate


def test_planted_the_second_network_names_people_and_null_another_table_does_not(world, tmp_path):
    """With names dealt at random a person is named with a chance of 1 / 150: eight or more in 10^-5."""
    before, _, person = world
    write_network(before, tmp_path / "before.txt", original_of(before).names)
    assert share_named(tmp_path, "who.csv") > 0.5
    dealt = np.random.default_rng(2).permutation(np.flatnonzero(person >= 0))
    rows = [
        f"p{one},n{node}" for one, node in zip(np.sort(person[person >= 0]).tolist(), dealt.tolist(), strict=True)
    ]
    (tmp_path / "dealt.csv").write_text("original,auxiliary\n" + "\n".join(rows) + "\n")
    assert share_named(tmp_path, "dealt.csv") < 8 / 140


def test_a_network_that_is_published_here_is_matched_to_the_held_one(world, tmp_path):
    before, second, person = world
    write_network(before, tmp_path / "before.txt", original_of(before).names)
    data = graph_of(str(tmp_path / "before.txt"), file=True, plain=True)
    given = {"auxiliary": str(tmp_path / "second.txt"), "auxiliary_same": str(tmp_path / "who.csv")}
    target = Publish(measures=("degree-distribution",), **given)
    assert set(target.reads) == set(given.values())
    run = target.run(data, Defense(), np.random.SeedSequence(0), lambda message: True)
    who = run.secrets["identity"]
    known = {frozenset(person[list(edge)].tolist()) for edge in pairs(second) if (person[list(edge)] >= 0).all()}
    named = [int(name[1:]) for name in node_names(data)]  # nodes stand in the order in which a file names them
    found = {
        frozenset(named[node] for node in edge) for edge in pairs(who.original.auxiliary) if max(edge) < PEOPLE
    }
    assert found == known
    assert any("the adversary holds second.txt" in note for note in run.notes)


def test_who_is_in_the_second_network_alone_is_not_in_the_release(world, tmp_path):
    before, second, person = world
    write_network(before, tmp_path / "before.txt", original_of(before).names)
    data = graph_of(str(tmp_path / "before.txt"), file=True, plain=True)
    files = {"auxiliary": str(tmp_path / "second.txt"), "auxiliary_same": str(tmp_path / "who.csv")}
    target = Publish(absent=0, measures=("degree-distribution",), **files)
    game = target.run(data, Defense(), np.random.SeedSequence(0), lambda message: True).secrets["existence"]
    linked = {node for edge in second.edges.T.tolist() for node in edge}
    assert len(game.subjects) == len(linked)
    assert int((~game.truth).sum()) == sum(person[node] < 0 for node in linked)


def test_a_second_network_that_does_not_fit_is_refused_before_anything_runs(world, tmp_path):
    write_network(world[0], tmp_path / "before.txt", original_of(world[0]).names)
    data = graph_of(str(tmp_path / "before.txt"), file=True, plain=True)
    with pytest.raises(InputError, match=r"second\.txt has no node of before\.txt"):
        Publish(auxiliary=str(tmp_path / "second.txt")).check(data)
    with pytest.raises(InputError, match=r"auxiliary and linking are two networks that the adversary holds"):
        Publish(auxiliary="second.txt", windows=3, linking=1)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--target", "fedgc", "--auxiliary", "a.txt"], "'fedgc' does not: use --target publish"),
        (["--target", "publish", "--auxiliary-same", "a.csv"], "give that as auxiliary too"),
        (
            ["--target", "publish", "--auxiliary", "a.txt", "--set", "auxiliary=b.txt"],
            "--auxiliary and --set auxiliary=b.txt are one setting",
        ),
    ],
)
def test_options_that_do_not_fit_are_refused_in_one_line(more, says):
    result = CliRunner().invoke(main, ["attack", "--dataset", "karate", *more])
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_table_needs_a_network(tmp_path):
    with pytest.raises(InputError, match="give that as auxiliary too"):
        gaudit.published(tmp_path / "a.txt", original="karate", auxiliary_same=tmp_path / "who.csv", progress=False)
