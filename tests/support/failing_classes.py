"""Classes that fail the controls of registered ones, each in one way."""

import sys
from dataclasses import replace
from typing import ClassVar

import numpy as np
import torch

from gaudit.attacks.attack import Attack
from gaudit.attacks.membership.loss import Loss
from gaudit.defenses.randomisation.random_walk import RandomWalkMod
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.graphs.network import Verified
from gaudit.mechanisms.guarantee import Guarantee
from gaudit.targets.classification.classifier import Classifier
from gaudit.targets.defense import Defense
from gaudit.targets.game import Game, Grant
from gaudit.targets.games.membership import LabelMembership
from gaudit.targets.messages import MODEL_KIND, Carries, Carrying

LEFT: list[np.ndarray] = []

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


def truth_by_rows(knowledge, x, members) -> torch.Tensor:
    """Whether each subject is among some nodes of a graph, found by its features."""
    rows = {row.numpy().tobytes() for row in x[members]}
    asked = knowledge.x[knowledge.subjects]
    return torch.tensor([float(row.numpy().tobytes() in rows) for row in asked])


class ReadsMasks(Guess):
    """Reads who was trained on from a copy of the graph."""

    name = "reads-masks"

    def score(self, view, knowledge):
        data = load_dataset("planted")
        return truth_by_rows(knowledge, data.x, data.train_mask)


class ReadsFrames(Guess):
    """Looks for the truth in the memory of who calls it."""

    name = "reads-frames"

    def score(self, view, knowledge):
        frame = sys._getframe()
        while frame is not None:
            game, given = (frame.f_locals.get(name) for name in ("game", "given"))
            if isinstance(game, Game):
                truth = dict(zip(game.subjects.tolist(), game.truth.tolist(), strict=True))
                ids = given.subject_ids(knowledge.subjects.numpy())
                return torch.tensor([float(truth[one]) for one in ids.tolist()])
            frame = frame.f_back
        return torch.rand(len(knowledge.subjects))


class BlindKnows(Loss):
    """Its blind version says again what the other one read off the release."""

    name = "blind-knows"
    told = None

    def score(self, view, knowledge):
        self.told = super().score(view, knowledge)
        return self.told

    def blind_score(self, knowledge):
        return super().blind_score(knowledge) if self.told is None else self.told


class GlobalCoins(Guess):
    """Draws from NumPy's generator of the whole process."""

    name = "global-coins"

    def score(self, view, knowledge):
        return torch.from_numpy(np.random.rand(len(knowledge.subjects)))  # noqa: NPY002


class Remembers(Guess):
    """Says something else once it has been asked."""

    name = "remembers"
    asked: ClassVar[list[int]] = []

    def score(self, view, knowledge):
        self.asked.append(1)
        return torch.rand(len(knowledge.subjects)) + len(self.asked) * torch.arange(len(knowledge.subjects))


class WritesView(Guess):
    """Writes into what it sees."""

    name = "writes-view"

    def score(self, view, knowledge):
        next(iter(view.messages[0].tensors.values())).add_(1)
        return super().score(view, knowledge)


class WritesKnowledge(Guess):
    """Writes into what it knows."""

    name = "writes-knowledge"

    def blind_score(self, knowledge):
        knowledge.x.add_(1)
        return super().blind_score(knowledge)


class SaysNaN(Guess):
    """Says nothing of one subject."""

    name = "says-nan"

    def score(self, view, knowledge):
        return super().score(view, knowledge).index_fill(0, torch.tensor([0]), float("nan"))


class SaysTooLittle(Guess):
    """Leaves out one subject."""

    name = "says-too-little"

    def score(self, view, knowledge):
        return super().score(view, knowledge)[1:]


class Unplanted(Guess):
    """Names a control that is not there."""

    name = "unplanted"
    planted = "no-such-leak"


class Wordless(Guess):
    name = "wordless"


# --- defenses


class Capped(Defense):
    """No class of a published answer is surer than a half."""

    name = "capped"
    guarantee = "no answer is surer than 0.5"
    alternative = "fewer-labels"
    acts_on = Carrying.any_of(Carries.POSTERIORS)
    most = 0.5

    def on_message(self, seed):
        def capped(message):
            if not self.changes(message.kind):
                return message
            told = message.tensors["posteriors"].clamp(max=self.most)
            return replace(message, tensors={**message.tensors, "posteriors": told})

        return capped

    def verify_message(self, before, after):
        most = float(after.tensors["posteriors"].max())
        return Verified(self.guarantee, most <= 0.5, f"{most:.2f}")


class TooSure(Capped):
    """Caps at more than it says."""

    name = "too-sure"
    most = 0.75


class SureOfItself(Capped):
    """Its check is always content."""

    name = "sure-of-itself"

    def verify_message(self, before, after):
        return Verified(self.guarantee, True, "looked at")


class SilentOnMessages(Capped):
    """Its check says nothing."""

    name = "silent-on-messages"

    def verify_message(self, before, after):
        return None


class CoinsOfTheProcess(Capped):
    """Draws from NumPy's generator of the whole process."""

    name = "coins-of-the-process"

    def on_message(self, seed):
        self.most = np.random.rand()  # noqa: NPY002
        return super().on_message(seed)


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


class WritesNetwork(SameNetwork):
    """Writes into the network that it is given."""

    name = "writes-network"

    def on_graph(self, network, seed):
        network.edges[:, 0] = network.edges[:, 1]
        return network


class WritesClient(OnlyWords):
    """Writes into the data that it is given."""

    name = "writes-client"

    def on_data(self, client, shared, seed, hold):
        client.x.zero_()
        return client


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


class Beside(Changed):
    """Puts a message into the transcript itself."""

    name = "beside"

    def run(self, *given):
        run = super().run(*given)
        run.transcript.record(next(m for m in run.transcript.messages if m.kind == MODEL_KIND), True)
        return run


class Uncounted(Changed):
    """Says that it sent less than it did."""

    name = "uncounted"

    def run(self, *given):
        run = super().run(*given)
        key, tally = next(iter(run.transcript.tallies.items()))
        run.transcript.tallies[key] = tally.model_copy(update={"nbytes": 1})
        return run


class WritesSent(Changed):
    """Changes a message that was sent."""

    name = "writes-sent"

    def run(self, *given):
        run = super().run(*given)
        next(iter(run.transcript.messages[0].tensors.values())).add_(1)
        return run


class TargetOfTheProcess(Changed):
    """Draws its truth from NumPy's generator of the whole process."""

    name = "target-of-the-process"

    def changed(self, secrets):
        return replace(secrets, truth=np.random.permutation(secrets.truth))  # noqa: NPY002


class LeavesTruth(Changed):
    """Leaves the truth in its class."""

    name = "leaves-truth"
    left = None

    def changed(self, secrets):
        type(self).left = secrets.truth
        return secrets


class LeavesInModule(Changed):
    """Leaves the truth in its module."""

    name = "leaves-in-module"

    def changed(self, secrets):
        LEFT.append(secrets.truth)
        return secrets


class NoGame(Changed):
    """Keeps its truth to itself."""

    name = "no-game"

    def run(self, *given):
        return replace(super().run(*given), secrets={})


# --- games


class TellsTruth(LabelMembership):
    """Grants labels of members alone."""

    name = "tells-truth"

    def grant(self, data, adversary, seed):
        given, left = super().grant(data, adversary, seed)
        labels = given.knowledge.labels.clone()
        member = dict(zip(self.subjects.tolist(), self.truth.tolist(), strict=True))
        asked = given.knowledge.subjects
        labels[asked] = torch.tensor([int(member[one]) for one in given.subject_ids(asked.numpy()).tolist()])
        return Grant(replace(given.knowledge, labels=labels), given.ids), left


class MembersFirst(LabelMembership):
    """Hands over members before the others."""

    name = "members-first"

    def grant(self, data, adversary, seed):
        given, left = super().grant(data, adversary, seed)
        member = dict(zip(self.subjects.tolist(), self.truth.tolist(), strict=True))
        asked = given.knowledge.subjects
        order = np.argsort([not member[one] for one in given.subject_ids(asked.numpy()).tolist()], kind="stable")
        return Grant(replace(given.knowledge, subjects=asked[torch.from_numpy(order)]), given.ids), left
