"""A small world in which membership is decided by a coin, for all attacks."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from scipy.stats import binom
from torch_geometric.data import Data

from gaudit.attacks.attack import Attack
from gaudit.audit.finding import Finding
from gaudit.audit.knowledge import Grant, grant
from gaudit.audit.metrics import auc_finding
from gaudit.audit.referee import judge
from gaudit.targets.channel import Channel
from gaudit.targets.condensed import KIND, CondensedGraph
from gaudit.targets.encoder import ENCODER_KIND, encoded
from gaudit.targets.graph import check_graph
from gaudit.targets.target import Secrets
from gaudit.targets.transcript import Transcript

NODES, WORDS, CLASSES, SIDE = 260, 120, 3, 50
WRONG_LABELS = 0.3  # labels that features do not explain: only a model that saw them knows them


@dataclass(frozen=True)
class World:
    """A homophilous graph with bag-of-words features; 50 members and 50 non-members drawn at random."""

    data: Data
    secrets: Secrets

    @property
    def members(self) -> torch.Tensor:
        return torch.from_numpy(self.secrets.subjects[self.secrets.truth])

    @property
    def strangers(self) -> torch.Tensor:
        """As many nodes that are no subjects."""
        return torch.from_numpy(np.setdiff1d(np.arange(NODES), self.secrets.subjects))[:SIDE]

    def given(self, neighbours="true", knows_defense=False, seed=0) -> Grant:
        return grant(self.data, self.secrets, neighbours, knows_defense, np.random.SeedSequence(seed))

    def release(self, rows: torch.Tensor, x: torch.Tensor | None = None) -> CondensedGraph:
        """Nodes published as they are, without links."""
        x = self.data.x if x is None else x
        return CondensedGraph(x[rows], self.data.y[rows], torch.zeros(len(rows), len(rows)))

    def with_features(self, x: torch.Tensor) -> "World":
        data = self.data.clone()
        data.x = x
        return replace(self, data=data)

    def with_other_truth(self, seed: int = 5) -> "World":
        truth = np.random.default_rng(seed).permutation(self.secrets.truth)
        return replace(self, secrets=replace(self.secrets, truth=truth))

    def judged(self, attack: Attack, transcript: Transcript, observer="public", neighbours="true", seed=0):
        given = self.given(neighbours, observer != "public", seed)
        scores = attack(transcript.seen_by(observer), given.knowledge, np.random.SeedSequence(seed))
        return judge(scores, given, self.secrets)

    def judged_blind(self, attack: Attack, neighbours="true", seed=0):
        given = self.given(neighbours, seed=seed)
        return judge(attack.blind(given.knowledge, np.random.SeedSequence(seed)), given, self.secrets)


def _world(seed: int = 0) -> World:
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, CLASSES, NODES)
    p = np.full((NODES, WORDS), 0.04)
    for c in range(CLASSES):
        p[np.ix_(topic == c, range(c * WORDS // CLASSES, (c + 1) * WORDS // CLASSES))] = 0.1
    x = (rng.random((NODES, WORDS)) < p).astype(np.float32)
    x[np.arange(NODES), rng.integers(0, WORDS, NODES)] = 1  # no empty text
    links = rng.random((NODES, NODES)) < np.where(topic[:, None] == topic[None, :], 0.02, 0.003)
    y = np.where(rng.random(NODES) < WRONG_LABELS, rng.integers(0, CLASSES, NODES), topic)
    order = rng.permutation(NODES)
    masks = {}
    for name, part in zip(("train", "test", "val"), np.split(order, [SIDE, 2 * SIDE]), strict=True):
        masks[f"{name}_mask"] = torch.zeros(NODES, dtype=torch.bool)
        masks[f"{name}_mask"][part] = True
    data = check_graph(
        Data(
            x=torch.from_numpy(x),
            y=torch.from_numpy(y),
            edge_index=torch.from_numpy(np.stack(np.nonzero(np.triu(links, 1)))),
            **masks,
        ),
        "test world",
    )
    subjects = np.sort(order[: 2 * SIDE])
    return World(data, Secrets("label-membership", "label", subjects, np.isin(subjects, order[:SIDE])))


@pytest.fixture
def make_world():
    """``make_world(seed)``: a world."""
    return _world


@pytest.fixture(scope="session")
def world() -> World:
    return _world()


@pytest.fixture
def publish():
    """``publish(release, encoder=None)``: a transcript with the release, and an encoder that client:0 keeps."""

    def published(release, encoder=None) -> Transcript:
        channel = Channel()
        tensors = release.tensors() if isinstance(release, CondensedGraph) else release
        if encoder is not None:
            channel.hold(ENCODER_KIND, "client:0", -1, encoder)
        channel.send("class-counts", "client:0", "server", -1, {"counts": torch.zeros(CLASSES)})
        channel.send(KIND, "server", "public", 1, tensors)
        return channel.transcript

    return published


@pytest.fixture
def bend():
    """``bend(world)``: an encoder without likeness to raw features, and all nodes in its space."""

    def bent(world: World) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        draw = torch.Generator().manual_seed(3)
        encoder = {
            "w1": torch.randn(WORDS, WORDS, generator=draw),
            "w2": torch.randn(WORDS, 2 * WORDS, generator=draw),
            "shift": torch.zeros(WORDS),
            "scale": torch.ones(WORDS),
        }
        z = encoded(world.data.x, world.data.edge_index[:, :0], encoder)
        encoder["shift"], encoder["scale"] = z.mean(0), z.std(0)
        return encoder, (z - z.mean(0)) / z.std(0)

    return bent


@pytest.fixture
def at_chance():
    """``at_chance(runs)``: fails if independent runs are not what chance gives.

    A 95 % interval of the AUC leaves out 0.5 with probability 0.04 at this size (4000 simulations; 0.07 is
    allowed here), so more misses than ``k`` with P(Binomial(n, 0.07) > k) < 0.001 are no chance; and the
    mean AUC has the deviation of Mann and Whitney's statistic under the null, 3.3 of which happen once in 1000.
    """

    def check(runs) -> None:
        findings: list[Finding] = [auc_finding([run]) for run in runs]
        misses = sum(not f.low <= 0.5 <= f.high for f in findings)
        assert misses <= binom.isf(0.001, len(runs), 0.07), [f.text() for f in findings]
        deviation = np.sqrt((2 * SIDE + 1) / (12 * SIDE * SIDE) / len(runs))
        assert abs(np.mean([f.estimate for f in findings]) - 0.5) < 3.3 * deviation

    return check
