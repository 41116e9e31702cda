"""The positive control: what is planted is there, every attack finds it, and nothing but membership leaks."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import binom

from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.results.outcomes import outcomes
from gaudit.audit.running.trial import TrialResult, attacks_on, run_trial
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.registry import find, registered
from gaudit.targets.channel import keep_kinds
from gaudit.targets.classification.classifier import Classifier
from gaudit.targets.controls.planted import Planted
from gaudit.targets.defense import Defense
from gaudit.targets.federated_condensation.fedgc import FedGC
from gaudit.targets.messages import ENCODER_KIND, TABLE_KINDS
from gaudit.targets.models.encoder import encoded

GAMES = ("label-membership", "node-presence")
EVERYTHING = ("model", "updates", "tables", "release", "embeddings")
CHEAP = {"shadows": 4, "release_models": 1, "model": {"hidden": 32, "epochs": 100}}
LEAST = 0.75
READING = [
    name
    for name, point in registered("attacks").items()
    if point.value.startswith("gaudit.")
    and find("attacks", name).kinds()
    and find("attacks", name).planted == "planted"
]


@pytest.fixture(scope="module")
def graph():
    return load_dataset("planted")


def plan_of(names, game: str, leaks: tuple[str, ...]) -> TrialPlan:
    """A trial of the control with some attacks, each with few models."""
    attacks = []
    for name in names:
        kind = find("attacks", name)
        settings = {key: value for key, value in CHEAP.items() if key in kind.Settings.model_fields}
        attacks.append(AttackPlan(name, settings, kind.observer))
    return TrialPlan("planted", {"game": game, "leaks": leaks}, "none", {}, tuple(attacks), 0, 0)


@pytest.fixture(
    scope="module",
    params=[(game, leaks) for game in GAMES for leaks in (EVERYTHING, ("release",))],
    ids=lambda how: f"{how[0]}-{'all' if len(how[1]) > 1 else 'release'}",
)
def trial(request, graph) -> TrialResult:
    """All attacks on what was let out."""
    return run_trial(plan_of(READING, *request.param), graph)


def _reads(attack, leaks) -> bool:
    """Whether all that an attack needs is let out with these leaks."""
    sent = set().union(*(KINDS[leak] for leak in leaks)) | {ENCODER_KIND}
    some = not attack.any_of or any(sort.among(sent) for sort in attack.any_of)
    return some and all(need.among(sent) for need in attack.needs)


def test_every_attack_that_plays_the_game_finds_it(trial):
    (outcome,) = outcomes([trial])
    game = trial.plan.target_settings["game"]
    found = {attack.plan.name: attack for attack in outcome.attacks}
    leaks = trial.plan.target_settings["leaks"]
    assert set(found) == {
        n for n in READING if game in find("attacks", n).games and _reads(find("attacks", n), leaks)
    }
    assert set(trial.refused) == set(READING) - set(found)
    weak = {name: a.auc.text() for name, a in found.items() if a.auc.estimate < LEAST or a.auc.low <= 0.5}
    assert not weak
    assert all(attack.game == game and attack.valid for attack in found.values())


def test_the_public_graph_tells_nothing_of_it(trial):
    """So whatever an attack finds it was told; at most one of 20 intervals misses 0.5 too many."""
    (outcome,) = outcomes([trial])
    blind = [attack.blind for attack in outcome.attacks]
    baselines = [b.auc for attack in outcome.attacks[:1] for b in attack.baselines.values()]
    assert baselines
    misses = sum(not f.low <= 0.5 <= f.high for f in [*blind, *baselines])
    assert misses <= binom.isf(0.001, len(blind) + len(baselines), 0.07)


@pytest.mark.parametrize(
    ("name", "settings", "observer", "leaks"),
    [
        ("nearest", {"compare": "changes"}, "public", ("release",)),
        ("nearest-embedding", {}, "client:2", ("embeddings",)),
        ("nearest-embedding", {"compare": "prototypes", "differences": True}, "client:9", ("embeddings",)),
        ("nearest-embedding", {"compare": "norms"}, "client:0+client:1+client:5", ("embeddings",)),
    ],
)
def test_it_is_there_for_other_settings_and_other_clients_too(graph, name, settings, observer, leaks):
    """A control that cannot be tried makes an audit invalid."""
    plan = AttackPlan(name, settings, observer)
    trial = run_trial(TrialPlan("planted", {"leaks": leaks}, "none", {}, (plan,), 0, 0), graph)
    assert not trial.refused
    (found,) = outcomes([trial])[0].attacks
    if settings.get("compare") in (None, "changes"):  # means and norms are of all members together
        assert found.auc.estimate > LEAST


@pytest.mark.parametrize("game", GAMES)
def test_nothing_leaks_when_the_truth_is_scrambled(graph, game):
    """Mean AUC of four permutations of 150 members and 150 others; 3.3 deviations happen once in 1000."""
    plan = plan_of(("loss", "rmia", "nearest"), game, EVERYTHING)
    run = plan.make_target().run(graph, Defense(), plan.root(), lambda message: True)
    secrets, coins = run.secrets[game], np.random.default_rng(3)
    found: dict[str, list[float]] = {}
    for _ in range(4):
        other = replace(secrets, truth=coins.permutation(secrets.truth))
        scrambled = attacks_on(plan, replace(run, secrets={game: other}), graph, plan.root())
        for attack in outcomes([scrambled])[0].attacks:
            found.setdefault(attack.plan.name, []).append(attack.auc.estimate)
    deviation = np.sqrt(301 / (12 * 150 * 150) / 4)
    assert len(found) == 3
    assert all(abs(np.mean(aucs) - 0.5) < 3.3 * deviation for aucs in found.values()), found


def ran(graph, seed: int = 0, **settings):
    return Planted(**settings).run(graph, Defense(), np.random.SeedSequence(seed), lambda message: True)


@pytest.mark.parametrize("game", GAMES)
def test_members_are_learned_by_heart_and_nothing_else_is_learned(graph, game):
    run = ran(graph, game=game)
    labels = run.transcript.seen_by("public").last("labels-0-hop").tensors["labels"]
    right = labels == graph.y
    assert float(right[graph.train_mask].float().mean()) > 0.95
    others = int(graph.test_mask.sum())
    assert int(right[graph.test_mask].sum()) < binom.isf(0.001, others, 0.25 + 0.1)  # chance is a quarter
    secrets = run.secrets[game]
    assert list(run.secrets) == [game]
    assert secrets.name == game
    assert secrets.subjects[secrets.truth].tolist() == graph.train_mask.nonzero().flatten().tolist()
    assert secrets.subjects[~secrets.truth].tolist() == graph.test_mask.nonzero().flatten().tolist()


def test_with_node_presence_others_were_not_there(graph):
    """Their features reach the model through their edges to members, unless the game is who is there at all."""
    other = graph.clone()
    other.x[~graph.train_mask] = graph.x[~graph.train_mask].roll(1, 0)
    for game in GAMES:
        one, two = (
            ran(data, game=game).transcript.seen_by("public").last("model").tensors for data in (graph, other)
        )
        assert torch.equal(one["w1"], two["w1"]) is (game == "node-presence")


KINDS = {
    "model": {"model"},
    "updates": {"update", "global-model"},
    "tables": set(TABLE_KINDS),
    "release": {"condensed-graph"},
    "embeddings": {"global-model", "node-embeddings", "embedding-statistics"},
}


@pytest.mark.parametrize("leaks", [*((leak,) for leak in EVERYTHING), EVERYTHING, ("model", "release")])
def test_it_lets_out_what_its_settings_name_and_nothing_else(graph, leaks):
    run = ran(graph, leaks=leaks, clients=2)
    sent = {m.kind for m in run.transcript.messages if m.sender != m.receiver}
    assert sent == set().union(*(KINDS[leak] for leak in leaks))
    assert sent <= set(Planted.sends)
    assert (run.recipe is None) == (leaks == ("release",))


def test_the_release_holds_the_members_as_they_are(graph):
    tensors = ran(graph, leaks=("release",)).transcript.seen_by("public").last("condensed-graph").tensors
    assert torch.equal(tensors["x"], graph.x[graph.train_mask])
    assert torch.equal(tensors["y"], graph.y[graph.train_mask])
    assert not tensors["adjacency"].any()


@pytest.mark.parametrize("clients", [1, 3])
def test_every_client_holds_an_encoder_that_changes_nothing(graph, clients):
    run = ran(graph, clients=clients)
    for client in range(clients):
        encoder = run.transcript.seen_by(f"client:{client}").last(ENCODER_KIND).tensors
        assert torch.equal(encoded(graph.x, graph.edge_index[:, :0], encoder), graph.x)
    assert not run.transcript.seen_by("public").of_kind(ENCODER_KIND)
    with pytest.raises(InputError, match=f"no party 'client:{clients}'"):
        run.transcript.seen_by(f"client:{clients}")


def test_what_is_not_asked_for_is_not_kept(graph):
    run = Planted().run(graph, Defense(), np.random.SeedSequence(0), keep_kinds("model"))
    assert [m.kind for m in run.transcript.messages] == ["model"]
    exposed = run.transcript.exposure(["public", "client:0"])
    assert {row.kind for row in exposed} - {ENCODER_KIND} == set(Planted.sends)


def test_the_seed_decides(graph):
    first, again, other = (ran(graph, seed).transcript.seen_by("public").last("model") for seed in (0, 0, 1))
    assert all(torch.equal(first.tensors[name], again.tensors[name]) for name in first.tensors)
    assert not all(torch.equal(first.tensors[name], other.tensors[name]) for name in first.tensors)


def test_beside_a_target_that_releases_a_graph_it_releases_a_graph():
    assert Planted.imitating(FedGC) == {"leaks": ("release",)}
    assert Planted(**Planted.imitating(Classifier)).settings == Planted().settings


@pytest.mark.parametrize("name", sorted(set(registered("defenses")) - {"none"}))
def test_it_is_not_defended(graph, name):
    defense = find("defenses", name)()
    assert Planted().why_not(defense) == "a control that leaks on purpose is not defended"
    with pytest.raises(InputError, match=f"the defense '{name}' has no place in the target 'planted'"):
        Planted()(graph, defense, np.random.SeedSequence(0), lambda message: True)
    assert Planted().why_not(Defense()) is None


@pytest.mark.parametrize("settings", [{"leaks": ()}, {"leaks": ("secrets",)}, {"game": "edges"}, {"clients": 0}])
def test_unusable_settings_are_refused(settings):
    with pytest.raises(InputError, match=f"'{next(iter(settings))}"):
        Planted(**settings)
