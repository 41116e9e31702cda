"""A private teacher: labels enter through one noisy sum, which promises what it says, and through nothing else."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import chi2, norm

from gaudit.audit.conformance.cheap_settings import cheap
from gaudit.audit.conformance.fingerprint import fingerprint
from gaudit.audit.conformance.named import ours
from gaudit.defenses.training import private_teacher
from gaudit.defenses.training.private_teacher import PrivateTeacher
from gaudit.defenses.training.teacher import Statistic, teacher_of
from gaudit.errors import InputError
from gaudit.randomness import branch
from gaudit.registry import find
from gaudit.targets.channel import Channel
from gaudit.targets.federated.label_statistic import Summing, common_basis
from gaudit.targets.federated.neighbour_exchange import exchange
from gaudit.targets.messages import (
    LABEL_STATISTIC_KIND,
    LABEL_SUMS_KIND,
    LABELLED_COUNT_KIND,
    SELF_TRAINING_GRADIENTS_KIND,
)
from gaudit.targets.partition import partition
from support.sixty_nodes import sixty_nodes

ASKING = [name for name in ours("targets") if find("targets", name).asks_for_labels]
STATISTIC = (LABEL_SUMS_KIND, LABEL_STATISTIC_KIND)
SEED = np.random.SeedSequence(5)


def made(target, **settings):
    """A target with cheap settings, whose clients and split do not follow from labels."""
    fields = find("targets", target).Settings.model_fields
    apart = {"partition": "metis", "split": "dataset", "clients": 2, **settings}
    known = {name: value for name, value in apart.items() if name in fields}
    return find("targets", target)(**{**cheap(find("targets", target).Settings), **known})


def told(target, data, defense, fixed, monkeypatch):
    """What a run sends beside the statistic, and what the statistic is; with ``fixed`` all go on from that one."""
    real, seen = private_teacher.label_statistic, []

    def held(*given):
        seen.append(real(*given))
        return seen[0] if fixed is None else fixed

    monkeypatch.setattr(private_teacher, "label_statistic", held)
    run = target(data, defense, SEED, lambda message: True)
    monkeypatch.undo()
    sent = [fingerprint(m) for m in run.transcript.messages if m.kind not in STATISTIC]
    return sent, seen[0] if seen else None


def others():
    """The graph with a member's label changed, with a member less, and with another node in its place."""
    data = sixty_nodes()
    members, rest = data.train_mask.nonzero().flatten(), (~data.train_mask & ~data.val_mask & ~data.test_mask)
    label, fewer = data.clone(), data.clone()
    label.y = data.y.clone()
    label.y[members[0]] = (data.y[members[0]] + 1) % 3
    fewer.train_mask = data.train_mask.clone()
    fewer.train_mask[members[1]] = False
    moved = fewer.clone()
    moved.train_mask = fewer.train_mask.clone()
    moved.train_mask[rest.nonzero().flatten()[:1]] = True
    return data, (label, fewer, moved)


@pytest.mark.parametrize("target", ASKING)
def test_guarantee_nothing_but_the_statistic_reads_a_label(target, monkeypatch):
    """With the statistic held fixed every other message is the same to the last bit, whoever is a member."""
    data, neighbours = others()
    starts = ("noise", "real") if "init" in find("targets", target).Settings.model_fields else (None,)
    for start in starts:
        settings = {} if start is None else {"init": start}
        before, fixed = told(made(target, **settings), data, PrivateTeacher(), None, monkeypatch)
        assert before
        for other in neighbours:
            after, statistic = told(made(target, **settings), other, PrivateTeacher(), fixed, monkeypatch)
            assert after == before
            assert not torch.equal(statistic, fixed)  # the label did enter there


@pytest.mark.parametrize("target", ["fedgc", "fedgm", "fedc4", "fedavg", "sos"])
def test_a_client_whose_only_label_is_gone_sends_the_same(target, monkeypatch):
    """A run that stopped for want of that label would tell it."""
    data = sixty_nodes()
    owner = partition(data, "metis", 2, branch(SEED, "partition"), beta=1.0).owner
    one, none = data.clone(), data.clone()
    none.train_mask = data.train_mask & (owner != 0)
    one.train_mask = none.train_mask.clone()
    one.train_mask[(data.train_mask & (owner == 0)).nonzero()[0]] = True
    before, fixed = told(made(target), one, PrivateTeacher(), None, monkeypatch)
    after, _ = told(made(target), none, PrivateTeacher(), fixed, monkeypatch)
    assert after == before
    with pytest.raises(InputError, match="client:0 holds no labelled node"):
        told(made(target), none, find("defenses", "none")(), None, monkeypatch)


def test_the_guarantees_test_can_fail(monkeypatch):
    """Without the defense a member's label shows in what is sent."""
    data, (label, *_) = others()
    (before, _), (after, _) = (
        told(made("gcond"), d, find("defenses", "none")(), None, monkeypatch) for d in (data, label)
    )
    assert before != after


def test_no_self_training_and_no_count_of_true_labels():
    kinds = {t.kind for t in run_of("fedgc").transcript.tallies.values()}
    assert not kinds & {SELF_TRAINING_GRADIENTS_KIND, LABELLED_COUNT_KIND}


def run_of(target, **settings):
    return made(target)(sixty_nodes(), PrivateTeacher(**settings), SEED, lambda message: True)


def test_sealed_parts_are_read_by_nobody_and_the_sum_is_told():
    transcript = run_of("fedgc", sealed=True).transcript
    assert not transcript.seen_by("server").of_kind(LABEL_SUMS_KIND)
    (whole,) = transcript.seen_by("client:0").of_kind(LABEL_STATISTIC_KIND)
    parts = [m.tensors["sums"] for m in transcript.messages if m.kind == LABEL_SUMS_KIND]
    assert torch.equal(torch.stack(parts).sum(0).double() / 2**20, whole.tensors["sums"])
    assert len(run_of("fedgc", sealed=False).transcript.seen_by("server").of_kind(LABEL_SUMS_KIND)) == 2


def test_an_owner_alone_sends_nothing_of_it():
    transcript = run_of("gcond").transcript
    assert {m.kind for m in transcript.messages if m.sender != m.receiver} == {"condensed-graph"}
    assert not transcript.seen_by("public").of_kind(LABEL_STATISTIC_KIND)


@pytest.mark.parametrize(
    ("settings", "each"), [({}, 1), ({"curious": 0}, 1 / 2), ({"sealed": False}, 1), ({"curious": 7}, 1)]
)
def test_each_share_is_as_large_as_it_must_be(settings, each):
    """Of two clients: a curious one takes its own share off, and is met by all of the noise."""
    noise = PrivateTeacher(**settings).noise
    assert noise.share(2) ** 2 == pytest.approx(each * noise.deviation**2)
    assert noise.total(2) ** 2 == pytest.approx(2 * each * noise.deviation**2)


def test_promise_says_what_is_hidden():
    one, other = PrivateTeacher(epsilon=2.0), PrivateTeacher(epsilon=2.0, neighbours="replace", sealed=False)
    assert (one.promise().unit, one.promise().adjacency, one.promise().model) == (
        "node-label",
        "zero-out",
        "central",
    )
    assert (other.promise().adjacency, other.promise().model) == ("replace", "local")
    assert other.noise.deviation == pytest.approx(math.sqrt(2) * one.noise.deviation)
    assert any("validation" in known for known in one.promise().public)
    assert one.curve().epsilon(1e-5) == pytest.approx(2.0)
    assert 1 / one.noise.deviation == pytest.approx(one.curve().distance)


def taught(federation, seed=0, **settings):
    def read(clients):
        return exchange(clients, 0, 240, Channel(), False)

    defense = PrivateTeacher(**settings)
    return defense.on_labels(federation.clients, read, Channel(), np.random.SeedSequence(seed))


def test_members_and_others_are_drawn_alike(federation):
    """A hypergeometric test over seeds: of the drawn nodes as large a share are members as of all."""
    drawn = [torch.cat([c.train for c in taught(federation, seed, epsilon=1.0)]) for seed in range(10)]
    members = torch.cat([c.train for c in federation.clients])
    mine, all_ = (sum(float(d[m].float().sum()) for d in drawn) for m in (members, torch.ones_like(members)))
    n, k = 10 * len(members), 10 * int(members.sum())
    expected, spread = all_ * k / n, math.sqrt(all_ * k / n * (1 - k / n) * (n - all_) / (n - 1))
    assert abs(mine - expected) < 4 * spread


def test_labels_of_all_but_those_who_judge_are_guesses(federation):
    for before, after in zip(federation.clients, taught(federation, epsilon=8.0), strict=True):
        asked = before.val | before.test
        assert torch.equal(after.y[asked], before.y[asked])
        assert torch.equal(after.y[~asked], after.y_train[~asked])
        assert after.labelled != int(after.train.sum())


def test_many_labels_teach_and_no_label_teaches_nothing(federation):
    """From hardly any noise to so much that guesses are at chance, up to how classes meet clusters."""

    def right(**settings):
        found = taught(federation, **settings)
        return float(torch.cat([c.y_train[c.test] == c.y[c.test] for c in found]).float().mean())

    assert right(epsilon=500.0) > 0.75
    assert right(epsilon=500.0) > np.mean([right(epsilon=0.02, seed=s) for s in range(4)]) + 0.15


def test_the_seed_decides(federation):
    one, again, other = (taught(federation, seed, epsilon=4.0) for seed in (0, 0, 1))
    for a, b, c in zip(one, again, other, strict=True):
        assert torch.equal(a.y_train, b.y_train)
        assert torch.equal(a.train, b.train)
        assert not torch.equal(a.train, c.train)


def test_teacher_is_chosen_by_the_statistic():
    """Clusters where it is mostly noise, else a classifier, which fits the moments that it was given."""
    rng = np.random.default_rng(0)
    means = np.eye(3, 8) * 0.8
    y = rng.integers(0, 3, 600)
    phi = torch.nn.functional.normalize(torch.from_numpy(means[y] + 0.25 * rng.normal(size=(600, 8))), dim=1)
    sums = torch.zeros(3, 8, dtype=torch.double).index_add_(0, torch.from_numpy(y[:60]), phi[:60])
    adding = Summing([None], Channel())
    noisy, clear = (teacher_of(Statistic(sums, deviation), [phi], adding) for deviation in (20.0, 0.01))
    assert (noisy.how, clear.how) == ("clusters", "classifier")
    assert float((clear.posteriors(phi).argmax(1).numpy() == y).mean()) > 0.9
    assert float(clear.labels.sum()) == pytest.approx(60, rel=0.15)


def test_basis_is_that_of_all_rows_together(federation):
    """Subspace iteration by parts finds the leading principal directions of the whole."""
    near = exchange(federation.clients, 0, 240, Channel(), False)
    adding = Summing(federation.clients, Channel())
    basis = common_basis(federation.clients, near, adding, 4, np.random.SeedSequence(0))
    having = sum((c.x != 0).sum(0) for c in federation.clients)
    weight = np.log((1 + 240) / (1 + having.numpy())) + 1
    rows = torch.cat([n.second @ n.rows.to_dense() for n in near]).double().numpy() * weight
    rows -= rows.mean(0)
    values = np.linalg.svd(rows, compute_uv=False)
    reached = rows @ (basis.directions.double().numpy() / weight[:, None])
    assert np.square(reached).sum() == pytest.approx(np.square(values[:4]).sum(), rel=1e-3)
    phi = torch.cat([basis.features(n) for n in near])
    assert torch.allclose(phi.norm(dim=1), torch.ones(240, dtype=torch.double))


def test_noise_of_the_sum_is_normal_with_the_promised_variance(federation):
    """The statistic of no labels at all, 40 times: a chi-square test of its variance at 0.1 %."""
    nobody = [replace(c, train=torch.zeros_like(c.train)) for c in federation.clients]
    defense, values = PrivateTeacher(epsilon=4.0), []
    near = exchange(nobody, 0, 240, Channel(), False)
    adding = Summing(nobody, Channel())
    basis = common_basis(nobody, near, adding, 8, np.random.SeedSequence(0))
    features = [basis.features(n) for n in near]
    for seed in range(40):
        rng = np.random.default_rng(seed)
        found = private_teacher.label_statistic(
            nobody, features, basis, defense.noise, Channel(retain=lambda m: False), lambda c, rng=rng: rng
        )
        values.append(found.numpy().ravel() / defense.noise.total(2))
    whole = np.concatenate(values)
    low, high = chi2.ppf([5e-4, 1 - 5e-4], len(whole)) / len(whole)
    assert low < np.square(whole).mean() < high
    assert abs((whole > 1).mean() - norm.sf(1)) < 4 * math.sqrt(norm.sf(1) / len(whole))


@pytest.mark.parametrize(
    "wrong", [{"epsilon": 0}, {"epsilon": 2000}, {"delta": 1}, {"share": 0}, {"width": 0}, {"curious": -1}]
)
def test_settings_are_checked(wrong):
    with pytest.raises(InputError):
        PrivateTeacher(**wrong)


def test_features_too_large_to_square_are_said_in_one_line():
    data = sixty_nodes()
    data.x = data.x * 1e19
    with pytest.raises(InputError, match=r"features are too large.*divide them"):
        made("fedgc")(data, PrivateTeacher(), SEED, lambda message: True)
