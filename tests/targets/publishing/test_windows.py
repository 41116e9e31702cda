"""A network is published by windows of time, or one window of it to whoever holds the one before."""

import numpy as np
import pytest

from gaudit.audit.conformance.cheap_settings import NOTHING_SENSITIVE, cheap
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.running.trial import run_trial
from gaudit.errors import InputError
from gaudit.graphs.pyg import data_of
from gaudit.graphs.snapshots import snapshot, windowed
from gaudit.registry import find, registered
from gaudit.targets.defense import Defense
from gaudit.targets.messages import PUBLISHED_KIND, WINDOWS_KIND
from gaudit.targets.published import network_of
from gaudit.targets.publishing.publish import Publish
from support.messages_over_time import messages

FEW = {"measures": ("degree-distribution",)}
NETWORK = messages(60, 400, 0)
WINDOWS = 4


def run(defense=None, seed=0, **settings):
    made = Publish(**FEW, **settings)
    done = made(data_of(NETWORK), defense or Defense(), np.random.SeedSequence(seed), lambda message: True)
    (message,) = [m for m in done.transcript.seen_by("public").messages if m.kind in (PUBLISHED_KIND, WINDOWS_KIND)]
    assert message.kind in made.sent()
    return done, message


@pytest.mark.parametrize("by", [None, "time", "count"])
def test_only_the_names_change_and_times_become_numbers_of_windows(by):
    done, message = run(windows=WINDOWS, by=by)
    assert message.kind == WINDOWS_KIND
    assert set(message.tensors) == {"size", "edges", "types"}
    cut = windowed(NETWORK, WINDOWS, by or "time")
    assert network_of(message).digest == cut.renamed(done.secrets["identity"].image).digest
    assert done.secrets["identity"].original.network.digest == cut.digest
    assert any("windows of time" in note for note in done.notes)
    assert set(done.secrets) == {"identity", "edge-presence"}


def test_without_windows_nothing_is_told_of_times():
    done, message = run()
    assert message.kind == PUBLISHED_KIND
    assert set(message.tensors) == {"size", "edges"}
    assert not any("window" in note for note in done.notes)


ON_GRAPHS = [n for n in registered("defenses") if "on_graph" in find("defenses", n).hooks()]
DIRECTED = [name for name in ON_GRAPHS if "directions" in find("defenses", name).publishes]


@pytest.mark.parametrize("name", DIRECTED)
def test_windows_have_no_directions_and_defenses_of_these_say_so(name):
    with pytest.raises(InputError, match="have no directions"):
        run(find("defenses", name)(), windows=WINDOWS)


@pytest.mark.parametrize("name", [name for name in ON_GRAPHS if name not in DIRECTED])
def test_every_defense_of_graphs_publishes_windows_or_one_network_and_no_time(name):
    kind = find("defenses", name)
    message = run(kind(**cheap(kind.Settings, NOTHING_SENSITIVE)), windows=WINDOWS)[1]
    assert set(message.tensors) <= {"size", "edges", "types", "groups", "counts"}
    types = network_of(message).types
    assert types is None or set(types.tolist()) <= set(range(WINDOWS))


def test_linking_publishes_the_next_window_to_whoever_holds_one():
    done, message = run(windows=WINDOWS, linking=2)
    who, cut = done.secrets["identity"], windowed(NETWORK, WINDOWS)
    assert message.kind == PUBLISHED_KIND
    assert network_of(message).digest == snapshot(cut, 2).renamed(who.image).digest
    assert who.original.auxiliary.digest == snapshot(cut, 1).digest


def test_attacks_match_the_window_that_they_hold_and_ask_about_those_who_are_in_it():
    settings = {**FEW, "windows": 16, "linking": 1}
    plan = TrialPlan("publish", settings, "none", {}, (AttackPlan("seedless-matching"),), 0, 0)
    (found,) = run_trial(plan, data_of(NETWORK)).attacked
    active = (snapshot(windowed(NETWORK, 16), 0).degrees > 0).sum()
    assert found.judged.truth.sum() == active < 60
    assert "the names in another network of the same people, which it holds" in found.knowledge


def test_accounts_are_in_windows_too():
    done, _ = run(windows=WINDOWS, accounts=8, account_targets=5)
    apart = done.secrets["identity"].with_accounts
    assert apart.original.network.nodes == 68
    assert set(apart.original.network.types.tolist()) <= set(range(WINDOWS))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"by": "count"}, "by speaks of windows of time: say how many with windows"),
        ({"linking": 1}, "linking speaks of windows of time"),
        ({"windows": 4, "linking": 4}, "linking=4: no window follows, of 4"),
        ({"windows": 0}, "windows"),
        ({"windows": 4, "keep": "weights"}, "weights do not go with windows"),
        ({"windows": 4, "weights": "rounded:10"}, "weights do not go with windows"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        Publish(**settings)


def test_a_network_without_times_or_an_empty_window_is_refused():
    with pytest.raises(InputError, match="windows need times of edges, and this network has none"):
        Publish(windows=4)(data_of(NETWORK.plain()), Defense(), np.random.SeedSequence(0), lambda m: True)
    early = messages(20, 30, 0)
    early.events.time[early.events.time < 9000] = 0
    with pytest.raises(InputError, match="linking=2: window 2 of 4 has no edge"):
        Publish(windows=4, linking=2)(data_of(early), Defense(), np.random.SeedSequence(0), lambda m: True)
