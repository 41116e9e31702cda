"""An adversary who asks for links gets what the game grants it, under ids that say nothing."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gaudit.attacks.attack import Scores
from gaudit.attacks.links.link_attack import parts_of
from gaudit.audit.games.referee import judge
from gaudit.graphs.pair_codes import ends
from gaudit.targets.defense import Defense
from gaudit.targets.games.links import edge_presence
from gaudit.targets.partition import partition
from gaudit.targets.party import clients_of
from gaudit.targets.publishing.publish import Publish
from support.adversaries import adversary

NODES = 60


@pytest.fixture(scope="module")
def data() -> Data:
    """Features are our ids: whoever sees them knows who is who."""
    rng = np.random.default_rng(0)
    linked = np.triu(rng.random((NODES, NODES)) < 0.15, 1)
    row, col = np.nonzero(linked | linked.T)
    everybody = torch.ones(NODES, dtype=torch.bool)
    masks = {f"{m}_mask": everybody for m in ("train", "val", "test")}
    ids = torch.arange(NODES, dtype=torch.float32)[:, None]
    return Data(x=ids, edge_index=torch.from_numpy(np.stack([row, col])), y=torch.arange(NODES) % 3, **masks)


@pytest.fixture(scope="module")
def secrets(data):
    clients = clients_of(data, partition(data, "metis", 3, 0))
    return edge_presence(clients, NODES, np.random.SeedSequence(0))


def granted(data, secrets, share=0.0, seed=0):
    return secrets.grant(data, adversary(knows_links=share), np.random.SeedSequence(seed))


def linked(data) -> set[tuple[int, int]]:
    return {tuple(e) for e in data.edge_index.t().tolist()}


def test_scores_find_their_way_back(data, secrets):
    given, narrowed = granted(data, secrets)
    known, found = given.knowledge, torch.zeros(len(given.knowledge.subjects))
    for places, part in parts_of(known):
        ours = part.x[:, 0].long()  # features are our ids
        found[places] = torch.tensor([float((u, v) in linked(data)) for u, v in ours[part.pairs].tolist()])
        assert part.edges == sum(float((u, v) in linked(data)) for u, v in ours[part.pairs].tolist())
        assert part.labels.tolist() == (ours % 3).tolist()
    judged = judge(Scores(known.subjects.numpy(), found.double().numpy()), given, secrets)
    assert np.array_equal(judged.score > 0, judged.truth)
    assert judged.nodes == NODES
    assert narrowed(secrets) is secrets


def test_ids_say_nothing(data, secrets):
    one, other = (granted(data, secrets, seed=s)[0] for s in (0, 1))
    assert not np.array_equal(one.ids, other.ids)
    assert known_nothing(one.knowledge.links)
    assert one.knowledge.edges.numel() == 0


def known_nothing(links) -> bool:
    return links.known.numel() == links.known_not.numel() == 0


def test_who_knows_links_is_asked_about_the_others(data, secrets):
    given, narrowed = granted(data, secrets, 0.5)
    left = narrowed(secrets)
    told = ~np.isin(secrets.subjects, left.subjects)
    edges = int(secrets.truth.sum())
    assert (told & secrets.truth).sum() == edges // 2
    assert left.truth.sum() == edges - edges // 2
    ours = given.knowledge.x[:, 0].long()
    for pairs, truth in ((given.knowledge.links.known, True), (given.knowledge.links.known_not, False)):
        assert pairs.shape[1] == edges // 2
        for u, v in ours[pairs].t().tolist():
            assert ((u, v) in linked(data)) is truth
    asked = set(given.subject_ids(given.knowledge.subjects.numpy()).tolist())
    assert asked == set(left.subjects.tolist())
    others = (secrets.asked & ~secrets.truth).sum()
    assert (left.asked & ~left.truth).sum() * left.sampling_weight == pytest.approx(
        others * secrets.sampling_weight
    )


def test_parts_are_those_of_the_clients(data, secrets):
    given, _ = granted(data, secrets)
    low, _ = ends(secrets.subjects, NODES)
    holder = {int(n): int(o) for n, o in zip(low, secrets.owners, strict=True)}
    for _, part in parts_of(given.knowledge):
        for node in part.x[:, 0].long().tolist():
            assert holder.get(node, part.client) == part.client


def test_the_sentence_says_what_is_known(data, secrets):
    nothing, half = (granted(data, secrets, share)[0].knowledge.sentence() for share in (0.0, 0.5))
    assert "no single edge" in nothing
    assert "of the edges and as many pairs that are none" in half


@pytest.mark.parametrize(
    ("plain", "says"), [(True, "knows which"), (False, "knows features and classes of all 60 nodes, which")]
)
def test_the_sentence_says_who_is_who_in_a_published_network(data, plain, says):
    """And tells no features and classes where there are none."""
    shown = data.clone()
    shown.plain = plain
    run = Publish(utility="structure", measures=("degree-distribution",))(
        shown, Defense(), np.random.SeedSequence(0), lambda message: True
    )
    told = granted(shown, run.secrets["edge-presence"])[0].knowledge.to("cpu").sentence()
    edges = data.edge_index.shape[1] // 2
    assert told.startswith(
        f"{says} published node each of 60 nodes is, and that {edges} edges are secret, no single"
    )
    assert "client" not in told


def test_the_sentence_about_clients_is_of_features_too(data, secrets):
    told = granted(data, secrets)[0].knowledge.sentence()
    assert told.startswith(
        "knows features and classes of all 60 nodes, which of the 3 clients holds which, and that"
    )
    assert "published node" not in told


def test_nodes_in_no_pair_in_question_are_known_too(data):
    """In a sparse sample most nodes are in no pair: the adversary's graph has them all the same."""
    bare = data.clone()
    bare.edge_index = data.edge_index[:, (data.edge_index < 12).all(0)]
    clients = clients_of(bare, partition(data, "metis", 3, 0))
    sparse = edge_presence(clients, NODES, np.random.SeedSequence(0), non_edges=4)
    given, _ = granted(bare, sparse)
    for _, part in parts_of(given.knowledge):
        held = set(clients[part.client].nodes.tolist())
        assert set(part.x[:, 0].long().tolist()) == held
    assert given.knowledge.links.counts.tolist() == [c.edges.shape[1] // 2 for c in clients]
