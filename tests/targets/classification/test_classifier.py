"""A trained node classifier: who is a member, what is sent, and what the weights depend on."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import binom
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.utils import stochastic_blockmodel_graph

from gaudit.audit.games.referee import in_question
from gaudit.errors import InputError
from gaudit.graphs.checks import check_graph
from gaudit.registry import find, registered
from gaudit.targets.channel import keep_kinds
from gaudit.targets.classification.classifier import Classifier
from gaudit.targets.defense import Defense
from gaudit.targets.messages import Carries, Carrying
from gaudit.targets.models.model_ensemble import train_models
from gaudit.targets.models.own_rows import hidden_rows
from gaudit.targets.models.training_config import TrainingConfig
from gaudit.targets.models.training_task import TrainingTask
from support.kinds import HELD

NODES, CLASSES = 60, 3
SMALL = {"hidden": 6, "epochs": 12, "dropout": 0.25}
GAMES = ("label-membership", "node-presence")
TABLES = [f"{what}-{how}" for how in ("full", "0-hop", "apart") for what in ("posteriors", "labels")]


@pytest.fixture(scope="module")
def graph() -> Data:
    torch.manual_seed(0)
    y = torch.arange(NODES) % CLASSES
    order = y.argsort()
    blocks = stochastic_blockmodel_graph([20] * 3, [[0.2 if i == j else 0.03 for i in range(3)] for j in range(3)])
    masks = {name: torch.arange(NODES) % 4 == k for k, name in enumerate(("train_mask", "val_mask", "test_mask"))}
    x = torch.randn(NODES, 5) + F.one_hot(y, 5)
    return check_graph(Data(x=x, y=y, edge_index=order[blocks], **masks), "sixty")


def ran(data: Data, seed: int = 0, recipe: dict | None = None, keep=lambda message: True, **settings):
    target = Classifier(recipe=SMALL | (recipe or {}), **settings)
    return target.run(data, find("defenses", "none")(), np.random.SeedSequence(seed), keep)


def content(run) -> list:
    """Every header and every byte that was kept."""
    return [
        (m.kind, m.sender, m.receiver, m.round, {name: t.numpy().tobytes() for name, t in m.tensors.items()})
        for m in run.transcript.messages
    ]


def told(run, game: str = "label-membership") -> tuple[np.ndarray, np.ndarray]:
    """Members and non-members."""
    secrets = run.secrets[game]
    return secrets.subjects[secrets.truth], secrets.subjects[~secrets.truth]


def published(run) -> dict[str, torch.Tensor]:
    return dict(run.transcript.seen_by("public").last("model").tensors)


def same_weights(run, other) -> bool:
    one, two = published(run), published(other)
    return all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize(("in_question_", "members"), [(0.8, 0.5), (1.0, 0.5), (0.5, 0.2), (1.0, 0.9)])
@pytest.mark.parametrize("game", GAMES)
def test_members_are_exactly_as_many_as_asked_for(graph, game, in_question_, members):
    run = ran(graph, game=game, in_question=in_question_, members=members)
    secrets, count = run.secrets[game], round(in_question_ * NODES)
    assert len(set(secrets.subjects)) == len(secrets.subjects) == count
    assert secrets.truth.sum() == round(members * count)
    assert (secrets.name, run.tested) == (game, (~secrets.truth).sum())
    assert bool((np.diff(secrets.subjects) > 0).all())


def test_every_node_is_as_likely_a_member_as_any_other(graph):
    """Binomial(150, 0.4) for each of 60 nodes; some node out of bounds by chance once in 1000."""
    times = np.zeros(NODES)
    for seed in range(150):
        members, _ = told(ran(graph, seed, {"epochs": 1, "hidden": 1}, publish=()))
        times[members] += 1
    low, high = binom.ppf([0.0005 / NODES, 1 - 0.0005 / NODES], 150, 0.4)
    assert low <= times.min() <= times.max() <= high


def test_with_the_datasets_split_train_nodes_stand_against_test_nodes(graph):
    members, others = told(ran(graph, split="dataset"))
    assert members.tolist() == graph.train_mask.nonzero().flatten().tolist()
    assert others.tolist() == graph.test_mask.nonzero().flatten().tolist()


@pytest.mark.parametrize("game", GAMES)
def test_the_weights_are_those_of_a_model_trained_on_the_members(graph, game):
    """A plain loop of the definition, dense and with autograd; without dropout nothing is drawn but the start."""
    recipe = TrainingConfig(**SMALL | {"dropout": 0.0, "epochs": 30})
    start, run = (
        ran(graph, recipe={"dropout": 0, "epochs": e, "lr": lr}, game=game) for e, lr in ((1, 1e-12), (30, 0.01))
    )
    members = torch.from_numpy(told(run, game)[0])
    weights = {name: w.clone().requires_grad_() for name, w in published(start).items()}
    inside = torch.zeros(NODES, dtype=torch.bool)
    inside[members] = True
    edges = graph.edge_index
    if game == "node-presence":
        edges = edges[:, inside[edges[0]] & inside[edges[1]]]
    optimiser = torch.optim.Adam(weights.values(), lr=recipe.lr, weight_decay=recipe.weight_decay)
    for _ in range(recipe.epochs):
        optimiser.zero_grad()
        F.cross_entropy(dense_gcn(weights, graph.x, edges)[members], graph.y[members]).backward()
        optimiser.step()
    for name, weight in published(run).items():
        torch.testing.assert_close(weight, weights[name].detach(), atol=1e-4, rtol=1e-3)


def dense_gcn(weights: dict[str, torch.Tensor], x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
    """A two-layer GCN (Kipf and Welling 2017, equation 9)."""
    adjacency = torch.eye(len(x))
    adjacency[edges[1], edges[0]] = 1
    scale = adjacency.sum(1).rsqrt()
    step = scale[:, None] * adjacency * scale
    return step @ (step @ x @ weights["w1"] + weights["b1"]).relu() @ weights["w2"] + weights["b2"]


@pytest.mark.parametrize("clients", [1, 3])
def test_label_membership_uses_every_node_and_edge_but_only_members_labels(graph, clients):
    run = ran(graph, clients=clients)
    members, others = told(run)
    nobody = np.setdiff1d(np.arange(NODES), members)
    relabelled = graph.clone()
    relabelled.y[nobody] = (graph.y[nobody] + 1) % CLASSES
    assert content(ran(relabelled, clients=clients)) == content(run)
    for node, changes in ((members[0], True), (others[0], False)):
        relabelled = graph.clone()
        relabelled.y[node] = (graph.y[node] + 1) % CLASSES
        assert same_weights(ran(relabelled, clients=clients), run) is not changes
    moved, cut = graph.clone(), graph.clone()
    node = max(others, key=lambda n: int((graph.edge_index[0] == n).sum()))
    moved.x[node] += 1
    cut.edge_index = graph.edge_index[:, (graph.edge_index != node).all(0)]
    assert not same_weights(ran(moved, clients=clients), run)
    assert not same_weights(ran(cut, clients=clients), run)


@pytest.mark.parametrize("clients", [1, 3])
def test_node_presence_uses_the_members_subgraph_and_nothing_else(graph, clients):
    how = {"game": "node-presence", "clients": clients}
    run = ran(graph, **how)
    members, _ = told(run, "node-presence")
    inside = torch.zeros(NODES, dtype=torch.bool)
    inside[torch.from_numpy(members)] = True
    among = inside[graph.edge_index].all(0)
    other = graph.clone()
    other.x[~inside] += 1
    other.y[~inside] = (graph.y[~inside] + 1) % CLASSES
    other.edge_index = graph.edge_index[:, among]  # no edge leads to a non-member any more
    assert same_weights(ran(other, **how), run)
    moved, cut = graph.clone(), graph.clone()
    moved.x[members[0]] += 1
    cut.edge_index = graph.edge_index[:, ~among]
    assert not same_weights(ran(moved, **how), run)
    assert not same_weights(ran(cut, **how), run)


@pytest.mark.parametrize(
    "how",
    [{}, {"game": "node-presence"}, {"clients": 3, "rounds": 2}, {"recipe": {"architecture": "gat", "heads": 2}}],
)
def test_the_seed_decides_everything(graph, how):
    run, again, other = ran(graph, 1, **how), ran(graph, 1, **how), ran(graph, 2, **how)
    assert content(run) == content(again)
    assert run.utilities[0].test == again.utilities[0].test
    assert content(run) != content(other)


@pytest.mark.parametrize("game", GAMES)
def test_tables_hold_what_the_published_model_answers(graph, game):
    run = ran(graph, game=game)
    view, weights = run.transcript.seen_by("public"), published(run)
    inside = torch.zeros(NODES, dtype=torch.bool)
    inside[torch.from_numpy(told(run, game)[0])] = True
    edges = graph.edge_index
    asked = {"full": edges, "0-hop": edges[:, :0], "apart": edges[:, inside[edges[0]] == inside[edges[1]]]}
    for name, among in asked.items():
        expected = dense_gcn(weights, graph.x, among).softmax(1)
        soft, hard = (view.last(f"{what}-{name}").tensors for what in ("posteriors", "labels"))
        assert soft["nodes"].tolist() == hard["nodes"].tolist() == list(range(NODES))
        torch.testing.assert_close(soft["posteriors"], expected, atol=1e-5, rtol=1e-4)
        assert torch.equal(hard["labels"], soft["posteriors"].argmax(1))


@pytest.mark.parametrize("what", [(), ("model",), ("posteriors",), ("labels",), ("model", "labels")])
def test_the_public_gets_what_is_published_and_nothing_else(graph, what):
    sent = ran(graph, publish=what).transcript.messages
    tables = [kind for kind in TABLES if kind.split("-")[0] in what]
    assert sorted(m.kind for m in sent) == sorted(["model"] * ("model" in what) + tables)
    assert {(m.sender, m.receiver, m.round) for m in sent} <= {("server", "public", 1)}


def test_only_what_is_asked_for_is_kept_and_all_is_counted(graph):
    run = ran(graph, keep=keep_kinds("posteriors-full"))
    assert [m.kind for m in run.transcript.messages] == ["posteriors-full"]
    assert sorted(row.kind for row in run.transcript.exposure(["public"])) == sorted(["model", *TABLES])


@pytest.mark.parametrize("game", GAMES)
def test_accuracy_is_that_on_non_members_as_the_owner_asks(graph, game):
    run = ran(graph, game=game)
    how = "apart" if game == "node-presence" else "full"
    labels = run.transcript.seen_by("public").last(f"labels-{how}").tensors["labels"]
    right = (labels == graph.y).numpy()
    members, others = told(run, game)
    assert run.utility.test == pytest.approx(right[others].mean())
    fitted, generalised = (f"{100 * right[nodes].mean():.1f} %" for nodes in (members, others))
    assert run.notes == (f"accuracy {fitted} on members, {generalised} on non-members",)
    assert run.recipe == TrainingConfig(**SMALL)


def federated(graph, **changes):
    return ran(graph, **{"clients": 3, "rounds": 4, "members": 0.4, "recipe": {"dropout": 0.0}} | changes)


def test_uploads_go_to_the_server_and_the_common_model_to_the_clients(graph):
    run = federated(graph)
    sent = [(m.kind, m.sender, m.receiver, m.round) for m in run.transcript.messages if m.kind not in TABLES]
    expected = []
    for r in range(4):
        expected.append(("global-model", "server", "clients", r))
        expected += [("update", f"client:{k}", "server", r) for k in range(3)]
    last = [("global-model", "server", "clients", 4), ("model", "server", "public", 4)]
    assert sent == [*expected, *last]
    assert run.utility.round == 4
    kinds = {o: {m.kind for m in run.transcript.seen_by(o).messages} for o in ("public", "server", "client:1")}
    assert not kinds["public"] & {"update", "global-model"}
    assert {"update", "global-model"} <= kinds["server"]
    uploads = run.transcript.seen_by("client:1").of_kind("update")
    assert {m.sender for m in uploads} == {"client:1"}  # and none of the others'


def test_the_common_model_is_the_mean_of_uploads_weighted_by_members(graph):
    run = federated(graph)
    view, secrets = run.transcript.seen_by("server"), run.secrets["label-membership"]
    share = np.bincount(secrets.owners[secrets.truth], minlength=3) / secrets.truth.sum()
    assert len(set(share)) > 1  # 19 members among three clients
    following = view.of_kind("global-model")[1:]
    assert torch.equal(following[-1].tensors["w1"], view.last("model").tensors["w1"])
    for round_, common in enumerate(following):
        uploads = [m for m in view.of_kind("update") if m.round == round_]
        for name, tensor in common.tensors.items():
            mean = sum(s * m.tensors[name] for s, m in zip(share, uploads, strict=True))
            torch.testing.assert_close(tensor, mean.float(), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("game", GAMES)
def test_an_upload_is_what_central_training_on_the_clients_nodes_gives(graph, game):
    """From the common weights, for its share of the epochs; without dropout nothing is drawn."""
    run = federated(graph, game=game)
    view, secrets = run.transcript.seen_by("server"), run.secrets[game]
    recipe = TrainingConfig(**SMALL | {"dropout": 0.0, "epochs": SMALL["epochs"] // 4})
    for round_, common in enumerate(view.of_kind("global-model")[:-1]):
        for client in range(3):
            own = torch.zeros((1, NODES), dtype=torch.bool)
            own[0, torch.from_numpy(secrets.subjects[secrets.owners == client])] = True
            task = TrainingTask(graph, own, recipe, CLASSES, game == "node-presence")
            alone = train_models(
                task, [], np.random.SeedSequence(9), first=[dict(common.tensors)], keep_weights=True
            )
            (sent,) = (m for m in view.of_kind("update") if (m.round, m.sender) == (round_, f"client:{client}"))
            for name, tensor in sent.tensors.items():
                assert torch.equal(tensor, alone.weights[name][0])


def test_members_are_dealt_out_and_a_client_is_not_asked_about_its_own(graph):
    secrets = federated(graph).secrets["label-membership"]
    held = np.bincount(secrets.owners[secrets.truth], minlength=3)
    assert held.max() - held.min() <= 1
    assert (secrets.owners[~secrets.truth] == -1).all()
    for observer, own in (("client:1", {1}), ("client:0+client:2", {0, 2}), ("server", set()), ("public", set())):
        asked = in_question(secrets, observer)
        np.testing.assert_array_equal(asked, [owner not in own for owner in secrets.owners])
    assert ran(graph).secrets["label-membership"].owners is None


@pytest.mark.parametrize("name", ["quick", "paper"])
def test_presets_are_settings(graph, name):
    data = graph.clone()
    data.name = "CiteSeer"
    made = Classifier(**Classifier.preset(name, data)).settings
    if name == "quick":
        assert made == Classifier().settings
    else:
        assert (made.game, made.in_question, made.members) == ("node-presence", 1.0, 0.5)
        assert (made.recipe.lr, made.recipe.weight_decay, made.recipe.epochs) == (1e-3, 1e-4, 100)
    with pytest.raises(InputError, match="unknown preset 'qick': did you mean 'quick'"):
        Classifier.preset("qick", data)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cleints": 3}, "did you mean 'clients'"),
        ({"recipe": {"epohcs": 3}}, "did you mean 'recipe.epochs'"),
        ({"recipe": {"dropout": 1.0}}, "'recipe.dropout' of target 'classifier'"),
        ({"members": 1.0}, "'members' of target 'classifier'"),
        ({"in_question": 0.0}, "'in_question' of target 'classifier'"),
        ({"game": "identity"}, "'game' of target 'classifier'"),
        ({"publish": ("service",)}, "set game to edge-presence"),
        ({"publish": ("weights",)}, "'publish.0' of target 'classifier'"),
        ({"clients": 0}, "'clients' of target 'classifier'"),
        ({"rounds": 0}, "'rounds' of target 'classifier'"),
        ({"in_question": 0.02}, "0 members among 1 nodes: in_question and members must leave some of each"),
        ({"members": 0.001}, "0 members among 48 nodes"),
        ({"clients": 25}, "24 members cannot be dealt out to 25 clients: use fewer clients"),
        ({"device": "banana"}, "device"),
    ],
)
def test_unusable_settings_are_refused(graph, changes, message):
    with pytest.raises(InputError, match=message) as caught:
        ran(graph, **changes)
    assert "\n" not in str(caught.value)


# --- defenses

PLACED = {"none", "fewer-labels", "label-noise", "rounded-posteriors"}
PLACED |= {
    "ib-subgraph",
    "random-subgraph",
    "edge-randomised-response",
    "private-client-graph",
    "degree-preserving-response",
    "fewer-edges",
    "edge-free",
}
PLACED |= {"one-bit-features", "piecewise-features", "no-features", "lapgraph", "noisy-answers", "top-answers"}
UPLOADED = "uploads that carry gradients or weights after local training"
NO_UPLOADS = f"it changes {UPLOADED}, and these settings send no such message"
OF_EXPLANATIONS = ("top-explanations", "random-explanations", "explanation-response")
UPLOADS = (
    "sealed-uploads",
    "sealed-noise",
    "ldp",
    "gaussian-uploads",
    "nbafl",
    "noise-instead",
    "quantised-uploads",
    "top-k-uploads",
)
OF_A_GRAPH = ("random-edit", "random-switch", "random-walk", "feature-switch", "spectral-switch", "spectral-edit")
OF_A_GRAPH += (
    "k-degree",
    "k-degree-directed",
    "k-degree-temporal",
    "k-degree-by-snapshot",
    "k-automorphism",
    "k-neighbourhood",
    "summarisation",
    "intact-edges",
    "partial-edges",
    "cluster-edges",
    "dp-1k",
    "dp-2k",
    "ldpgen",
    "tmf",
    "privgraph",
    "private-windows",
    "private-sparsifier",
    "private-generator",
)
OF_A_GRAPH += ("k-attributes", "k-attributes-full-domain", "k-ad")
OF_A_GRAPH += ("k-ad-windows", "k-ad-by-snapshot", "k-l-sequential")
REASONS = {
    "ib": "it needs a model that clients trained together before",
    "pseudo-labels": "it needs a model that clients trained together before",
    "adversarial-regularisation": "it adds a term to the loss, and this target's training has no place for one",
    "private-teacher": "it supplies labels in the place of true ones, and 'classifier' asks no defense for labels",
    "noisy-condensing": "it changes gradients that a condensed graph is fitted to, and 'classifier' fits none",
    **dict.fromkeys(UPLOADS, NO_UPLOADS),
    **dict.fromkeys(OF_EXPLANATIONS, NO_UPLOADS.replace(UPLOADED, "messages that carry explanations of answers")),
    **dict.fromkeys(OF_A_GRAPH, "it changes a graph that is published, and 'classifier' publishes none"),
}


def defended(data: Data, defense: Defense, seed: int = 0, **settings):
    return Classifier(**{"recipe": SMALL, **settings})(
        data, defense, np.random.SeedSequence(seed), lambda message: True
    )


def test_every_defense_has_a_place_or_a_reason():
    ours = {name for name, point in registered("defenses").items() if point.value.startswith("gaudit.")}
    assert ours == PLACED | set(REASONS)
    found = {name: Classifier().why_not(find("defenses", name)()) for name in ours}
    assert {name: reason for name, reason in found.items() if reason is not None} == REASONS


@pytest.mark.parametrize(("name", "reason"), REASONS.items())
def test_a_defense_that_has_no_place_here_is_refused(graph, name, reason):
    with pytest.raises(InputError) as caught:
        defended(graph, find("defenses", name)())
    assert str(caught.value) == f"the defense '{name}' has no place in the target 'classifier': {reason}"


@pytest.mark.parametrize("publish", [("model", "labels"), ("labels",), ()])
def test_a_defense_of_messages_that_these_settings_do_not_send_is_refused(graph, publish):
    target, defense = Classifier(publish=publish), find("defenses", "rounded-posteriors")()
    assert "and these settings send no such message" in str(target.why_not(defense))
    with pytest.raises(InputError, match="'rounded-posteriors' has no place"):
        defended(graph, defense, publish=publish)


def test_defenses_of_explanations_have_a_place_where_these_are_told():
    told = Classifier(publish=("explanations",))
    assert [told.why_not(find("defenses", name)()) for name in OF_EXPLANATIONS] == [None] * 3


def test_accuracy_is_that_of_the_answers_that_are_told(graph):
    """With noise that leaves nothing of them, about one in as many as there are classes is right."""
    exact, noisy = (
        defended(graph, defense, publish=("posteriors",)).utility.test
        for defense in (find("defenses", "none")(), find("defenses", "noisy-answers")(scale=100.0))
    )
    assert noisy < exact - 0.1


def test_a_defense_of_uploads_has_a_place_where_there_are_uploads():
    class Noise(Defense):
        name = "noise"
        acts_on = Carrying.any_of(Carries.UPDATE)

    assert Classifier(clients=2).why_not(Noise()) is None
    assert "and these settings send no such message" in str(Classifier().why_not(Noise()))


class Marked(Defense):
    """Forgets the labels of every other labelled node, and tells one that it keeps another class."""

    name = "marked"

    lie = 1

    def on_data(self, client, shared, seed, hold):
        kept = client.train.clone()
        kept[client.train.nonzero().flatten()[::2]] = False
        told = client.y_train.clone()
        told[kept.nonzero()[0]] = (told[kept.nonzero()[0]] + self.lie) % client.classes
        hold(HELD, {"nodes": client.nodes[kept]})
        return replace(client, train=kept, y_train=told)


class Honest(Marked):
    """Tells no other class."""

    lie = 0


@pytest.mark.parametrize("clients", [1, 3])
@pytest.mark.parametrize("game", GAMES)
def test_the_defended_labels_are_trained_on_and_no_others(graph, game, clients):
    how = {"game": game, "clients": clients}
    run = defended(graph, Marked(), **how)
    kept = run.transcript.seen_by("client:0").last(HELD).tensors["nodes"]
    members, _ = told(run, game)
    forgotten = np.setdiff1d(members, kept)
    assert forgotten.tolist() == np.sort(members)[::2].tolist()
    relabelled, changed = graph.clone(), graph.clone()
    relabelled.y[torch.from_numpy(forgotten)] = (graph.y[torch.from_numpy(forgotten)] + 1) % CLASSES
    assert same_weights(defended(relabelled, Marked(), **how), run)
    changed.y[kept[-1]] = (graph.y[kept[-1]] + 1) % CLASSES
    assert not same_weights(defended(changed, Marked(), **how), run)
    assert not same_weights(defended(graph, Honest(), **how), run)
    assert not same_weights(defended(graph, Defense(), **how), run)


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("one-bit-features", {}, 1),
        ("one-bit-features", {"publish": ("labels",)}, 1),
        ("one-bit-features", {"publish": ("model",)}, 0),
        ("no-features", {}, 1),
        ("label-noise", {}, 0),
        ("rounded-posteriors", {"publish": ("model", "posteriors")}, 0),
        ("gaussian-uploads", {"clients": 3}, 1),
        ("none", {}, 0),
    ],
)
def test_a_result_says_that_answers_on_the_true_graph_pass_by_a_defense(graph, name, settings, said):
    notes = defended(graph, find("defenses", name)(), **settings).notes
    assert sum("as they are, which" in note and f"'{name}'" in note for note in notes) == said


@pytest.mark.parametrize("clients", [1, 3])
@pytest.mark.parametrize("game", GAMES)
def test_the_forgotten_stay_members(graph, game, clients):
    """Their owner does not know who they are; nothing but what is trained on differs from the control's trial."""
    how = {"game": game, "clients": clients}
    control, run = defended(graph, Defense(), **how), defended(graph, find("defenses", "fewer-labels")(), **how)
    ours, theirs = control.secrets[game], run.secrets[game]
    assert np.array_equal(ours.subjects, theirs.subjects)
    assert np.array_equal(ours.truth, theirs.truth)
    assert np.array_equal(ours.owners, theirs.owners)
    assert run.tested == control.tested
    assert not same_weights(control, run)


def test_under_node_presence_the_forgotten_were_never_there(graph):
    """Their features and edges are not trained on either."""
    run = defended(graph, Marked(), game="node-presence")
    kept = run.transcript.seen_by("client:0").last(HELD).tensors["nodes"]
    members, _ = told(run, "node-presence")
    forgotten = torch.from_numpy(np.setdiff1d(members, kept))
    moved = graph.clone()
    moved.x[forgotten] += 1
    assert same_weights(defended(moved, Marked(), game="node-presence"), run)
    moved.x[kept[0]] += 1
    assert not same_weights(defended(moved, Marked(), game="node-presence"), run)


def test_federated_clients_weigh_as_many_as_labels_are_left(graph):
    """Half of the labels are forgotten by class, not by client: the mean is weighted by what each still has."""
    defense = find("defenses", "fewer-labels")(share=0.5)
    how = {"clients": 3, "rounds": 2, "recipe": SMALL | {"dropout": 0.0}}
    run = defended(graph, defense, **how)
    view, secrets = run.transcript.seen_by("server"), run.secrets["label-membership"]
    members = secrets.subjects[secrets.truth]
    following = view.of_kind("global-model")[1:]
    counts = None
    for round_, common in enumerate(following):
        uploads = torch.stack([m.tensors["w1"].flatten() for m in view.of_kind("update") if m.round == round_])
        share = torch.linalg.lstsq(uploads.T.double(), common.tensors["w1"].flatten().double()).solution
        found = (share * (round(0.5 * len(members)))).numpy()
        np.testing.assert_allclose(found, found.round(), atol=0.01)  # whole numbers of labels
        assert counts is None or found.round().tolist() == counts
        counts = found.round().tolist()
    assert sum(counts) == sum(round(0.5 * int(n)) for n in np.bincount(graph.y[members]))


def test_a_client_without_a_label_left_is_named(graph):
    with pytest.raises(InputError, match="a client has no label left to train on: use fewer clients than 8"):
        defended(graph, find("defenses", "fewer-labels")(share=0.05), clients=8)


@pytest.mark.parametrize("game", GAMES)
def test_tables_are_rounded_and_the_model_is_what_it_was(graph, game):
    run = defended(graph, find("defenses", "rounded-posteriors")(step=1.0), game=game)
    control = defended(graph, Defense(), game=game)
    assert same_weights(run, control)
    for name in ("full", "0-hop", "apart"):
        posteriors = run.transcript.seen_by("public").last(f"posteriors-{name}").tensors["posteriors"]
        labels = control.transcript.seen_by("public").last(f"labels-{name}").tensors["labels"]
        assert torch.equal(posteriors, F.one_hot(labels, CLASSES).float())


# --- attributes


def with_coins(graph: Data) -> Data:
    """The graph with a coin of each node as a sixth column."""
    data = graph.clone()
    data.x = torch.cat([data.x, torch.randint(0, 2, (NODES, 1), generator=torch.Generator().manual_seed(1))], 1)
    return data


def test_a_hidden_column_is_asked_about_and_training_stays_as_it_was(graph):
    data = with_coins(graph)
    run = ran(data, game="attribute", attribute=5)
    (game,) = run.secrets.values()
    assert game.truth.tolist() == (data.x[game.subjects, 5] == 1).tolist()
    assert game.hidden.columns == (5,)
    assert game.linked
    assert content(run) == content(ran(data))


def test_embeddings_are_the_hidden_rows_of_the_published_model(graph):
    run = ran(graph, publish=("model", "embeddings"))
    view = run.transcript.seen_by("public")
    told, weights = view.last("hidden-rows").tensors, view.last("model").tensors
    recipe = TrainingConfig(**SMALL)
    expected = hidden_rows(TrainingTask(graph, torch.ones(1, NODES, dtype=torch.bool), recipe, CLASSES), weights)
    assert told["nodes"].tolist() == list(range(NODES))
    assert torch.equal(told["embeddings"], expected)


def test_a_service_answers_rows_without_the_value_and_with_it(graph):
    data = with_coins(graph)
    run = ran(data, game="attribute", attribute="5", publish=("service", "model"))
    view, kinds = run.transcript.seen_by("public"), {m.kind for m in run.transcript.messages}
    assert {"answers-to-submitted-rows", "posteriors-full"} <= kinds
    assert "answers-to-changed-features" not in kinds
    stored = view.last("posteriors-full").tensors["posteriors"]
    for value, message in enumerate(view.of_kind("answers-to-submitted-rows")):
        assert message.tensors["value"].unique().tolist() == [value]
        same = data.x[:, 5] == value
        torch.testing.assert_close(message.tensors["posteriors"][same], stored[same])
        assert not torch.allclose(message.tensors["posteriors"][~same], stored[~same])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"game": "attribute"}, "go together"),
        ({"attribute": "3"}, "go together"),
        ({"game": "attribute", "attribute": "label:1"}, "there to tell labels"),
        ({"game": "attribute", "attribute": "3", "features": "row-shares"}, "set features to given"),
        ({"game": "node-presence", "publish": ("service",)}, "edge-presence or to attribute"),
    ],
)
def test_attributes_that_cannot_be_asked_about_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        Classifier(**settings)
