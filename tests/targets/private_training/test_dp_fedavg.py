"""DP-FedAvg: what a client can change, who takes part, how much noise there is, and what is promised of it.

Statistical tests have a level of 0.001 each; their seeds are fixed.
"""

import math
from itertools import combinations, pairwise

import numpy as np
import pytest
import torch
from opacus.accountants import RDPAccountant
from opacus.accountants.utils import get_noise_multiplier
from scipy.stats import binom, chi2, chisquare, kstest

from gaudit.audit.claims.claim_check import check_claim
from gaudit.audit.claims.round_claims import FederatedRounds
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.mechanisms.clipping import clipped, norm_of
from gaudit.targets.defense import Defense
from gaudit.targets.federated.fedavg import FedAvg
from gaudit.targets.private_training.dp_fedavg import DPFedAvg
from gaudit.targets.private_training.noisy_rounds import NoisyRound, noisy_step
from support.transcripts import same_headers

LEVEL = 1e-3
SMALL = {"clients": 3, "hidden": 4, "rounds": 3, "local_epochs": 3, "lr": 0.05}
MANY = {"clients": 8, "hidden": 2, "rounds": 50, "local_epochs": 1, "partition": "louvain", "split": "60/20/20"}


def ran(target, seed=0):
    return target(load_dataset("karate"), Defense(), np.random.SeedSequence(seed), lambda message: True)


def sent(run, kind):
    return [m for m in run.transcript.messages if m.kind == kind]


def less(one, other):
    return {name: tensor.double() - other[name].double() for name, tensor in one.items()}


def flat(change):
    return torch.cat([change[name].flatten() for name in sorted(change)])


def steps_of(run, settings):
    """The common step of each round and the sum of what those who took part sent, flat."""
    models = [m.tensors for m in sent(run, "global-model")]
    found = []
    for t, (before, after) in enumerate(pairwise(models)):
        updates = [flat(less(m.tensors, before)) for m in sent(run, "update") if m.round == t]
        total = sum(updates, torch.zeros_like(flat(less(after, before))))
        found.append((flat(less(after, before)), total / (settings.rate * settings.clients)))
    return found


def opacus_epsilon(multiplier, rate, rounds, delta):
    accountant = RDPAccountant()
    accountant.history = [(multiplier, rate, rounds)]
    return accountant.get_epsilon(delta)


# --- what it computes


@pytest.mark.parametrize("optimiser", ["adam", "sgd"])
def test_without_noise_and_clipping_it_is_federated_averaging(optimiser):
    private = ran(DPFedAvg(epsilon=None, clip=1e9, optimiser=optimiser, **SMALL))
    plain = ran(FedAvg(publish=("model",), optimiser=optimiser, **SMALL))
    for one, other in same_headers(private.transcript, plain.transcript):
        for name, tensor in other.tensors.items():
            torch.testing.assert_close(one.tensors[name], tensor, atol=1e-5, rtol=0)
    begin, *_, end = (m.tensors for m in sent(plain, "global-model"))
    assert norm_of(less(end, begin)) > 0.1  # there was something to agree on
    assert private.utility.test == plain.utility.test


def test_a_huge_epsilon_comes_as_near_as_its_noise_allows():
    """Five deviations of the noise: one weight of a run in two million would be farther off."""
    target = DPFedAvg(epsilon=1e9, clip=0.05, optimiser="sgd", **SMALL | {"lr": 1e-2, "rounds": 1})
    private, plain = ran(target), ran(FedAvg(optimiser="sgd", **SMALL | {"lr": 1e-2, "rounds": 1}))
    how = target.settings.round_()
    ends = [sent(run, "global-model")[-1].tensors for run in (private, plain)]
    assert how.deviation < 2e-4
    assert float(flat(less(*ends)).abs().max()) < 5 * how.deviation + 1e-6
    updates, begin = sent(plain, "update"), sent(plain, "global-model")[0].tensors
    assert all(norm_of(less(m.tensors, begin)) < 0.05 for m in updates)  # none was clipped


def test_uploads_are_clipped_as_a_whole_by_the_client():
    settings = {"clip": 0.3, "epsilon": 1e9, **SMALL}
    run, longer = ran(DPFedAvg(**settings)), ran(DPFedAvg(**settings | {"clip": 1e9}))
    begin = sent(run, "global-model")[0].tensors
    for short, whole in zip(sent(run, "update")[:3], sent(longer, "update")[:3], strict=True):
        one, other = flat(less(short.tensors, begin)), flat(less(whole.tensors, begin))
        assert float(other.norm()) > 0.31
        assert float(one.norm()) == pytest.approx(0.3, rel=1e-5)
        torch.testing.assert_close(one, other * (0.3 / other.norm()), atol=1e-6, rtol=0)


def changes(count, seed, scale):
    rng = np.random.default_rng(seed)
    return [
        {"w": torch.from_numpy(rng.normal(0, scale, (3, 2))), "b": torch.from_numpy(rng.normal(0, scale, 2))}
        for _ in range(count)
    ]


@pytest.mark.parametrize("scale", [1e-3, 0.3, 50.0])
def test_a_client_changes_the_sum_by_at_most_the_clip(scale):
    """Without noise, for all sets of up to six clients and each client that may be missing."""
    how, clients = NoisyRound(clip=0.7, multiplier=0.0, expected=4.0), changes(6, 0, scale)
    like, most = clients[0], 0.0
    sums = {
        chosen: flat(noisy_step([clients[i] for i in chosen], like, how, np.random.default_rng(0)))
        for size in range(7)
        for chosen in combinations(range(6), size)
    }
    for chosen, total in sums.items():
        for gone in chosen:
            apart = total - sums[tuple(i for i in chosen if i != gone)]
            most = max(most, float(apart.norm()) * how.expected)
    assert most <= 0.7 * (1 + 1e-12)
    if scale == 50:
        assert most == pytest.approx(0.7)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_change_that_is_no_number_counts_as_none(wrong):
    (change,) = changes(1, 0, 1.0)
    change["w"][0, 0] = wrong
    assert norm_of(clipped(change, 1.0)) == 0


def test_a_change_within_the_clip_stays_as_it_is():
    (change,) = changes(1, 0, 1e-3)
    assert all(torch.equal(part, change[name]) for name, part in clipped(change, 1.0).items())


# --- who takes part


@pytest.mark.parametrize("rate", [0.2, 0.7])
def test_each_client_takes_part_alone_at_the_rate(rate):
    """The share of all clients in all rounds, of each client, and how many come to a round."""
    run = ran(DPFedAvg(rate=rate, epsilon=1e6, **MANY))
    present = np.zeros((50, 8), dtype=int)
    for message in sent(run, "update"):
        present[message.round, int(message.sender.removeprefix("client:"))] += 1
    assert present.max() == 1
    low, high = binom.ppf([LEVEL / 2, 1 - LEVEL / 2], 400, rate)
    assert low <= present.sum() <= high
    low, high = binom.ppf([LEVEL / 16, 1 - LEVEL / 16], 50, rate)
    assert low <= present.sum(0).min() <= present.sum(0).max() <= high
    seen = np.bincount(present.sum(1), minlength=9)
    expected = 50 * binom.pmf(np.arange(9), 8, rate)
    few = expected < 5
    seen, expected = [*seen[~few], seen[few].sum()], [*expected[~few], expected[few].sum()]
    assert chisquare(seen, expected).pvalue > LEVEL


def test_rounds_in_which_nobody_comes_are_noise():
    target = DPFedAvg(rate=0.01, epsilon=20.0, **MANY | {"rounds": 4})
    run = ran(target)
    assert not sent(run, "update")
    for step, _ in steps_of(run, target.settings):
        assert 0.5 < float(step.std()) / target.settings.round_().deviation < 1.5


def test_others_do_not_see_who_takes_part():
    run = ran(DPFedAvg(rate=0.5, epsilon=1e6, **MANY))
    senders = {m.sender for m in run.transcript.seen_by("client:0").messages}
    assert senders <= {"server", "client:0"}
    assert len({m.sender for m in run.transcript.seen_by("server").messages}) == 9


# --- the noise


@pytest.mark.parametrize("rate", [0.4, 1.0])
def test_noise_in_the_common_weights_is_as_large_as_promised(rate):
    """Of a whole run: the chi-square law of its square, and normal by Kolmogorov and Smirnov."""
    target = DPFedAvg(rate=rate, epsilon=60.0, delta=1e-3, **MANY)
    run, how = ran(target), target.settings.round_()
    noise = torch.cat([step - mean for step, mean in steps_of(run, target.settings)]) / how.deviation
    low, high = chi2.ppf([LEVEL / 2, 1 - LEVEL / 2], len(noise))
    assert len(noise) > 3000
    assert low <= float(noise.square().sum()) <= high
    assert kstest(noise.numpy(), "norm").pvalue > LEVEL
    assert how.deviation == pytest.approx(how.multiplier * 1.0 / (rate * 8))


@pytest.mark.parametrize(
    ("epsilon", "delta", "rate", "rounds"), [(8, 1e-2, 1, 50), (2, 1e-5, 0.1, 100), (1, 1e-6, 0.02, 300)]
)
def test_noise_agrees_with_opacus(epsilon, delta, rate, rounds):
    target = DPFedAvg(epsilon=epsilon, delta=delta, rate=rate, rounds=rounds)
    multiplier = target.settings.round_().multiplier
    theirs = get_noise_multiplier(
        target_epsilon=epsilon,
        target_delta=delta,
        sample_rate=rate,
        steps=rounds,
        accountant="rdp",
        epsilon_tolerance=1e-4,
    )
    assert multiplier == pytest.approx(theirs, rel=0.01)
    assert multiplier <= theirs * 1.005  # chords between whole orders cost that much
    assert opacus_epsilon(multiplier, rate, rounds, delta) == pytest.approx(epsilon, rel=0.01)


def test_drawing_clients_at_random_needs_less_noise_for_each():
    multipliers = [DPFedAvg(rate=r, epsilon=2, delta=1e-5).settings.round_().multiplier for r in (1.0, 0.3, 0.03)]
    assert multipliers[0] > multipliers[1] > multipliers[2]


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-3, 1e-9), (1e-4, 1e-5)])
def test_an_epsilon_out_of_reach_is_refused_in_one_line(epsilon, delta):
    with pytest.raises(InputError, match="no noise reaches epsilon") as caught:
        ran(DPFedAvg(epsilon=epsilon, delta=delta, **SMALL))
    assert "\n" not in str(caught.value)


# --- what is promised, and said


def test_the_promise_is_for_one_client_with_or_without_anything_to_give():
    target = DPFedAvg(epsilon=3, **SMALL)
    promise = target.settings.promise(target.settings.round_())
    assert (promise.unit, promise.adjacency, promise.model) == ("client", "zero-out", "central")
    assert (float(promise.epsilon), promise.delta) == (3, 0.01)
    assert promise.delta < 1 / 3
    assert any("number of clients" in known for known in promise.public)
    assert any("partition" in known for known in promise.public)
    run = ran(target)
    notes = run.notes
    assert run.promise == promise
    assert promise.sentence() in notes
    assert any("server is trusted" in note for note in notes)
    assert any("adds noise of deviation" in note for note in notes)


def test_what_is_not_promised_is_said():
    nothing = ran(DPFedAvg(epsilon=None, **SMALL))
    assert nothing.promise is None
    assert any("no client is promised anything" in note for note in nothing.notes)
    large = ran(DPFedAvg(delta=0.5, publish=("model", "posteriors"), **SMALL)).notes
    assert any("delta 0.5 is not below 1 / 3 clients" in note for note in large)
    assert any("posteriors" in note and "outside of the promise" in note for note in large)
    assert not any("posteriors" in note for note in ran(DPFedAvg(**SMALL)).notes)
    assert "posteriors-full" not in DPFedAvg().sent()


def test_same_seed_same_noise():
    def ends(seed):
        return flat(dict(sent(ran(DPFedAvg(rate=0.5, epsilon=1e6, **SMALL), seed), "model")[0].tensors))

    one, again, other = ends(0), ends(0), ends(1)
    assert torch.equal(one, again)
    assert not torch.allclose(one, other)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"upload": "gradients"}, "upload"),
        ({"aggregation": "weighted"}, "aggregation"),
        ({"rate": 0}, "rate"),
        ({"rate": 1.1}, "rate"),
        ({"clip": 0}, "clip"),
        ({"epsilon": 0}, "epsilon"),
        ({"delta": 1}, "delta"),
    ],
)
def test_settings_are_checked(settings, name):
    with pytest.raises(InputError, match=name):
        DPFedAvg(**settings)


def test_presets():
    data = load_dataset("karate")
    assert DPFedAvg(**DPFedAvg.preset("quick", data)).settings.rounds == 20
    assert DPFedAvg.preset("paper", data) == {}
    with pytest.raises(InputError, match="preset"):
        DPFedAvg.preset("slow", data)


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_most_of_the_claim_is_found_to_be_given_away(epsilon):
    check = check_claim(FederatedRounds(epsilon=epsilon), 1000, 0, level=0.99)
    assert 0.6 * epsilon <= check.measured.low <= epsilon


def test_half_the_noise_is_refuted():
    mechanism = FederatedRounds(epsilon=1.0)
    mechanism.noise = mechanism.noise / 2
    assert check_claim(mechanism, 1000, 0, level=0.99).refuted
