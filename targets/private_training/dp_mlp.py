"""A perceptron on each node's own features, trained with DP-SGD: what privacy costs without a graph."""

import torch

from ...mechanisms import accounting
from ...mechanisms.guarantee import Guarantee
from ..models.training_config import TrainingConfig
from .perceptron import Labelled, noisily
from .private_classifier import COMPOSES, PUBLIC, PrivateClassifier, Trained, TrainingNodes


class DPMLP(PrivateClassifier):
    """DP-SGD on rows that know nothing of each other: the graph-free control of private graph learning.

    Abadi et al. (2016) with Opacus' gradients and accountant. No edge is read, so edges are safe whatever epsilon
    is; a method that uses edges has to beat it. Neighbours have the same nodes, one of them blank in one.
    """

    name = "dp-mlp"

    def recipe(self) -> TrainingConfig:
        s = self.settings
        return TrainingConfig(
            architecture="mlp", hidden=s.hidden, epochs=s.steps, lr=s.lr, weight_decay=0, dropout=0
        )

    def trained(self, training: TrainingNodes) -> Trained:
        s = self.settings
        noise = accounting.least_noise(s.epsilon, training.delta, lambda z: accounting.sampled(z, s.rate, s.steps))
        data = Labelled.of(training.x, training)
        model = data.model(s.hidden, training.classes, training.rng("weights"))
        noisily(model, data, s.noisy_steps(noise), training, "model")
        guarantee = Guarantee(
            "node",
            "zero-out",
            "central",
            s.epsilon,
            training.delta,
            accountant=f"Opacus' RDP: {s.steps} steps at rate {s.rate:g}, noise {noise:.3g} clips; float sampler",
            public=PUBLIC,
            composes=COMPOSES,
            covers="the model",
        )
        with torch.no_grad():
            logits = model(training.x)
            weights = {
                "w1": training.first_layer(model.first.weight),
                "b1": model.first.bias.clone(),
                "w2": model.second.weight.t().clone(),
                "b2": model.second.bias.clone(),
            }
        return Trained(logits, guarantee, {name: w.detach().cpu() for name, w in weights.items()})
