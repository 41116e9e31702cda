"""`gaudit anonymize --rename`: the order of a published file tells nobody who is who, and all of a node moves.

The source has no automorphism, and each of its edges a weight or type of its own, so that a published node is found
again for certain, by an isomorphism that keeps all these. Bounds are five standard deviations over all seeds: a
uniform permutation exceeds one in less than one of a million choices of seeds.
"""

import gzip
import math
from collections import defaultdict
from itertools import combinations, repeat
from xml.etree import ElementTree

import igraph
import numpy as np
import pytest

from gaudit.commands.publishing.anonymise_command import AnonymiseRequest, anonymise
from gaudit.defenses.anonymity.k_automorphism import verify_k_automorphism
from gaudit.graphs.files.network_file import ReadNetwork, read_network, write_network
from gaudit.graphs.network import Network

NODES, EDGES, SEEDS = 40, 120, 20
DEFENSES = {
    "nothing changes": ("random-switch", {"switches": 0}),
    "few edges go": ("intact-edges", {"sensitive": 0}),
    "nodes are added": ("k-automorphism", {"k": 3}),
}
CASES = [
    (defense, ending)
    for defense in DEFENSES
    for ending in (".txt", ".csv", ".tsv.gz", ".npz", ".graphml")
    if defense != "few edges go" or ending != ".txt"  # that one needs types, and this list has weights
]


@pytest.fixture(scope="module", name="source")
def source_files(tmp_path_factory):
    """A function of an ending: the file of it. Neither ids nor types stand in the order of the alphabet."""
    rng = np.random.default_rng(0)
    pairs = rng.permutation(list(combinations(range(NODES - 1), 2)))[:EDGES]  # the last node is left alone
    ids = [f"person-{k}" for k in rng.permutation(NODES)]
    weights, types = rng.permutation(EDGES) + 0.5, rng.permutation(EDGES)
    names = [f"kind-{k}" for k in rng.permutation(EDGES)]
    folder = tmp_path_factory.mktemp("source")

    def made(ending):
        text = ending not in (".npz", ".graphml")
        told = {"weights": weights} if ending == ".txt" else {"types": types}
        told |= {} if text else {"weights": weights}
        told |= {"groups": rng.integers(5, size=NODES)} if ending == ".npz" else {}
        network = Network.from_edges(NODES, *pairs.T, **told)
        assert network.igraph().count_automorphisms() == 1
        path = folder / f"source{ending}"
        both = {} if text else {"x": rng.random((NODES, 2)), "y": rng.integers(3, size=NODES)}
        write_network(network, path, ids, names if "types" in told else (), **both)
        return path

    return {ending: made(ending) for ending in dict.fromkeys(ending for _, ending in CASES)}.__getitem__


def published(source, folder, defense, seed, rename=True):
    out = folder / f"out{''.join(source.suffixes)}"
    network = read_network(source).network
    keep = tuple(name for name in ("weights", "types") if getattr(network, name) is not None)
    anonymise(AnonymiseRequest(source, out, *defense, rename=rename, keep=keep, measure=False, seed=seed))
    return out


def told(read: ReadNetwork) -> dict[tuple[int, int], tuple]:
    """What a file tells of each linked pair of nodes: weights, and types by name."""
    network, pairs = read.network, defaultdict(list)
    weights = repeat(None) if network.weights is None else network.weights.tolist()
    types = repeat(None) if network.types is None else (read.type_names[k] for k in network.types)
    for one, other, weight, kind in zip(*network.edges.tolist(), weights, types, strict=False):
        pairs[one, other].append((weight, kind))
    return {pair: tuple(sorted(edges)) for pair, edges in pairs.items()}


def mapping(before: ReadNetwork, after: ReadNetwork) -> np.ndarray:
    """Where each node of one network is in another that is the same but for the order; there is one way only."""
    reads, pairs = (before, after), (told(before), told(after))
    number = {edges: k for k, edges in enumerate(dict.fromkeys([*pairs[0].values(), *pairs[1].values()]))}
    one, other = (igraph.Graph(read.network.nodes, list(found)) for read, found in zip(reads, pairs, strict=True))
    groups = [None if read.network.groups is None else read.network.groups.tolist() for read in reads]
    edges = [[number[told] for told in found.values()] for found in pairs]
    ways = other.get_isomorphisms_vf2(
        one, color1=groups[1], color2=groups[0], edge_color1=edges[1], edge_color2=edges[0]
    )
    assert len(ways) == 1
    new = np.array(ways[0])
    assert {tuple(sorted(new[list(pair)].tolist())): edges for pair, edges in pairs[0].items()} == pairs[1]
    if groups[0] is not None:
        assert (after.network.groups[new] == before.network.groups).all()
    return new


def rows(path) -> tuple[list[str], list[tuple]]:
    """Nodes and edges as they stand in the file, unsorted; nodes only where the file names them."""
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            types = arrays["types"].tolist() if "types" in arrays else [0] * arrays["edge_index"].shape[1]
            return arrays["ids"].tolist(), list(zip(*arrays["edge_index"].tolist(), types, strict=True))
    if path.suffix == ".graphml":
        root = ElementTree.parse(path).getroot()
        nodes, edges = ([e.attrib for e in root.iter() if e.tag.endswith(f"}}{tag}")] for tag in ("node", "edge"))
        return [n["id"] for n in nodes], [(int(e["source"]), int(e["target"])) for e in edges]
    lines = (
        (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode().splitlines()
    )
    nodes = [line.split()[1] for line in lines if line.startswith("#@node")]
    cells = [line.replace(",", " ").split() for line in lines if not line.startswith("#")]
    return nodes, [tuple(map(int, row[:2])) for row in cells]


@pytest.mark.parametrize(("defense", "ending"), CASES)
def test_the_order_of_a_file_tells_nobody_who_is_who(source, tmp_path, defense, ending):
    """Fixed points of a uniform permutation: mean 1, variance 1. Correlation of the ranks: 0, 1 / (n - 1)."""
    fixed, correlation, added = 0, 0.0, []
    for seed in range(SEEDS):
        plain = read_network(published(source(ending), tmp_path, DEFENSES[defense], seed, rename=False))
        out = published(source(ending), tmp_path, DEFENSES[defense], seed)
        new = mapping(plain, read_network(out))
        fixed += int((new == np.arange(len(new))).sum())
        correlation += np.corrcoef(new, np.arange(len(new)))[0, 1]
        added += new[NODES:].tolist()
    assert fixed < SEEDS + 6 * math.sqrt(SEEDS)
    assert abs(correlation) < 5 * math.sqrt(SEEDS / (NODES - 1))
    if defense == "nodes are added":
        n = len(new)
        spread = math.sqrt((n * n - 1) / 12 / len(added))
        assert n > NODES
        assert abs(np.mean(added) - (n - 1) / 2) < 5 * spread


@pytest.mark.parametrize(("defense", "ending"), CASES)
def test_all_is_written_in_the_order_of_the_new_numbers(source, tmp_path, defense, ending):
    """Edges in any other order give the same bytes: the file follows from the network that is published."""
    out = published(source(ending), tmp_path, DEFENSES[defense], 0)
    found, (nodes, edges) = read_network(out), rows(out)
    network, names = found.network, found.type_names
    assert list(found.ids) == list(map(str, range(network.nodes)))
    assert nodes in ([], list(found.ids))
    assert edges == sorted(edges)
    assert all(low < high for low, high, *_ in edges)
    assert list(names) == sorted(names)
    assert (found.x, found.y) == (None, None)
    order = np.random.default_rng(1).permutation(network.size)
    parts = [None if part is None else part[order] for part in (network.weights, network.types)]
    again = tmp_path / f"again{ending}"
    shuffled = Network.from_edges(network.nodes, *network.edges[::-1, order], *parts, network.groups)
    write_network(shuffled, again, type_names=names)
    assert again.read_bytes() == out.read_bytes()


@pytest.mark.parametrize("ending", [".txt", ".csv", ".npz", ".graphml"])
def test_the_guarantee_holds_for_the_network_in_the_file(source, tmp_path, ending):
    out = published(source(ending), tmp_path, DEFENSES["nodes are added"], 0)
    assert verify_k_automorphism(read_network(out).network, 3).holds


def test_groups_of_a_summary_move_with_the_nodes(source, tmp_path):
    """Counts have no edges to find nodes by, but no more places keep their group than in a random order.

    With s the sum of the squares of the groups' sizes that is s / n in the mean, with variance s / (n - 1) at most.
    """
    defense, kept, spread = ("summarisation", {"k": 10, "sample": False, "steps": 5}), 0.0, 0.0
    for seed in range(SEEDS):
        reads = [
            read_network(published(source(".npz"), tmp_path, defense, seed, rename)) for rename in (False, True)
        ]
        by_name = [
            {(one, other, read.type_names[kind]): count for one, other, kind, count in read.network.counts.tolist()}
            for read in reads
        ]
        assert by_name[0] == by_name[1]
        assert list(reads[1].type_names) == sorted(reads[0].type_names)
        plain, renamed = (read.network for read in reads)
        sizes = np.bincount(plain.groups)
        assert np.bincount(renamed.groups).tolist() == sizes.tolist()
        kept += (plain.groups == renamed.groups).sum() - (sizes**2).sum() / NODES
        spread += (sizes**2).sum() / (NODES - 1)
    assert abs(kept) < 5 * math.sqrt(spread)


def test_a_drawn_summary_keeps_its_groups_and_counts(source, tmp_path):
    defense = ("summarisation", {"k": 4, "steps": 5})
    plain, renamed = (
        read_network(published(source(".npz"), tmp_path, defense, 0, rename)) for rename in (False, True)
    )
    new = mapping(plain, renamed)
    assert (new != np.arange(NODES)).any()


def test_a_seed_draws_the_same_numbers_again_and_none_draws_others(gaudit, source, tmp_path):
    def written(name, *seed):
        out = tmp_path / name
        result = gaudit(
            "anonymize",
            source(".txt"),
            "--defense",
            "random-switch:switches=0",
            "--rename",
            "--no-utility",
            *seed,
            "-o",
            out,
        )
        assert result.exit_code == 0, result.output
        return out.read_text()

    assert written("a.txt", "--seed", 5) == written("b.txt", "--seed", 5) != written("c.txt", "--seed", 6)
    assert written("d.txt") != written("e.txt")
