"""The controls that every registered class must pass, as functions of its name: of gaudit's own, and of wrong ones.

Each raises AssertionError (or the InputError that gaudit raises itself) for a class that fails. Nothing here names
a class, but for `IN_WORDS`: what a defense claims in words that no number and no ``verify`` stands for.
"""

import atexit
import math
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import numpy as np
import torch
from pydantic import BaseModel, ValidationError
from torch_geometric.data import Data

from gaudit.audit.claims.claim_check import check_claim
from gaudit.audit.planning.resolve import merged
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.results.assemble import PLANTED_AUC
from gaudit.audit.running.trial import TrialResult, attacks_on
from gaudit.audit.statistics.metrics import auc, auc_finding
from gaudit.audit.statistics.scored_subjects import ScoredSubjects
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.graphs.files.network_file import write_network
from gaudit.graphs.network import Network
from gaudit.graphs.pyg import data_of
from gaudit.mechanisms.guarantee import Guarantee
from gaudit.mechanisms.mechanism import Mechanism
from gaudit.registry import find, registered
from gaudit.targets.channel import Channel
from gaudit.targets.controls.control import PlantedLeak
from gaudit.targets.defense import Defense
from gaudit.targets.external.service import KeptAnswers
from gaudit.targets.game import Game
from gaudit.targets.games.identities import Identity
from gaudit.targets.messages import GRADIENT_KIND, KINDS
from gaudit.targets.party import Client
from gaudit.targets.target import Run, Target
from support.sixty_nodes import sixty_nodes
from support.typed_networks import typed

SEED = 0
ERROR = 1e-4
"""How often a null control may call a sound attack wrong."""
DRAWS = 19_999
"""Permutations of which an exact test of that level is made: (1 + as far off) / (1 + DRAWS)."""


def ours(group: str) -> list[str]:
    """All names that gaudit itself registers in a group."""
    return [name for name, point in registered(group).items() if point.value.startswith("gaudit.")]


# --- cheap settings, by what they are called

CHEAP = {
    "clients": 3,
    "epochs": 2,
    "experts": 1,
    "expert_epochs": 4,
    "feature_steps": 1,
    "hidden": 8,
    "inner": 1,
    "latent": 4,
    "local_epochs": 1,
    "models": 1,
    "outer": 2,
    "ratio": 0.2,
    "rebuilding_steps": 2,
    "refinements": 2,
    "rounds": 2,
    "self_training_rounds": 2,
    "start_every": 1,
    "start_last": 1,
    "steps": 3,
    "structure_steps": 1,
    "student_steps": 2,
    "tune_epochs": 1,
    "checkpoints": (1, 2),
    "measures": ("degree-distribution",),
}
"""Enough to run once and to say something; a setting that is called something else keeps its default."""
SHORTER = {"model": {"hidden": 64, "epochs": 100}, "shadows": 16, "release_models": 1}
"""Of attacks that train models on a release: enough to find what was planted."""


def cheap(settings: type[BaseModel], values: dict[str, Any] = CHEAP) -> dict[str, Any]:
    """Those of ``values`` that some settings know, also in settings within them."""
    found: dict[str, Any] = {}
    for name, field in settings.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            found[name] = cheap(inner, values.get(name, values))
        elif name in values:
            found[name] = values[name]
    return {name: value for name, value in found.items() if value != {}}


# --- attacks: what was planted is found, and nothing where the truth is another


@dataclass(frozen=True, eq=False)
class Control:
    """One run of a target that leaks on purpose, everything kept.

    Attributes:
        name: of the target.
        settings: its settings.
        data: the graph that it runs on.
        run: what came of it.
    """

    name: str
    settings: dict[str, Any]
    data: Data
    run: Run

    def plan(self, attack: AttackPlan) -> TrialPlan:
        return TrialPlan(self.name, self.settings, "none", {}, (attack,), SEED, 0)

    def attacked(self, attack: AttackPlan, truth: Callable[[Game], Game] = lambda s: s) -> TrialResult:
        """What an attack gets out of that run, where the referee and all that is granted go by another truth."""
        plan = self.plan(attack)
        run = replace(self.run, secrets={game: truth(secrets) for game, secrets in self.run.secrets.items()})
        return attacks_on(plan, run, self.data, plan.root())


@cache
def _control(name: str, asked: tuple[tuple[str, Any], ...]) -> Control:
    kind: type[Target] = find("targets", name)
    settings, data = kind(**dict(asked)).settings.model_dump(), load_dataset(str(kind.dataset))
    root = TrialPlan(name, settings, "none", {}, (), SEED, 0).root()
    run = kind(**settings)(data, find("defenses", "none")(), root, lambda message: True)
    return Control(name, settings, data, run)


def controls(attack: str) -> Iterator[Control]:
    """The runs on which an attack must find what was planted.

    As in an audit, the control plays the game of the target that it stands beside and lets out what that lets out:
    here it plays each game of the attack, and then stands in for each registered target that makes it do otherwise.
    """
    kind = find("attacks", attack)
    planted: type[Target] = find("targets", kind.planted)
    plays = [{"game": game} for game in kind.games] if "game" in planted.Settings.model_fields else [{}]
    imitated = [planted.imitating(find("targets", target)) for target in ours("targets")]
    others = [one for k, one in enumerate(imitated) if one and one not in imitated[:k]]
    for asked in [*plays, *({**plays[0], **other} for other in others)]:
        yield _control(kind.planted, tuple(asked.items()))


def attack_plan(attack: str, control: Control) -> AttackPlan:
    """The attack as `quick` audits plan it; shorter where it would train models on a release."""
    kind = find("attacks", attack)
    settings = kind.preset("quick")
    if control.run.recipe is None:
        settings = merged(settings, cheap(kind.Settings, SHORTER))
    return AttackPlan(attack, settings, kind.observer)


@cache
def unchanged(attack: str, control: Control) -> TrialResult:
    """What the attack gets out of a control."""
    return control.attacked(attack_plan(attack, control))


def check_planted_is_found(attack: str) -> None:
    """The attack finds what was planted for it, wherever it can be mounted; that must be somewhere.

    Found is what an audit calls so: an AUC of `PLANTED_AUC`, and an interval above 0.5. An attack that reads no
    message is a baseline. It must find nothing there, since graphs with planted leaks tell nothing by themselves:
    its 99.99 % interval holds 0.5.
    """
    reads, refused, tried = find("attacks", attack).kinds(), {}, 0
    for control in controls(attack):
        result = unchanged(attack, control)
        refused |= result.refused
        for attacked in result.attacked:
            tried += 1
            found = auc_finding([attacked.judged], 0.95 if reads else 1 - ERROR)
            said = f"{attack} on {control.name} {control.settings}: {found.text(3)}"
            assert found.low is not None, said
            if reads:
                assert found.estimate >= PLANTED_AUC, said
                assert found.low > 0.5, said
            else:
                assert found.low <= 0.5 <= found.high, said
    assert tried, f"{attack} could not be mounted on what was planted for it: {refused}"


def check_scoring(attack: str) -> None:
    """With the truth permuted after the fact, the mean AUC over 20 permutations is 0.5.

    Within four standard errors, exact for permutations if no scores are equal (Mann and Whitney 1947); with equal
    scores the error is smaller. This checks how scores become numbers, not the attack.
    """
    for attacked in unchanged(attack, next(controls(attack))).attacked:
        judged, rng = attacked.judged, np.random.default_rng(SEED)
        members = int(judged.truth.sum())
        others = len(judged.truth) - members
        aucs = [auc(again.truth, again.score) for again in (judged.scrambled(rng) for _ in range(20))]
        error = math.sqrt((members + others + 1) / (12 * members * others) / 20)
        assert abs(np.mean(aucs) - 0.5) <= 4 * error, f"{attack}: {np.mean(aucs)} with the truth permuted"


def redrawn(secrets: Game) -> Game:
    """A truth that has nothing to do with the run: as many members, drawn again from the same subjects.

    Edges are drawn again within each client, since an adversary knows how many each of them has. Of identities it
    is drawn again which published node each person is.
    """
    rng = np.random.default_rng(SEED)
    if isinstance(secrets, Identity):
        of_people, others = np.split(secrets.image, [secrets.people])
        return replace(secrets, image=np.concatenate([rng.permutation(of_people), others]))
    truth = secrets.truth.copy()
    owners = np.zeros(len(truth)) if secrets.owners is None or secrets.pairs_of is None else secrets.owners
    for owner in np.unique(owners):
        truth[owners == owner] = rng.permutation(truth[owners == owner])
    return replace(secrets, truth=truth)


def check_null(attack: str) -> None:
    """An attack that sees the same messages is at chance about a truth that is independent of them.

    The truth is drawn again *before* knowledge is granted, so whatever reaches the attack from the referee's side
    (labels, counts, links told beforehand, the order of subjects, shadow models) goes with the new truth, and only
    what was let out with the old one: nothing leaks. Whoever finds the new truth has seen it. The AUC is compared
    with those of ``DRAWS`` permutations of that truth, which is an exact test: a sound attack fails it with
    probability 1e-4 at most, and as often does its blind version. Of identities it is nearly exact: each of n
    persons is one node only, which leaves the sum of members' ranks at most n / (n - 1) times the variance
    (Hoeffding 1951).
    """
    results = [control.attacked(attack_plan(attack, control), redrawn) for control in controls(attack)]
    mounted = [attacked for result in results for attacked in result.attacked]
    assert mounted, f"{attack} could not be mounted: {results[0].refused}"
    for attacked in mounted:
        for name, judged in (("", attacked.judged), (" blind", attacked.blind)):
            chance = chance_of(judged)
            value = auc(judged.truth, judged.score)
            assert chance > ERROR, f"{attack}{name}: AUC {value:.3f} where nothing leaks (p = {chance:.1g})"


def chance_of(judged: ScoredSubjects) -> float:
    """How likely an AUC as far from 0.5 is if the truth is a random permutation: exact for any number of draws.

    Draws stop early where many were as far off already (Besag and Clifford 1991), which leaves the test exact.
    """
    ranks, rng = _centred_ranks(judged.score), np.random.default_rng(SEED)
    seen, fewer = abs(float(ranks[judged.truth].sum())), min(int(judged.truth.sum()), int((~judged.truth).sum()))
    further = 0
    for draw in range(1, DRAWS + 1):
        drawn = rng.choice(len(ranks), fewer, replace=False, shuffle=False)
        further += abs(float(ranks[drawn].sum())) >= seen - 1e-6
        if further == 20:
            return further / draw
    return (1 + further) / (1 + DRAWS)


def _centred_ranks(score: np.ndarray) -> np.ndarray:
    """Midranks less their mean: members' sum, and others' sum turned, is the AUC less 0.5, times a constant."""
    _, place, counts = np.unique(score, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[place] - (len(score) + 1) / 2


# --- defenses: what they promise, and the trivial alternative


def variants(settings: type[BaseModel]) -> Iterator[dict[str, Any]]:
    """The defaults, and one by one all other choices of settings that have a few to choose from."""
    yield {}
    for name, field in settings.model_fields.items():
        kind = field.annotation
        options = (True, False) if kind is bool else get_args(kind) if get_origin(kind) is Literal else ()
        for option in options:
            with suppress(ValidationError):  # it goes with another setting only
                yield settings(**{name: option}).model_dump(include={name})


IN_WORDS_OF = {
    "edge": ("edge",),
    "node": ("node",),
    "node-label": ("label",),
    "node-features": ("features",),
    "client": ("client", "upload"),
}
"""How a sentence calls a unit of protection."""


def check_guarantee(defense: str) -> None:
    """What a defense says that it guarantees is there: as a claim that is not refuted, or read off its output.

    With settings for which it promises differential privacy, its sentence names the unit, and runs of a mechanism
    that is registered under its name, or of the defense itself on two neighbouring clients, do not refute it (at
    99.9 %: 0.001 false alarms may be expected of each). If it has a `verify`, that holds on what it makes of small
    networks, and can fail. What it claims in words alone is checked by `IN_WORDS`.
    """
    kind: type[Defense] = find("defenses", defense)
    promises = [(v, promise) for v in variants(kind.Settings) if (promise := kind(**v).promise()) is not None]
    if kind.guarantee is None:
        assert not promises, f"{defense} promises {promises[0][1].sentence()} and its 'guarantee' is None"
        return
    checked = 0
    for settings, promise in promises[:1]:
        words = IN_WORDS_OF[promise.unit]
        assert any(word in kind.guarantee for word in words), f"{defense}: '{kind.guarantee}' names no {words}"
        assert f"{promise.unit}-level" in promise.sentence()
        claims = list(_claims(defense, kind, settings, promise))
        for mechanism in claims:
            promised = mechanism.guarantee
            assert (promised.unit, promised.adjacency) == (promise.unit, promise.adjacency)
            check = check_claim(mechanism, 300, SEED, level=0.999)
            assert not check.refuted, check.sentence()
        checked += len(claims)
    if kind.verify is not Defense.verify:
        check_verify(defense)
        checked += 1
    if defense in IN_WORDS:
        IN_WORDS[defense](kind())
        checked += 1
    assert checked, (
        f"{defense} guarantees '{kind.guarantee}', and nothing here checks that: give it 'promise' and a mechanism "
        "of its name, or 'verify', or a check among IN_WORDS in tests/support/registry_controls.py"
    )


def _claims(name: str, kind: type[Defense], settings: dict[str, Any], promise: Guarantee) -> Iterator[Mechanism]:
    if name in registered("mechanisms"):
        yield find("mechanisms", name)()
    weak = {"epsilon": 1.0} if "epsilon" in kind.Settings.model_fields else {}
    if kind.hooks() == ("on_data",) and promise.unit in ("edge", "node-label", "node-features"):
        yield OneUnit(kind(**{**settings, **weak}))


class OneUnit(Mechanism):
    """A defense of a client's data on two clients that differ in one edge, label or row of features."""

    name = "one-unit"

    def __init__(self, defense: Defense) -> None:
        super().__init__()
        promise = defense.promise()
        assert promise is not None
        self.defense, self.promise = defense, promise
        self.differ_in, self.differ_by = promise.unit, promise.adjacency  # type: ignore[misc]

    @property
    def guarantee(self) -> Guarantee:
        return self.promise

    def inputs(self) -> tuple[Client, Client]:
        client, linked = pair_of_nodes(), torch.tensor([[0, 1], [1, 0]])
        other = {"edge": {"edges": linked}, "node-label": {"y": FIRST, "y_train": FIRST}}
        return client, replace(client, **other.get(self.differ_in, {"x": FIRST[:, None].float()}))

    def release(self, data: Client, rng: np.random.Generator) -> Client:
        seed = np.random.SeedSequence(int(rng.integers(2**63)))
        return self.defense.on_data(data, None, seed, lambda kind, tensors: None)

    def score(self, released: Client) -> float:
        told = {"edge": released.edges, "node-label": released.y_train[:1]}.get(self.differ_in, released.x[:1])
        return float(told.shape[1] if self.differ_in == "edge" else told.sum())


FIRST = torch.tensor([1, 0])


def pair_of_nodes() -> Client:
    """A client of two nodes with labels that are trained on, and no edge."""
    none, two = torch.zeros(2, dtype=torch.bool), torch.zeros(2, dtype=torch.long)
    no_edges = torch.empty((2, 0), dtype=torch.long)
    return Client(0, torch.arange(2), torch.zeros(2, 1), two, two, ~none, none, none, ~none, no_edges, no_edges, 2)


NODES = 40


def check_verify(defense: str) -> None:
    """Its `verify` holds on what the defense makes of networks of 40 nodes, and does not on something else.

    Something else is the network as it was, or with one edge fewer or more, or another network: a check that calls
    all of these right checks nothing.
    """
    kind: type[Defense] = find("defenses", defense)
    strengths = kind.strengths_for(NODES)
    settings = {kind.strength: strengths[0]} if kind.strength and strengths else {}
    made, wrong = kind(**settings), []
    for seed in range(2):
        network, other = (typed(NODES, s, kinds=2, share=0.06) for s in (seed, seed + 100))
        after = made.on_graph(network, np.random.SeedSequence(seed))
        verified = made.verify(network, after)
        assert verified is not None, f"{defense} does not verify what it made"
        assert verified.holds, f"{defense}: {verified.guarantee}: {verified.detail}"
        assert verified.guarantee
        fewer = replace(network, edges=network.edges[:, 1:], types=network.types[1:])
        wrong += [made.verify(network, bad).holds for bad in (network, fewer, _one_more(network), other)]
    assert not all(wrong), f"the check of {defense} holds whatever was published"


def _one_more(network: Network) -> Network:
    """With an edge between the first two nodes that have none, of type 0."""
    one, other = (ends[0] for ends in np.nonzero(np.triu(network.adjacency.toarray() == 0, 1)))
    low, high = network.edges
    types = np.append(network.types, 0)
    return Network.from_edges(network.nodes, np.append(low, one), np.append(high, other), types=types)


def _no_features_are_used(defense: Defense) -> None:
    """Clients that differ in features alone become the same."""
    client = pair_of_nodes()
    one, other = (
        defense.on_data(c, None, np.random.SeedSequence(SEED), lambda kind, tensors: None)
        for c in (client, replace(client, x=FIRST[:, None].float()))
    )
    assert torch.equal(one.x, other.x)


def _only_the_norm_is_uploaded(defense: Defense) -> None:
    """Uploads of the same norm and shape become the same."""
    sent = []
    for upload in (torch.tensor([3.0, 4.0]), torch.tensor([0.0, -5.0])):
        channel = Channel(mods=(defense.on_message(np.random.SeedSequence(SEED)),))
        sent.append(channel.send(GRADIENT_KIND, "client:0", "server", 0, {"w": upload})["w"])
    torch.testing.assert_close(*sent)


def _degrees_stay_in_expectation(defense: Defense) -> None:
    """On a network without odd cycles, where walks of three steps never lead back: within five standard errors."""
    star_and_path = Network.from_edges(8, [0, 0, 0, 0, 4, 5, 6], [1, 2, 3, 4, 5, 6, 7])
    made = type(defense)(steps=3, simple=False)
    found = np.zeros((800, 8))
    for run, degrees in enumerate(found):
        after = made.on_graph(star_and_path, np.random.SeedSequence(run))
        for end in after.edges:
            np.add.at(degrees, end, after.weights)
    error = np.maximum(found.std(0, ddof=1), 1e-9) / math.sqrt(len(found))
    assert (np.abs(found.mean(0) - star_and_path.degrees) <= 5 * error + 1e-9).all()


IN_WORDS: dict[str, Callable[[Defense], None]] = {
    "no-features": _no_features_are_used,
    "noise-instead": _only_the_norm_is_uploaded,
    "random-walk": _degrees_stay_in_expectation,
}
"""Checks of what defenses claim in words alone, by name of the defense."""


def check_alternative(defense: str) -> None:
    """Its trivial alternative is registered and trivial, and both run in the first target that admits them.

    A defense without one is trivial itself, or the control. Every hook that it fills is called in that run, else
    the target refuses; a run has a utility, but where numbers of edges are published instead of edges.
    """
    kind: type[Defense] = find("defenses", defense)
    if kind is Defense:
        assert not kind.hooks()
    else:
        assert kind.hooks(), f"{defense} does nothing"
        assert kind.trivial or kind.alternative is not None, f"{defense} names no trivial alternative"
    names = [defense] if kind.alternative is None else [defense, kind.alternative]
    assert all(find("defenses", name).trivial for name in names[1:]), f"{kind.alternative} is not trivial"
    target = _place(names)
    for name in names:
        run = ran(target, name)
        counted = any("counts" in message.tensors for message in run.transcript.messages)
        assert math.isfinite(run.utility.test) or counted, f"{name} in {target}: no utility"


def _place(defenses: list[str]) -> str:
    """The first target, not a control, that all of these defenses have a place in."""
    made = [_quick(defense) for defense in defenses]
    for name in ours("targets"):
        kind: type[Target] = find("targets", name)
        if issubclass(kind, PlantedLeak) or name in BRINGS:
            continue
        target = kind(**cheap(kind.Settings))
        if all(target.why_not(defense) is None for defense in made):
            return name
    raise AssertionError(f"no target has a place for {' and '.join(defenses)}")


def _quick(defense: str) -> Defense:
    kind: type[Defense] = find("defenses", defense)
    made: Defense = kind(**merged(kind.preset("quick"), cheap(kind.Settings)))
    return made


@cache
def _brought(target: str) -> dict[str, Any]:
    """Settings of a target that audits what a user brings: functions, or files made here."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return BRINGS[target](folder)


def _record(folder: Path) -> dict[str, Any]:
    """Of a classifier on the dataset's own masks."""
    kind = find("targets", "classifier")
    settings = {**cheap(kind.Settings), "split": "dataset"}
    run = kind(**settings)(sixty_nodes(), _quick("none"), np.random.SeedSequence(SEED), lambda message: True)
    run.transcript.save(folder / "run.safetensors")
    return {"transcripts": (str(folder / "run.safetensors"),)}


def _functions(folder: Path) -> dict[str, Any]:
    return {"fit": "support.own_models:train", "predict": "support.own_models:ask"}


def _scores(folder: Path) -> dict[str, Any]:
    rows = [f"{i},{i % 2},{i / 7}" for i in range(40)]
    (folder / "scores.csv").write_text("\n".join(["id,member,score", *rows]))
    return {"file": str(folder / "scores.csv")}


def _released(folder: Path) -> dict[str, Any]:
    np.savez(folder / "release.npz", x=sixty_nodes().x[:6].numpy())
    return {"file": str(folder / "release.npz")}


def _published(folder: Path) -> dict[str, Any]:
    write_network(typed(NODES, SEED, kinds=2, share=0.06), folder / "after.npz")
    return {"after": str(folder / "after.npz"), "measures": CHEAP["measures"]}


def _service(folder: Path) -> dict[str, Any]:
    """One whose answers are there already: nobody is asked."""
    data, url = sixty_nodes(), "http://127.0.0.1:1/"
    row = np.full(int(data.y.max()) + 1, 1 / (int(data.y.max()) + 1))
    answers = KeptAnswers(folder, url, data)
    answers.save({query: dict.fromkeys(range(len(data.y)), row) for query in ("full", "0-hop")})
    return {"url": url, "budget": 2 * len(data.y), "answers": str(folder)}


BRINGS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "recorded": _record,
    "own": _functions,
    "scores": _scores,
    "released": _released,
    "published": _published,
    "service": _service,
}
"""How a user would set targets that bring something of the user's; nothing else is set by default."""


@cache
def ran(target: str, defense: str = "none") -> Run:
    """A run of a target with cheap settings on a small graph, everything kept."""
    kind: type[Target] = find("targets", target)
    if kind.dataset is not None:
        data, made = load_dataset(kind.dataset), kind()
    else:
        made = kind(**_brought(target)) if target in BRINGS else kind(**cheap(kind.Settings))
        plain = data_of(typed(NODES, SEED, kinds=2, share=0.06)) if kind.plain else sixty_nodes()
        data = made.own_graph() if kind.brings_graph else plain
    return made(data, _quick(defense), np.random.SeedSequence(SEED), lambda message: True)


# --- targets: what they send, what they ask, and who can ask it


def check_messages(target: str) -> None:
    """What anybody saw of a run is declared, and named by the target, or was held and never sent."""
    kind: type[Target] = find("targets", target)
    run = ran(target)
    tallies = run.transcript.tallies.values()
    held = {tally.kind for tally in tallies if tally.sender == tally.receiver}
    sent = {tally.kind for tally in tallies if tally.sender != tally.receiver}
    rows = run.transcript.exposure(["public", *run.transcript.parties()])
    seen = {row.kind for row in rows}
    assert seen <= set(KINDS), f"{target} sent {seen - set(KINDS)}, which nobody declared"
    assert sent <= set(kind.sends), f"{target} sent {sent - set(kind.sends)}, which it does not name"
    assert seen <= sent | held, f"{seen - sent - held} was seen and neither sent nor held"
    assert kind.runs_elsewhere or kind.release in seen, f"{target} never let out its release, {kind.release}"
    assert 0 <= run.chosen < len(run.utilities)


def check_games(target: str) -> None:
    """Each game that the target offers has both truths, and an attack that plays it and a leak planted for that."""
    kind: type[Target] = find("targets", target)
    for game, secrets in ran(target).secrets.items():
        assert secrets.name == game
        assert game in kind.games, f"{target} offers {game}, and does not say so"
        assert game in ours("games"), f"{target} offers {game}, and nothing says what that protects"
        assert len(secrets.subjects) == len(secrets.truth) == len(np.unique(secrets.subjects))
        assert secrets.truth.any(), f"{target}: nobody is a member in {game}"
        assert not secrets.truth.all(), f"{target}: everybody is a member in {game}"
        playing = [name for name in ours("attacks") if game in find("attacks", name).games]
        reading = [name for name in playing if find("attacks", name).kinds()]
        planted = (control.run.secrets for name in reading for control in controls(name))
        assert any(game in offered for offered in planted), f"no attack that plays {game} has a planted leak of it"
