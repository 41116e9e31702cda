"""A small world in which membership is decided by a coin, for all attacks."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from scipy.stats import binom
from torch_geometric.data import Data

from gaudit.attacks.attack import Attack, Scores
from gaudit.attacks.membership.calibrated import Answers, Evidence
from gaudit.audit.games.referee import judge
from gaudit.audit.statistics.finding import Finding
from gaudit.audit.statistics.metrics import auc_finding
from gaudit.audit.statistics.scored_subjects import ScoredSubjects
from gaudit.graphs.checks import check_graph
from gaudit.targets.channel import Channel
from gaudit.targets.condensation.condensed import CondensedGraph
from gaudit.targets.game import Grant, Neighbours
from gaudit.targets.games.membership import NODE_GAMES, LabelMembership, NodeGame
from gaudit.targets.messages import CONDENSED_KIND, ENCODER_KIND, MODEL_KIND
from gaudit.targets.models.encoder import encoded
from gaudit.targets.models.model_ensemble import train_models
from gaudit.targets.models.training_config import TrainingConfig
from gaudit.targets.models.training_task import TrainingTask
from gaudit.targets.transcript import Transcript, View
from support.adversaries import adversary

NODES, WORDS, CLASSES, SIDE = 260, 120, 3, 50
WRONG_LABELS = 0.3  # labels that features do not explain: only a model that saw them knows them


@dataclass(frozen=True)
class World:
    """A homophilous graph with bag-of-words features; 50 members and 50 non-members drawn at random."""

    data: Data
    secrets: NodeGame

    @property
    def members(self) -> torch.Tensor:
        return torch.from_numpy(self.secrets.subjects[self.secrets.truth])

    @property
    def strangers(self) -> torch.Tensor:
        """As many nodes that are no subjects."""
        return torch.from_numpy(np.setdiff1d(np.arange(NODES), self.secrets.subjects))[:SIDE]

    def given(self, neighbours="true", knows_defense=False, seed=0) -> Grant:
        who = adversary(neighbours, knows_defense=knows_defense)
        return self.secrets.grant(self.data, who, np.random.SeedSequence(seed))[0]

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
    return World(data, LabelMembership(subjects=subjects, truth=np.isin(subjects, order[:SIDE])))


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
        channel.send(CONDENSED_KIND, "server", "public", 1, tensors)
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


OVERFIT = TrainingConfig(hidden=16, epochs=80, lr=0.03, weight_decay=0, dropout=0)


@dataclass(frozen=True, eq=False)
class Published:
    """A model of a world, published with its weights, and an auditor who looks at it."""

    world: World
    given: Grant
    transcript: Transcript
    observer: str = "public"

    @property
    def view(self) -> View:
        return self.given.renamed(self.transcript.seen_by(self.observer))

    def scores(self, attack: Attack, seed: int = 0) -> Scores:
        return attack(self.view, self.given.knowledge, np.random.SeedSequence(seed))

    def judged(self, attack: Attack) -> ScoredSubjects:
        return judge(self.scores(attack), self.given, self.world.secrets)

    def judged_blind(self, attack: Attack) -> ScoredSubjects:
        guesses = attack.blind(self.given.knowledge, np.random.SeedSequence(0))
        return judge(guesses, self.given, self.world.secrets)

    def told(self, **knowledge) -> "Published":
        """The same with an auditor who knows something else."""
        return replace(self, given=replace(self.given, knowledge=replace(self.given.knowledge, **knowledge)))


def _published(
    seed: int,
    members: str = "true",
    game: str = "label-membership",
    neighbours: Neighbours = "true",
    recipe: TrainingConfig = OVERFIT,
) -> Published:
    world = _world(seed)
    asked = NODE_GAMES[game](subjects=world.secrets.subjects, truth=world.secrets.truth)
    world = replace(world, secrets=asked)
    root = np.random.SeedSequence([seed, 1])
    inside = torch.zeros((1, NODES), dtype=torch.bool)
    drawn = np.random.default_rng(root).permutation(world.secrets.subjects)[:SIDE]
    inside[0, world.members if members == "true" else torch.from_numpy(drawn)] = True
    trained = train_models(
        TrainingTask(world.data, inside, recipe, CLASSES, game == "node-presence"), [], root, keep_weights=True
    )
    channel = Channel()
    channel.send(MODEL_KIND, "server", "public", 1, {name: w[0] for name, w in trained.weights.items()})
    coins = np.random.SeedSequence([seed, 2])
    given, _ = asked.grant(world.data, adversary(neighbours, auditor=True, recipe=recipe), coins)
    return Published(world, given, channel.transcript)


@pytest.fixture(scope="session")
def publish_model():
    """``publish_model(seed, members, game, neighbours, recipe)``: a world's model, looked at by an auditor.

    It was trained on the members, or (``members="other"``) on a draw of its own from the nodes in question.
    """
    return _published


@pytest.fixture(scope="session")
def null_models() -> list[Published]:
    """24 worlds with a model each whose training nodes were drawn without regard to the truth."""
    return [_published(400 + seed, "other") for seed in range(24)]


@pytest.fixture(scope="session")
def leaky_models() -> list[Published]:
    """Overfitted models, three of each game."""
    asked = (("label-membership", "true"), ("node-presence", "none"))
    return [_published(seed, "true", *how) for how in asked for seed in range(3)]


@pytest.fixture
def gaussian():
    """``gaussian(rng, shift, shadows, nodes)``: evidence of a Gaussian world, and the truth.

    A node's margin is its own level plus noise of deviation 1, and ``shift`` more where a model trained on it.
    Half of the models trained on each node; rounds are a mask and its complement.
    """

    def made(rng, shift: float, shadows: int, nodes: int) -> tuple[Evidence, np.ndarray]:
        level, truth = 3 * rng.standard_normal(nodes), rng.random(nodes) < 0.5
        half = rng.random((shadows // 2, nodes)).argsort(1) < nodes // 2
        inside = np.stack([half, ~half], 1).reshape(shadows, nodes)
        target = level + shift * truth + rng.standard_normal(nodes)
        values = level + shift * inside + rng.standard_normal(inside.shape)

        def logits(margins: np.ndarray) -> torch.Tensor:
            return torch.from_numpy(np.stack([margins, np.zeros_like(margins)], -1))

        answers = Answers(logits(target), logits(values), inside, torch.zeros(nodes, dtype=torch.long))
        return Evidence(answers, None, lambda: answers, np.arange(shadows) // 2), truth

    return made
