"""Who holds whom from condensed rows, from embeddings of them, and from what training on them spans."""

import numpy as np
import pytest
import torch

from gaudit.attacks.ownership.condensed_ownership import CondensedOwnership, likeness, solved_rows
from gaudit.errors import InputError
from gaudit.targets.channel import Channel
from gaudit.targets.messages import (
    BOUNDARY_ROWS_KIND,
    CONDENSED_ROWS_KIND,
    CONDENSED_UPLOAD_KIND,
    EMBEDDINGS_KIND,
    GLOBAL_KIND,
    STATISTICS_KIND,
)

SEED = np.random.SeedSequence(0)


def condensed(federation, client):
    """What stands for a client: the aggregated rows of some of its nodes, and what all rows share."""
    operator = torch.zeros(60, 60)
    operator[tuple(federation.data.edge_index)] = 1
    operator += torch.eye(60)
    scale = operator.sum(1).rsqrt()
    return 3 + 0.1 * (scale[:, None] * operator * scale @ federation.data.x)[federation.owner == client]


def rows(federation, client):
    x = condensed(federation, client)
    return {"nodes": torch.arange(len(x)), "x": x, "y": torch.zeros(len(x), dtype=torch.long)}


def share_named(federation, scores, of):
    asked = torch.isin(federation.owner, torch.tensor(of))
    return float((federation.table(scores).argmax(1) == federation.owner)[asked].double().mean())


def test_likeness_is_the_largest_cosine_of_centred_rows():
    rng = np.random.default_rng(0)
    x, one, other = rng.normal(size=(5, 4)), rng.normal(size=(3, 4)), rng.normal(size=(2, 4))
    centre = np.vstack([one, other]).mean(0)
    expected = np.empty((5, 2))
    for v, row in enumerate(x - x.mean(0)):
        for k, told in enumerate((one - centre, other - centre)):
            expected[v, k] = max(row @ t / np.linalg.norm(row) / np.linalg.norm(t) for t in told)
    tensors = {"a": torch.from_numpy(one), "b": torch.from_numpy(other)}
    np.testing.assert_allclose(likeness(torch.from_numpy(x), tensors).numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("kind", [CONDENSED_ROWS_KIND, CONDENSED_UPLOAD_KIND])
def test_a_receiver_names_owners(federation, kind):
    channel, receiver = Channel(), "client:0" if kind == CONDENSED_ROWS_KIND else "server"
    for client in range(3):
        if f"client:{client}" != receiver:
            channel.send(kind, f"client:{client}", receiver, 0, rows(federation, client))
    scores = CondensedOwnership()(channel.transcript.seen_by(receiver), federation.knowledge(), SEED)
    assert share_named(federation, scores, [1, 2]) > 0.9


def test_of_a_client_that_nobody_heard_of_nothing_is_known(federation):
    channel = Channel()
    channel.send(CONDENSED_ROWS_KIND, "client:1", "client:0", 0, rows(federation, 1))
    channel.send(CONDENSED_ROWS_KIND, "client:0", "client:1", 0, rows(federation, 0))
    scores = CondensedOwnership()(channel.transcript.seen_by("client:0"), federation.knowledge(), SEED)
    table = federation.table(scores)
    assert len(table[:, [0, 2]].unique()) == 1
    assert len(table[:, 1].unique()) > 20


def embedded(federation, rounds):
    """Embeddings of a client's condensed rows under other common weights in each round, and the rows."""
    channel, coins = Channel(), torch.Generator().manual_seed(0)
    true = condensed(federation, 1)
    for round_ in range(rounds):
        weights = {"w1": torch.randn(150, 16, generator=coins), "b1": torch.randn(16, generator=coins)}
        channel.send(GLOBAL_KIND, "server", "clients", round_, weights)
        told = true @ weights["w1"] + weights["b1"]
        statistics = {"norms": told.norm(dim=1), "prototype": told.mean(0)}
        channel.send(STATISTICS_KIND, "client:1", "client:0", round_, statistics)
        chosen = torch.arange(len(true)) if round_ else torch.arange(5)
        content = {"nodes": chosen, "embeddings": told[chosen]}
        channel.send(EMBEDDINGS_KIND, "client:1", "client:0", round_, content)
    return channel.transcript, true


def test_embeddings_give_rows_away_exactly_once_there_are_enough(federation):
    transcript, true = embedded(federation, 11)  # 10 rounds of 16 for most rows, of 150 features
    found = solved_rows(transcript.seen_by("client:0"), "client:1", 150)
    torch.testing.assert_close(found, true, atol=1e-2, rtol=1e-2)
    few, true = embedded(federation, 4)
    part = solved_rows(few.seen_by("client:0"), "client:1", 150)
    assert float((part - true).norm()) > 0.1 * float(true.norm())


def test_embeddings_name_owners_where_no_rows_are_sent(federation):
    transcript, _ = embedded(federation, 11)
    scores = CondensedOwnership()(transcript.seen_by("client:0"), federation.knowledge(), SEED)
    own = federation.table(scores)[:, 1]
    assert float(own[federation.owner == 1].mean()) > float(own[federation.owner == 2].mean()) + 0.1


def test_a_server_reads_what_updates_span(federation):
    scores = CondensedOwnership()(federation.uploads(rounds=6).seen_by("server"), federation.knowledge(), SEED)
    assert share_named(federation, scores, [0, 1, 2]) > 0.8


def test_misshapen_embeddings_are_refused(federation):
    channel = Channel()
    channel.send(GLOBAL_KIND, "server", "clients", 0, {"w1": torch.ones(150, 4), "b1": torch.ones(4)})
    content = {"nodes": torch.arange(3), "embeddings": torch.ones(2, 4)}
    channel.send(EMBEDDINGS_KIND, "client:1", "client:0", 0, content)
    with pytest.raises(InputError, match=r"must hold finite embeddings \[3, 4\]"):
        CondensedOwnership()(channel.transcript.seen_by("client:0"), federation.knowledge(), SEED)


def boundary(federation, client, of):
    """Real rows of some of a client's nodes, as BNS-GCN sends them."""
    nodes = (federation.owner == client).nonzero().flatten()[:of]
    return {"nodes": nodes, "x": federation.data.x[nodes], "degree": torch.ones(len(nodes))}


def test_real_rows_name_exactly_the_nodes_that_were_sent(federation):
    channel = Channel()
    for client in (1, 2):
        channel.send(BOUNDARY_ROWS_KIND, f"client:{client}", "client:0", 0, boundary(federation, client, 8))
    scores = CondensedOwnership()(channel.transcript.seen_by("client:0"), federation.knowledge(), SEED)
    table = federation.table(scores)
    named = [boundary(federation, client, 8)["nodes"] for client in (1, 2)]
    sent = torch.cat([table[named[0], 1], table[named[1], 2]])
    others = torch.ones(table.shape, dtype=torch.bool)
    others[named[0], 1] = others[named[1], 2] = False
    assert float(sent.min()) > float(table[others].max())


def test_real_rows_of_nobody_asked_about_tell_nothing(federation):
    """Null: rows that have nothing to do with the clients' nodes."""
    torch.manual_seed(0)
    channel = Channel()
    for client in (1, 2):
        x = torch.randn(20, federation.data.x.shape[1])
        body = {"nodes": torch.arange(20), "x": x, "degree": torch.ones(20)}
        channel.send(BOUNDARY_ROWS_KIND, f"client:{client}", "client:0", 0, body)
    scores = CondensedOwnership()(channel.transcript.seen_by("client:0"), federation.knowledge(), SEED)
    assert abs(share_named(federation, scores, [1, 2]) - 0.5) < 0.25
