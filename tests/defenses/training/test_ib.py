"""Local graph transformation by the information bottleneck."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch.distributions import Normal, kl_divergence

from gaudit.defenses.training.bottleneck import InformationBottleneck
from gaudit.defenses.training.bottleneck_encoder import Encoder, compression
from gaudit.errors import InputError
from gaudit.targets.defense import SharedModel
from gaudit.targets.messages import ENCODER_KIND
from gaudit.targets.models.encoder import encoded
from gaudit.targets.models.propagation import Factor, gcn_operator

FAST = {"epochs": 15, "lr": 0.01}


def path(client, kept):
    """Mean and deviation of z by the encoder that a client keeps."""
    encoder = Encoder(client.x.shape[1])
    encoder.load_state_dict({name: kept[ENCODER_KIND][name] for name in ("w1", "w2")})
    with torch.no_grad():
        return encoder(Factor.of(client.x), Factor.of(gcn_operator(client.edges, len(client.nodes))))


def test_guarantee_features_are_standardised_per_client(federation, defended):
    for client in federation.clients:
        z = defended(InformationBottleneck(**FAST), client, federation.shared)[0].x
        assert z.shape == client.x.shape
        torch.testing.assert_close(z.mean(0), torch.zeros(z.shape[1]), atol=1e-4, rtol=0)
        torch.testing.assert_close(z.std(0, unbiased=False), torch.ones(z.shape[1]), atol=1e-4, rtol=0)


def test_guarantee_compression_is_the_divergence_from_the_standard_normal():
    draw = torch.Generator().manual_seed(0)
    mean, deviation = torch.randn(9, 4, generator=draw), torch.rand(9, 4, generator=draw) + 0.01
    expected = kl_divergence(Normal(mean, deviation), Normal(0.0, 1.0)).sum(1).mean()
    torch.testing.assert_close(compression(mean, deviation), expected)
    assert float(compression(torch.zeros(3, 2), torch.ones(3, 2))) == 0


def test_compression_per_dimension_is_that_of_any_number_of_like_features():
    """Features that are doubled weigh twice in the sum and as before by dimension; on 1433 of them both are one."""
    draw = torch.Generator().manual_seed(0)
    mean, deviation = torch.randn(9, 4, generator=draw), torch.rand(9, 4, generator=draw) + 0.01
    twice = mean.repeat(1, 2), deviation.repeat(1, 2)
    torch.testing.assert_close(compression(*twice), 2 * compression(mean, deviation))
    torch.testing.assert_close(compression(*twice, "per-dimension"), compression(mean, deviation, "per-dimension"))
    coras = torch.randn(5, 1433, generator=draw), torch.rand(5, 1433, generator=draw) + 0.01
    torch.testing.assert_close(compression(*coras, "per-dimension"), compression(*coras))


def test_all_clients_start_from_the_weights_that_the_server_handed_out(federation, defended):
    """Nothing is trained at a rate near zero, so what each keeps is what it began with."""
    still = {"epochs": 1, "lr": 1e-12}

    def kept(**changes):
        made = InformationBottleneck(**still, **changes)
        return [defended(made, c, federation.shared, c.number)[1][ENCODER_KIND] for c in federation.clients]

    for encoder in kept():
        for name in ("w1", "w2"):
            torch.testing.assert_close(encoder[name], federation.shared.first[name])
    one, other = kept(first_weights="own")
    assert not torch.allclose(one["w1"], other["w1"], atol=1e-3)


def test_without_handed_out_weights_it_says_what_to_do(federation, defended):
    bare = replace(federation.shared, first={})
    with pytest.raises(InputError, match="set first_weights to 'own'"):
        defended(InformationBottleneck(**FAST), federation.clients[0], bare)
    defended(InformationBottleneck(first_weights="own", epochs=1), federation.clients[0], bare)


def test_biases_are_trained_kept_and_applied_by_who_has_the_encoder(federation, defended):
    client = federation.clients[0]
    defense = InformationBottleneck(biases=True, epochs=15, lr=0.01, first_weights="own")
    keeps = defended(defense, client, federation.shared)[1][ENCODER_KIND]
    encoder = Encoder(client.x.shape[1], biases=True)
    encoder.load_state_dict({name: keeps[name] for name in ("w1", "w2", "b1", "b2")})
    with torch.no_grad():
        operator = gcn_operator(client.edges, len(client.nodes))
        mean, _ = encoder(Factor.of(client.x), Factor.of(operator))
        hidden = torch.relu(client.x @ keeps["w1"] + keeps["b1"]) @ keeps["w2"] + keeps["b2"]
    d = client.x.shape[1]
    torch.testing.assert_close(mean, (operator @ hidden)[:, :d], atol=1e-4, rtol=1e-4)
    again = encoded(client.x, client.edges, keeps)
    torch.testing.assert_close(again, (mean - keeps["shift"]) / keeps["scale"], atol=1e-4, rtol=1e-4)
    with pytest.raises(InputError, match="lacks 'b2'"):
        encoded(client.x, client.edges, {name: part for name, part in keeps.items() if name != "b2"})


def test_guarantee_a_larger_gamma_compresses_more(federation, defended):
    def bits(gamma):
        found = []
        for seed in range(3):
            for client in federation.clients:
                defense = InformationBottleneck(gamma=gamma, epochs=40, lr=0.01)
                found.append(
                    float(compression(*path(client, defended(defense, client, federation.shared, seed)[1])))
                )
        return np.mean(found)

    assert bits(1.0) < 0.8 * bits(0.0)


def test_kept_encoder_gives_the_mean_of_what_is_released(federation, defended):
    client = federation.clients[0]
    after, kept = defended(InformationBottleneck(**FAST), client, federation.shared)
    assert set(kept) == {ENCODER_KIND}
    keeps = kept[ENCODER_KIND]
    mean, deviation = path(client, kept)
    again = encoded(client.x, client.edges, keeps)
    torch.testing.assert_close(again, (mean - keeps["shift"]) / keeps["scale"], atol=1e-4, rtol=1e-4)
    noise = (after.x - again) * keeps["scale"] / deviation  # the sample's noise, should it be of this encoder
    assert abs(float(noise.mean())) < 4 / np.sqrt(noise.numel())
    assert float(noise.std()) == pytest.approx(1, abs=4 / np.sqrt(2 * noise.numel()))


def other_pseudo_labels(shared: SharedModel, classes: int) -> SharedModel:
    shifted = {n: (labels + 1) % classes for n, labels in shared.pseudo_labels.items()}
    nobody = {n: torch.zeros_like(part) for n, part in shared.pseudo_labelled.items()}
    return replace(shared, pseudo_labels=shifted, pseudo_labelled=nobody)


@pytest.mark.parametrize(("labels", "same"), [("own", True), ("self-trained", False)])
def test_pseudo_labels_are_used_if_and_only_if_asked_for(federation, defended, labels, same):
    client = federation.clients[0]
    defense = InformationBottleneck(labels=labels, **FAST)
    one, other = (
        defended(defense, client, shared)[1][ENCODER_KIND]["w1"]
        for shared in (federation.shared, other_pseudo_labels(federation.shared, client.classes))
    )
    assert torch.equal(one, other) == same


def relabelled(client, mask):
    y = torch.where(mask, (client.y + 1) % client.classes, client.y)
    return replace(client, y=y, y_train=torch.where(client.train, client.y_train, y))


def test_labels_of_test_nodes_are_never_read(federation, defended):
    client = federation.clients[0]
    defense = InformationBottleneck(**FAST)
    one, other = (defended(defense, c, federation.shared)[0].x for c in (client, relabelled(client, client.test)))
    assert torch.equal(one, other)


def test_validation_labels_select(federation, defended):
    client = federation.clients[0]
    defense = InformationBottleneck(**FAST)
    one, other = (defended(defense, c, federation.shared)[0].x for c in (client, relabelled(client, client.val)))
    assert not torch.equal(one, other)


def test_a_client_without_validation_nodes_trains_its_encoder(federation, defended):
    client = federation.clients[0]
    client = replace(client, val=torch.zeros_like(client.val))
    short, long = (
        defended(InformationBottleneck(epochs=epochs), client, federation.shared)[1][ENCODER_KIND]["w1"]
        for epochs in (1, 5)
    )
    assert not torch.equal(short, long)


def predicted(x, client) -> float:
    """Accuracy at test nodes of a linear model trained on the labelled ones."""
    model = LogisticRegression(max_iter=500).fit(x[client.train].numpy(), client.y[client.train].numpy())
    return float(model.score(x[client.test].numpy(), client.y[client.test].numpy()))


def test_trivial_alternative_noise_of_the_same_variance_predicts_less(federation, defended):
    draw = torch.Generator().manual_seed(0)
    for client in federation.clients:
        z = defended(InformationBottleneck(epochs=60, lr=0.01), client, federation.shared)[0].x
        noise = torch.randn(z.shape, generator=draw)
        assert predicted(z, client) > predicted(noise, client) + 0.15


def test_same_seed_same_sample(federation, defended):
    client = federation.clients[0]
    one, again, other = (
        defended(InformationBottleneck(**FAST), client, federation.shared, seed)[0].x for seed in (0, 0, 1)
    )
    assert torch.equal(one, again)
    assert not torch.equal(one, other)


def test_only_features_change(federation, defended):
    client = federation.clients[0]
    after, _ = defended(InformationBottleneck(**FAST), client, federation.shared)
    for name in ("y", "y_train", "train", "val", "test", "edges", "cut", "nodes"):
        assert torch.equal(getattr(after, name), getattr(client, name))


def test_it_needs_a_two_layer_shared_model(federation, defended):
    client = federation.clients[0]
    with pytest.raises(InputError, match="shared model"):
        defended(InformationBottleneck(), client, None)
    linear = replace(federation.shared, weights={"w": torch.zeros(3, 2), "b": torch.zeros(2)})
    with pytest.raises(InputError, match="two-layer"):
        defended(InformationBottleneck(), client, linear)
