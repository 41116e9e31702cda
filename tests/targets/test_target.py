"""What every target does for its defense, whoever wrote it."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gaudit.errors import InputError
from gaudit.registry import find
from gaudit.settings import Settings
from gaudit.targets.channel import Channel
from gaudit.targets.defense import Defense, Watched
from gaudit.targets.messages import Carries, Carrying
from gaudit.targets.target import Run, Target, Utility
from support.kinds import HELD, PING, TABLE


class Careless(Target):
    """A user's own target that forgets about defenses unless it is told to ask."""

    name = "careless"
    release = TABLE
    sends = (TABLE,)
    release_phrase = "a table"
    Settings = Settings
    asks = False

    @classmethod
    def preset(cls, preset, data):
        return {}

    def run(self, data, defense, seed, retain, progress=lambda *a: None):
        data.x.zero_()
        mod = defense.on_message(seed) if self.asks else None
        channel = Channel(retain=retain, mods=() if mod is None else (mod,))
        channel.send(TABLE, "server", "public", 1, {"x": data.x + 1})
        return Run(channel.transcript, {}, (Utility(1, 0.5, 0.5, 0.5),), 0)


class Doubling(Defense):
    name = "doubling"
    acts_on = Carrying.any_of(Carries.SUMS, to="public")

    def on_message(self, seed):
        return lambda m: type(m)(m.kind, m.sender, m.receiver, m.round, {"x": 2 * m.tensors["x"]})


class DoublingData(Doubling):
    name = "doubling-data"

    def on_data(self, client, shared, seed, hold):
        return client


def run(target, defense):
    data = Data(x=torch.ones(3, 1))
    result = target(data, defense, np.random.SeedSequence(0), lambda message: True)
    assert bool((data.x == 1).all())  # whatever a target does to its graph, others do not see
    return result.transcript.seen_by("public").last(TABLE).tensors["x"].unique().item()


class Careful(Careless):
    name = "careful"
    asks = True


def test_a_defense_that_was_never_called_is_no_defense():
    with pytest.raises(InputError, match="'careless' never called on_message of the defense 'doubling'") as caught:
        run(Careless(), Doubling())
    assert "\n" not in str(caught.value)


def test_a_defense_that_was_called_in_part_is_no_defense():
    with pytest.raises(InputError, match="never called on_data of the defense 'doubling-data'"):
        run(Careful(), DoublingData())


def test_a_defense_that_is_called_does_what_it_does():
    assert run(Careful(), Doubling()) == 2
    assert run(Careful(), Defense()) == run(Careless(), Defense()) == 1


def test_a_defense_of_other_messages_is_refused_before_the_run():
    reason = "it changes messages that carry posteriors, and 'careless' never sends such a message"
    with pytest.raises(InputError, match=f"no place in the target 'careless': {reason}"):
        run(Careless(), find("defenses", "rounded-posteriors")())


class Talkative(Careless):
    """Sends what it does not say that it sends."""

    name = "talkative"

    def run(self, data, defense, seed, retain, progress=lambda *a: None):
        result = super().run(data, defense, seed, retain, progress)
        channel = Channel(result.transcript, retain)
        channel.hold(HELD, "server", 1, {"x": data.x})  # held, not sent
        channel.send(PING, "client:0", "server", 1, {"x": data.x})
        return result


@pytest.mark.parametrize("kept", [True, False])
def test_what_a_target_sends_without_saying_so_is_refused(kept):
    data = Data(x=torch.ones(3, 1))
    with pytest.raises(InputError, match=f"'talkative' sent {PING}, which its 'sends' does not name"):
        Talkative()(data, Defense(), np.random.SeedSequence(0), lambda message: kept)


def test_watching_leaves_the_defense_alone():
    defense = Doubling()
    twin = Watched(defense)
    assert twin.on_message(np.random.SeedSequence(0)) is not None
    assert twin.called == {"on_message"}
    assert (twin.name, twin.acts_on, twin.settings) == (defense.name, defense.acts_on, defense.settings)
    assert vars(defense) == {"settings": defense.settings}
    assert Doubling.hooks() == ("on_message",)
    assert Defense.hooks() == ()


def test_what_became_of_a_files_edges_is_noted_by_every_target():
    data = Data(x=torch.ones(3, 1), remarks=("self-loops dropped: 2",))
    assert Careless()(data, Defense(), np.random.SeedSequence(0), lambda message: True).notes[0] == data.remarks[0]
