"""Explanations: the cosine of what was told, and what a node's class takes out of noise."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gaudit.attacks.links.explanation_similarity import ExplanationSimilarity, named
from gaudit.audit.games.referee import judge
from gaudit.audit.statistics.metrics import auc
from gaudit.defenses.answers.explanation_response import ExplanationResponse
from gaudit.errors import InputError
from gaudit.registry import find
from gaudit.targets.classification.classifier import Classifier
from gaudit.targets.game import Adversary
from gaudit.targets.messages import EXPLANATIONS_KIND

NODES, WORDS, CLASSES = 60, 120, 3
SEED = np.random.SeedSequence(0)


def graph() -> Data:
    rng = np.random.default_rng(0)
    upper = np.triu(rng.random((NODES, NODES)) < 0.03, 1)
    masks = {f"{m}_mask": torch.ones(NODES, dtype=torch.bool) for m in ("train", "val", "test")}
    return Data(
        x=torch.from_numpy((rng.random((NODES, WORDS)) < 0.06).astype(np.float32)),
        y=torch.arange(NODES) % CLASSES,
        edge_index=torch.from_numpy(np.stack(np.nonzero(upper | upper.T))),
        **masks,
    )


@pytest.fixture(scope="module")
def run():
    made = Classifier(game="edge-presence", publish=["explanations"], recipe={"hidden": 16, "epochs": 40})
    return made(graph(), find("defenses", "none")(), SEED, lambda message: True)


def judged(run, change=lambda message: message, **settings):
    attack, secrets = ExplanationSimilarity(**settings), run.secrets["edge-presence"]
    given, _ = secrets.grant(graph(), Adversary(attack), SEED)
    view = run.transcript.seen_by("public")
    view = given.renamed(replace(view, messages=tuple(map(change, view.messages))))
    return judge(attack(view, given.knowledge, SEED), given, secrets)


def test_scores_are_cosines_of_what_was_told(run):
    found = judged(run)
    (message,) = (m for m in run.transcript.messages if m.kind == EXPLANATIONS_KIND)
    low, high = np.divmod(found.subjects, NODES)
    rows = message.tensors["explanations"]
    expected = torch.cosine_similarity(rows[low], rows[high])
    np.testing.assert_allclose(found.score, expected, atol=1e-5)


def test_links_show(run):
    found = judged(run)
    assert auc(found.truth, found.score) > 0.8


def test_null_explanations_of_other_nodes_tell_nothing(run):
    order = torch.randperm(NODES, generator=torch.Generator().manual_seed(3))
    found = judged(
        run, lambda m: replace(m, tensors={**m.tensors, "explanations": m.tensors["explanations"][order]})
    )
    assert abs(auc(found.truth, found.score) - 0.5) < 0.15


def test_the_largest_entries_are_named_and_bits_stay_as_they_are():
    told = torch.tensor([[0.5, 0.2, 0.0], [0.0, 0.3, 0.1], [0.0, 0.7, 0.0], [0.0, 0.2, 0.9]])
    bits = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]])
    torch.testing.assert_close(named(told, 1), bits - bits.mean(0))
    torch.testing.assert_close(named(bits, 2), bits - bits.mean(0))


def test_flips_of_one_chance_only_scale_what_is_named_on_average():
    """Told bits are f + (1 - 2 f) of the true ones in expectation: less the mean, a multiple of them."""
    coins, bits = np.random.default_rng(0), torch.eye(4)[:, [0, 1, 2, 3, 0, 0]]
    flips = torch.from_numpy(coins.random((4000, *bits.shape)) < 0.2).float()
    told = torch.stack([named((bits - flip).abs(), 2) for flip in flips]).mean(0)
    torch.testing.assert_close(told, 0.6 * named(bits, 2), atol=0.03, rtol=0)  # five standard errors and more


def test_denoising_finds_more_behind_randomised_response(run):
    mod = ExplanationResponse(epsilon=30.0, entries=10).on_message(SEED)

    def told(message):
        return mod(message) if message.kind == EXPLANATIONS_KIND else message

    plain, denoised = (judged(run, told, denoise=denoise) for denoise in (False, True))
    assert auc(denoised.truth, denoised.score) > auc(plain.truth, plain.score) + 0.05


def test_null_denoised_explanations_of_other_nodes_tell_no_more_than_features(run):
    order = torch.randperm(NODES, generator=torch.Generator().manual_seed(3))
    found = judged(
        run,
        lambda m: replace(m, tensors={**m.tensors, "explanations": m.tensors["explanations"][order]}),
        denoise=True,
    )
    assert abs(auc(found.truth, found.score) - 0.5) < 0.15


def test_lacking_nodes_are_refused(run):
    with pytest.raises(InputError, match="lacks"):
        judged(run, lambda m: replace(m, tensors={name: part[:-1] for name, part in m.tensors.items()}))
