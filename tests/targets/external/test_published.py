"""A network that was anonymised elsewhere is audited as one that gaudit published itself."""

import re
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

import gaudit
from gaudit.audit.planning.grid import laid_out
from gaudit.audit.planning.plan import Plan
from gaudit.audit.planning.resolve import read_plain
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.running.trial import attacks_on
from gaudit.commands.publishing.anonymise_command import AnonymiseRequest, anonymise
from gaudit.errors import InputError
from gaudit.graphs.files.name_map import write_map
from gaudit.graphs.files.network_file import read_network, write_network
from gaudit.graphs.network import Network
from gaudit.graphs.pyg import data_of, network_of_data
from gaudit.registry import find
from gaudit.targets.external.published import Published
from gaudit.targets.messages import PUBLISHED_KIND
from gaudit.targets.published import network_of
from gaudit.targets.publishing.publish import Publish
from support.random_networks import uneven_network
from support.typed_networks import typed

FEW = {"measures": ("degree-distribution",)}
ATTACKS = tuple(
    AttackPlan(name) for name in ("refinement", "hub-fingerprint", "seedless-matching", "link-randomisation")
)
NODES = 60


def run_of(target, data, defense="none", **settings):
    """A run, and what the attacks make of it."""
    plan = TrialPlan(target.name, target.settings.model_dump(), defense, settings, ATTACKS, 0, 0)
    run = target(data, plan.make_defense(), plan.root(), lambda message: True)
    return run, attacks_on(plan, run, data, plan.root())


@pytest.fixture(scope="module", name="before")
def original():
    return typed(NODES, 0, kinds=2, share=0.1)


@pytest.fixture(scope="module", name="live", params=[("k-degree", {"k": 3}), ("k-automorphism", {"k": 2})])
def published_by_gaudit(before, request):
    name, settings = request.param
    return run_of(Publish(**FEW), data_of(before), name, **settings)


def test_results_are_those_of_a_network_that_gaudit_published(before, live, tmp_path):
    run, attacked = live
    (message,) = run.transcript.seen_by("public").of_kind(PUBLISHED_KIND)
    released, secrets = network_of(message), run.secrets["identity"]
    write_network(released, tmp_path / "after.txt")
    rows = [(str(person), str(node)) for person, node in enumerate(secrets.image[: secrets.people])]
    rows += [("", str(node)) for node in secrets.image[secrets.people :]]
    write_map(tmp_path / "same.csv", reversed(rows))
    target = Published(after=str(tmp_path / "after.txt"), same=str(tmp_path / "same.csv"), **FEW)
    again, result = run_of(target, data_of(before))
    assert again.kept == run.kept
    assert result.refused == attacked.refused
    assert [a.plan for a in result.attacked] == [a.plan for a in attacked.attacked]
    assert result.attacked
    for one, other in zip(result.attacked, attacked.attacked, strict=True):
        assert np.array_equal(one.judged.truth, other.judged.truth)
        assert np.array_equal(one.judged.score, other.judged.score)
        assert one.knowledge == other.knowledge


def anonymised(folder, before, name="k-degree", rename=True, **settings):
    """The files of a network, of what `gaudit anonymize` makes of it, and of who is who."""
    source, after, same = (folder / file for file in ("before.txt", "after.txt", "same.csv"))
    write_network(before, source, [f"person-{node}" for node in range(before.nodes)])
    request = AnonymiseRequest(source, after, name, settings, rename, measure=False, seed=1, write_map=same)
    anonymise(request)
    return source, after, same


@pytest.mark.parametrize("rename", [True, False])
@pytest.mark.parametrize(("name", "settings"), [("k-degree", {"k": 4}), ("k-automorphism", {"k": 2})])
def test_who_is_who_is_written_and_read_again(name, settings, rename, tmp_path):
    source, after, same = anonymised(tmp_path, uneven_network(NODES, 150, 0), name, rename, **settings)
    data = read_plain(str(source))
    run = Published(after=str(after), same=str(same), **FEW)(
        data, find("defenses", "none")(), np.random.SeedSequence(0), lambda message: True
    )
    kept = run.secrets["identity"].original
    links = {tuple(edge) for edge in kept.published.edges.T.tolist()}
    assert {tuple(edge) for edge in network_of_data(data).edges.T.tolist()} <= links  # both only add edges
    assert same.stat().st_mode & 0o077 == 0


def graph_of(file, nodes):
    """As networkx reads it, with the nodes that no edge names."""
    graph = nx.read_edgelist(file)
    graph.add_nodes_from(nodes)
    return graph


@pytest.mark.parametrize("depth", [1, 2])
def test_uniqueness_is_what_networkx_counts(depth, tmp_path):
    source, after, same = anonymised(tmp_path, uneven_network(NODES, 150, 3), "random-switch", switches=10)
    asked = {"refinement": {"depth": depth, "match": "exact"}}
    result = gaudit.published(
        after, original=source, same=same, attacks="refinement", settings=asked, progress=False
    )
    who = dict(line.replace('"', "").split(",") for line in same.read_text().splitlines()[1:])
    before, released = graph_of(source, who), graph_of(after, who.values())

    def told(graph, node):
        return graph.degree(node) if depth == 1 else sorted(graph.degree(other) for other in graph[node])

    alone = 0
    for person, node in who.items():
        like = [other for other in released if told(released, other) == told(before, person)]
        alone += like == [node]
    (place,) = result.audit.findings()
    assert alone > 0
    assert place.attack.more["one candidate"].estimate == pytest.approx(alone / NODES)


def change(file, old, new):
    file.write_text(file.read_text().replace(old, new, 1))


WRONG = {
    "a person who is not there": ('"person-0"', '"person-x"', "same.csv: row 1: before.txt has no node 'person-x'"),
    "a person twice": ('"person-1",', '"person-0",', "row 2 names the person 'person-0' again"),
    "no original": ('"person-0"', '""', "1 person of before.txt without a published node, such as 'person-0'"),
    "a column": ("published", "after", "the column 'published' is missing: its columns are original, after"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_table_is_refused_in_one_line(case, tmp_path):
    source, after, same = anonymised(tmp_path, uneven_network(NODES, 150, 0), k=2)
    old, new, says = WRONG[case]
    change(same, old, new)
    with pytest.raises(InputError, match=re.escape(says)) as refused:
        gaudit.published(after, original=source, same=same, progress=False)
    assert "\n" not in str(refused.value)


def test_published_nodes_in_the_wrong_place_are_refused(tmp_path):
    source, after, same = anonymised(tmp_path, uneven_network(NODES, 150, 0), k=2)
    head, *rows = same.read_text().splitlines()
    (person, node), (other, _) = (row.split(",") for row in rows[:2])
    cases = {
        f"row 2 names the published node '{node[1:-1]}' again".replace('"', ""): [*rows[:1], f"{other},{node}"],
        "row 1: after.txt has no node 'nobody'": [f'{person},"nobody"', *rows[1:]],
        "59 persons of before.txt without a published node": rows[:1],
        "row 1 has no 'published'": [f"{person},", *rows[1:]],
    }
    for says, changed in cases.items():
        same.write_text("\n".join([head, *changed]))
        with pytest.raises(InputError, match=re.escape(says)):
            gaudit.published(after, original=source, same=same, progress=False)


def test_added_nodes_need_a_row(tmp_path):
    source, after, same = anonymised(tmp_path, uneven_network(NODES + 1, 150, 0), "k-automorphism", k=2)
    rows = same.read_text().splitlines()
    added = [row for row in rows if row.startswith('"",')]
    assert added
    same.write_text("\n".join(row for row in rows if row != added[0]))
    with pytest.raises(InputError, match=r"1 node of after\.txt without a person, such as '\d+': give"):
        gaudit.published(after, original=source, same=same, progress=False)


def test_numbers_that_were_drawn_anew_are_not_taken_for_kept_names(tmp_path):
    before = uneven_network(200, 900, 0)
    write_network(before, tmp_path / "before.txt")
    kept, renamed = tmp_path / "kept.txt", tmp_path / "renamed.txt"
    write_network(before, kept)
    write_network(before.renamed(np.random.default_rng(0).permutation(before.nodes)), renamed)
    result = gaudit.published(kept, original=tmp_path / "before.txt", attacks="refinement", progress=False)
    assert result.auc["refinement"].estimate > 0.9
    with pytest.raises(
        InputError, match=r"renamed\.txt has the names of before\.txt, but only \d+ of its \d+ links"
    ):
        gaudit.published(renamed, original=tmp_path / "before.txt", attacks="refinement", progress=False)


def test_other_names_need_a_table(tmp_path):
    source, after, _ = anonymised(tmp_path, uneven_network(NODES, 150, 0), k=2)
    with pytest.raises(
        InputError, match=r"60 persons that after\.txt does not name, such as 'person-0': say who is"
    ):
        gaudit.published(after, original=source, progress=False)


def test_the_order_of_the_published_file_changes_nothing(tmp_path):
    source, after, same = anonymised(tmp_path, uneven_network(NODES, 150, 0), "random-switch", switches=20)
    first = gaudit.published(after, original=source, same=same, progress=False).table()
    read = read_network(after)
    order = np.random.default_rng(1).permutation(NODES)
    names = [read.ids[place] for place in np.argsort(order)]
    write_network(read.network.renamed(order), after, names)
    second = gaudit.published(after, original=source, same=same, progress=False).table()
    assert first.equals(second)


def test_networks_of_networkx_do_as_files_do(tmp_path):
    source, after, same = anonymised(tmp_path, uneven_network(NODES, 150, 0), "random-switch", switches=20)
    files = gaudit.published(after, original=source, same=same, progress=False)
    who = dict(line.replace('"', "").split(",") for line in same.read_text().splitlines()[1:])
    graphs = gaudit.published(
        graph_of(after, who.values()),
        original=graph_of(source, who),
        same=who,
        attacks="refinement",
        progress=False,
    )
    assert graphs.auc["refinement"].estimate == pytest.approx(files.auc["refinement"].estimate, abs=0.02)
    with pytest.raises(InputError, match="the published network is a list"):
        gaudit.published([1], original=source, progress=False)


def test_types_are_told_apart_by_their_names(tmp_path):
    edges = np.array([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 5, 5]])
    before = Network.from_edges(6, *edges, types=np.array([0, 1, 0, 1, 0, 1]))
    write_network(before, tmp_path / "before.csv", type_names=["friend", "boss"])
    turned = replace(before, types=1 - before.types)
    write_network(turned, tmp_path / "after.csv", type_names=["boss", "friend"])
    data = read_plain(str(tmp_path / "before.csv"))
    run = Published(after=str(tmp_path / "after.csv"), **FEW)(
        data, find("defenses", "none")(), np.random.SeedSequence(0), lambda message: True
    )
    found = run.secrets["identity"].original
    assert np.array_equal(found.published.types, found.network.types)


def test_types_under_other_names_are_refused(tmp_path):
    before = typed(NODES, 0, kinds=2, share=0.1)
    write_network(before, tmp_path / "after.csv", type_names=["friend", "boss"])
    with pytest.raises(InputError, match=r"types of edges have other names \(friend, boss\) than in the original"):
        Published(after=str(tmp_path / "after.csv"))(
            data_of(before), find("defenses", "none")(), np.random.SeedSequence(0), lambda message: True
        )


def test_another_content_of_the_file_is_another_trial(tmp_path):
    before = uneven_network(NODES, 150, 0)
    source, after, same = anonymised(tmp_path, before, "random-switch", switches=5)
    settings = {"after": str(after), "same": str(same)}
    plan = Plan.checked(
        "plan",
        {
            "name": "published",
            "datasets": (str(source),),
            "target": ({"name": "published", "settings": settings},),
            "attack": ({"name": "refinement"},),
        },
    )
    first, again = laid_out(plan), laid_out(plan)
    assert [task.key for task in first.tasks] == [task.key for task in again.tasks]
    assert first.fingerprint == again.fingerprint
    (edge, *_) = (line for line in after.read_text().splitlines() if not line.startswith("#"))
    change(after, edge + "\n", "")
    changed = laid_out(plan)
    assert {task.key for task in changed.tasks if task.cell >= 0}.isdisjoint(task.key for task in first.tasks)
    assert changed.fingerprint != first.fingerprint


def test_a_defense_has_no_place(before):
    with pytest.raises(InputError, match="the network is published already"):
        Published(after="after.txt")(
            data_of(before), find("defenses", "k-degree")(k=2), np.random.SeedSequence(0), lambda message: True
        )
