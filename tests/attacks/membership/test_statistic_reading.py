"""Membership from noisy sums by label."""

import numpy as np
import pytest
import torch
from scipy.special import ndtr

from gaudit.attacks.membership.statistic_reading import StatisticReading
from gaudit.audit.games.referee import judge
from gaudit.audit.statistics.metrics import auc
from gaudit.errors import InputError
from gaudit.targets.channel import Channel
from gaudit.targets.federated.label_statistic import GRID, Basis
from gaudit.targets.messages import CONDENSED_KIND, LABEL_STATISTIC_KIND, LABEL_SUMS_KIND
from gaudit.targets.models.propagation import Neighbourhood, gcn_operator
from support.adversaries import adversary

CLASSES, WIDTH, CLIENTS = 3, 40, 4
DIRECTIONS = torch.linalg.qr(torch.randn(120, WIDTH, generator=torch.Generator().manual_seed(0)))[0]
BASIS = Basis(DIRECTIONS, torch.zeros(WIDTH))


def told(world, members, deviation, seed=0, sealed=True):
    """What a run lets out whose statistic is of these members, dealt out to the clients."""
    operator = gcn_operator(world.data.edge_index, world.data.num_nodes)
    phi = BASIS.features(Neighbourhood(operator @ world.data.x, operator))
    rng, channel = np.random.default_rng(seed), Channel()
    parts = []
    for number in range(CLIENTS):
        own, part = members[number::CLIENTS], torch.zeros(CLASSES, WIDTH, dtype=torch.double)
        part.index_add_(0, world.data.y[own], phi[own])
        parts.append(part + torch.from_numpy(rng.normal(0, deviation / 2, part.shape)))
        sent = {"sums": (parts[-1] * GRID).round().long()}
        seal = ("server",) if sealed else ()
        channel.send(LABEL_SUMS_KIND, f"client:{number}", "server", -1, sent, seal)
    exact = torch.tensor(deviation, dtype=torch.double)
    content = {"sums": torch.stack(parts).sum(0), "deviation": exact, "clients": torch.tensor(CLIENTS)}
    basis = {"basis": BASIS.directions, "mean": BASIS.mean}
    channel.send(LABEL_STATISTIC_KIND, "server", "clients", -1, {**content, **basis})
    return channel.transcript


def judged(world, transcript, observer="server"):
    given = world.secrets.grant(world.data, adversary(auditor=True), np.random.SeedSequence(0))[0]
    scores = StatisticReading()(transcript.seen_by(observer), given.knowledge, np.random.SeedSequence(0))
    return judge(scores, given, world.secrets)


def found(world, transcript, observer="server"):
    one = judged(world, transcript, observer)
    return auc(one.truth, one.score)


def test_planted_members_are_found_in_sums_without_noise(world):
    assert found(world, told(world, world.members, 1e-3)) > 0.9


def test_noise_hides_as_much_as_theory_says(make_world):
    """The mean over worlds is below the bound of swaps in the worst case, and falls with the noise."""
    means = []
    for deviation in (0.3, 1.0, 8.0):
        aucs = [found(w, told(w, w.members, deviation, s)) for s, w in enumerate(map(make_world, range(8)))]
        means.append(np.mean(aucs))
        assert means[-1] - 4 * np.std(aucs) / np.sqrt(8) < ndtr(1 / deviation)
    assert means[0] > means[1] + 0.03 > means[2] + 0.06


def test_parts_that_are_seen_one_by_one_tell_more(make_world):
    worlds = [make_world(seed) for seed in range(4)]
    sealed, bare = (
        np.mean([found(w, told(w, w.members, 1.0, s, sealed=seal)) for s, w in enumerate(worlds)])
        for seal in (True, False)
    )
    assert bare > sealed + 0.02


def test_a_client_takes_its_own_part_off(world):
    """Of a member of its own a client learns nothing from what is left."""
    transcript = told(world, world.members, 1e-3)
    own = {int(node) for node in world.members[0::CLIENTS]}
    one = judged(world, transcript, "client:0")
    mine = np.array([int(node) in own for node in one.subjects])
    rest, others = one.score[one.truth & ~mine], one.score[~one.truth]
    assert (rest[:, None] > others).mean() > 0.8
    assert (one.score[mine][:, None] > others).mean() < 0.65


def test_null_sums_of_other_nodes_are_chance(make_world, at_chance):
    worlds = [make_world(seed) for seed in range(20)]
    at_chance([judged(w, told(w, w.strangers, 0.5)) for w in worlds])


def test_null_blind_baseline_is_chance(world):
    one = world.judged_blind(StatisticReading())
    assert auc(one.truth, one.score) == pytest.approx(0.5)


def test_who_sees_no_statistic_cannot_mount_it(world):
    channel = Channel()
    channel.send(CONDENSED_KIND, "server", "public", 1, world.release(world.members).tensors())
    with pytest.raises(InputError, match="noisy sums of features by label"):
        judged(world, channel.transcript)
