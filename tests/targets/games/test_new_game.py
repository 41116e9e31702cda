"""A new game is one file (`support.odd_degree`), one line that announces it, and a test: here it is, end to end."""

from importlib.metadata import EntryPoint

import numpy as np
import pytest
import torch
from pydantic import Field

from gaudit import registry
from gaudit.attacks.attack import Attack
from gaudit.audit.games.blind import blind_baselines
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.results.outcomes import outcomes
from gaudit.audit.running.trial import run_trial
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.reports.text.sentences import last_line
from gaudit.reports.text.words import words
from gaudit.settings import Settings
from gaudit.targets.channel import Channel
from gaudit.targets.games.membership import LabelMembership
from gaudit.targets.messages import Carries, Carrying, labels_kind
from gaudit.targets.target import Run, Target, Utility, no_progress
from support.adversaries import adversary
from support.odd_degree import HeadCount, OddDegree

TOLD = labels_kind("full")
LINES = {
    "games": ("odd-degree", "support.odd_degree:OddDegree"),
    "targets": ("teller", f"{__name__}:Teller"),
    "attacks": ("listener", f"{__name__}:Listener"),
}


class TellerSettings(Settings):
    """Settings of `Teller`."""

    honest: bool = Field(True, description="whether it tells what is true, or what coins say")


class Teller(Target):
    """Tells everybody of each node whether it has an odd number of neighbours."""

    name = "teller"
    games = ("odd-degree",)
    release = TOLD
    release_phrase = "what the teller tells"
    sends = (TOLD,)
    Settings = TellerSettings
    settings: TellerSettings

    @classmethod
    def preset(cls, preset, data):
        return {}

    def run(self, data, defense, seed, retain, progress=no_progress):
        asked = np.flatnonzero(data.test_mask.numpy())[::-1].copy()
        odd = np.bincount(data.edge_index[0], minlength=data.num_nodes)[asked] % 2 == 1
        game = OddDegree(subjects=asked, truth=odd)
        said = odd if self.settings.honest else np.random.default_rng(seed).random(len(odd)) < 0.5
        channel = Channel(retain=retain)
        table = {"nodes": torch.from_numpy(asked), "labels": torch.from_numpy(said).long()}
        channel.send(TOLD, "server", "public", 1, table)
        return Run(channel.transcript, {game.name: game}, (Utility(1, float("nan"), 0.0, 0.0),), 0)


class Listener(Attack[HeadCount]):
    """Believes what it is told."""

    name = "listener"
    games = (OddDegree.name,)
    needs = (Carrying.any_of(Carries.LABELS),)

    def score(self, view, knowledge):
        told = view.last(TOLD).tensors
        by_node = dict(zip(told["nodes"].tolist(), told["labels"].tolist(), strict=True))
        return torch.tensor([float(by_node[n]) for n in knowledge.subjects.tolist()])

    def blind_score(self, knowledge):
        return torch.zeros(len(knowledge.subjects))


@pytest.fixture
def announced(monkeypatch):
    """The lines that a package with the game would have in its pyproject.toml."""
    installed = registry.entry_points

    def with_ours(group):
        ours = LINES.get(group.removeprefix("gaudit."))
        return [*installed(group=group), *([EntryPoint(*ours, group)] if ours else [])]

    monkeypatch.setattr(registry, "entry_points", with_ours)
    registry.registered.cache_clear()
    yield
    monkeypatch.undo()
    registry.registered.cache_clear()


@pytest.fixture(scope="module")
def graph():
    return load_dataset("citations")


def audited(graph, attacks=("listener",), **settings):
    """What two seeds found, and the results of both."""
    planned = tuple(AttackPlan(name) for name in attacks)
    plans = [TrialPlan("teller", settings, "none", {}, planned, 0, i) for i in range(2)]
    results = [run_trial(plan, graph) for plan in plans]
    return outcomes(results)[0], results


@pytest.mark.usefixtures("announced")
def test_it_is_played_from_its_subjects_to_its_words(graph):
    outcome, results = audited(graph)
    (found,) = outcome.attacks
    members = int((np.bincount(graph.edge_index[0])[graph.test_mask.numpy()] % 2 == 1).sum())
    asked = int(graph.test_mask.sum())
    assert outcome.refused == {}
    assert found.game == OddDegree.name
    assert (found.auc.estimate, found.blind.estimate) == (1, 0.5)
    assert (found.auc.members, found.auc.non_members) == (members, asked - members)
    assert found.knowledge == f"knows that {members} of {asked} nodes are odd"
    assert found.more["right guesses"].estimate == 1
    assert "epsilon" in found.more
    assert {"precision", "candidates"}.isdisjoint(found.more)
    assert set(found.risk["side"]) == {"first half", "second half"}
    assert found.baselines == found.public == {}
    assert found.valid
    assert {v.subject for v in found.exposed} == {f"node {n}" for n in odd_ones(results[0])}
    assert words(found.game) is OddDegree.words
    assert f"tells {OddDegree.words.told} with AUC 1.00" in last_line([outcome], "what is told")


def odd_ones(result):
    judged = result.attacked[0].judged
    return judged.subjects[judged.truth]


@pytest.mark.usefixtures("announced")
def test_null_coins_tell_nothing(graph):
    (found,) = audited(graph, honest=False)[0].attacks
    assert found.auc.low < 0.5 < found.auc.high
    assert found.more["right guesses"].low < 0.5 < found.more["right guesses"].high


@pytest.mark.usefixtures("announced")
def test_attacks_on_other_games_are_refused(graph):
    outcome, results = audited(graph, ("listener", "blind"))
    says = "it plays label-membership or node-presence or graph-membership, the target offers odd-degree"
    assert [result.refused["blind"] for result in results] == [says] * 2
    assert [attack.plan.name for attack in outcome.attacks] == ["listener"]


def test_without_public_columns_there_are_no_baselines(graph):
    game = OddDegree(subjects=np.arange(4), truth=np.arange(4) < 1)  # too few members to learn from
    assert blind_baselines(graph, game, np.random.SeedSequence(0)) == {}


def test_without_the_line_nobody_knows_it():
    with pytest.raises(InputError, match="unknown game 'odd-degree'"):
        registry.find("games", OddDegree.name)


def test_attacks_share_knowledge_only_where_a_game_says_that_they_may():
    subjects, truth = np.arange(4), np.arange(4) < 2
    one, other = adversary(identity=("one",)), adversary(identity=("other",))
    alike = LabelMembership(subjects=subjects, truth=truth)
    assert alike.grant_key(one) == alike.grant_key(other)
    own = OddDegree(subjects=subjects, truth=truth)
    assert own.grant_key(one) != own.grant_key(other)
