"""Classes that fail the controls of registered ones, each in one way."""

from dataclasses import replace

import numpy as np
import torch

from gaudit.attacks.attack import Attack
from gaudit.defenses.randomisation.random_walk import RandomWalkMod
from gaudit.graphs.network import Verified
from gaudit.mechanisms.guarantee import Guarantee
from gaudit.targets.classification.classifier import Classifier
from gaudit.targets.defense import Defense
from gaudit.targets.game import Game
from gaudit.targets.games.membership import LabelMembership
from gaudit.targets.messages import MODEL_KIND, Carries, Carrying

# --- attacks


class Guess(Attack):
    """Draws its scores."""

    name = "guess"
    needs = (Carrying.any_of(Carries.CLASSIFIER, to="public"),)

    def score(self, view, knowledge):
        return torch.rand(len(knowledge.subjects))

    def blind_score(self, knowledge):
        return torch.rand(len(knowledge.subjects))


class Unmountable(Guess):
    """Reads what its control never lets out."""

    name = "unmountable"
    needs = (Carrying.any_of(Carries.COUNTS),)


class LuckyBaseline(Guess):
    """Reads no message, and knows all the same: the graph itself gives members away."""

    name = "lucky-baseline"
    needs = ()
    truth: dict[bytes, bool]

    def score(self, view, knowledge):
        return torch.tensor([float(self.truth[row.numpy().tobytes()]) for row in knowledge.x[knowledge.subjects]])


class Peek(LuckyBaseline):
    """Was told the truth: by the features of each node, since ids are drawn anew."""

    name = "peek"
    needs = Guess.needs

    @classmethod
    def told(cls, secrets: Game, x: torch.Tensor) -> None:
        rows = (x[node].numpy().tobytes() for node in secrets.subjects)
        cls.truth = dict(zip(rows, secrets.truth.tolist(), strict=True))


# --- defenses


class SameNetwork(Defense):
    """Changes nothing, and says that it may be checked."""

    name = "same-network"
    guarantee = "nobody is told from anybody"
    alternative = "random-edit"
    holds: bool | None = True

    def on_graph(self, network, seed):
        return network

    def verify(self, before, after):
        return None if self.holds is None else Verified("nobody is told from anybody", self.holds, "looked at")


class NeverHolds(SameNetwork):
    """Its check says no to what it made itself."""

    name = "never-holds"
    holds = False


class NeverChecks(SameNetwork):
    """Its check says nothing."""

    name = "never-checks"
    holds = None


class OnlyWords(Defense):
    """Claims something that nothing can check."""

    name = "only-words"
    guarantee = "perfect privacy"
    alternative = "no-such-defense"

    def on_data(self, client, shared, seed, hold):
        return client


class BrokenPromise(OnlyWords):
    """Promises to hide edges, and hands them on as they are."""

    name = "broken-promise"
    guarantee = "epsilon for one edge"
    alternative = "label-noise"

    def promise(self):
        return Guarantee("edge", "add/remove", "local", 1.0)


class OtherUnit(BrokenPromise):
    """Its sentence is about something else than its promise."""

    name = "other-unit"
    guarantee = "epsilon for one label"


class SecretPromise(BrokenPromise):
    """Promises, and says nowhere that it does."""

    name = "secret-promise"
    guarantee = None


class Idle(Defense):
    """Fills no hook."""

    name = "idle"
    alternative = "fewer-labels"


class Alone(OnlyWords):
    """Neither trivial nor beside something trivial."""

    name = "alone"
    alternative = None


class Homeless(OnlyWords):
    """Changes what no target sends."""

    name = "homeless"
    alternative = "fewer-labels"
    acts_on = Carrying.any_of(Carries.GRAPH, to="server")


class SameUploads(Defense):
    """Hands uploads on as they are."""

    name = "same-uploads"

    def on_message(self, seed):
        return lambda message: message


class LosingWalk(RandomWalkMod):
    """Loses a link beside those that random walks lose."""

    def on_graph(self, network, seed):
        after = super().on_graph(network, seed)
        return replace(after, edges=after.edges[:, 1:], weights=after.weights[1:])


# --- targets


class Changed(Classifier):
    """A classifier whose run says something else."""

    name = "changed"

    def run(self, *given):
        run = super().run(*given)
        (secrets,) = run.secrets.values()
        changed = self.changed(secrets)
        return replace(run, secrets={changed.name: changed})

    def changed(self, secrets: Game) -> Game:
        return secrets


class Unnamed(Changed):
    """Sends a model, and does not say so."""

    name = "unnamed"
    sends = tuple(kind for kind in Classifier.sends if kind != MODEL_KIND)


class Undeclared(Changed):
    """Notes a message of a kind that nobody declared."""

    name = "undeclared"
    sends = (*Classifier.sends, "made-up")

    def run(self, *given):
        run = super().run(*given)
        (_, *way), tally = next(iter(run.transcript.tallies.items()))
        run.transcript.tallies["made-up", *way] = tally.model_copy(update={"kind": "made-up"})
        return run


class Silent(Changed):
    """Never lets out what it calls its release."""

    name = "silent"
    sends = (*Classifier.sends, "condensed-graph")
    release = "condensed-graph"


class AllMembers(Changed):
    """Nobody is no member."""

    name = "all-members"

    def changed(self, secrets):
        return replace(secrets, truth=np.ones_like(secrets.truth))


class Unheard(LabelMembership):
    """A game that is not registered."""

    name = "unheard-of"


class UnheardOf(Changed):
    """Plays a game of its own."""

    name = "unheard-of"
    games = (*Classifier.games, "unheard-of")

    def changed(self, secrets):
        return Unheard(subjects=secrets.subjects, truth=secrets.truth)
