"""Rows against the model itself, distances by hand, and what one gradient of a small batch tells."""

import numpy as np
import pytest
import torch

from gaudit.attacks.gradients.graph_inversion import GraphInversion, distance_to, span_before_gap
from gaudit.attacks.gradients.rooted_rows import rooted_rows
from gaudit.attacks.ownership.row_spans import span_of
from gaudit.audit.conformance.small_graphs import forty_graphs
from gaudit.errors import InputError
from gaudit.registry import find
from gaudit.targets.channel import Channel
from gaudit.targets.defense import Defense
from gaudit.targets.games.neighbourhood_presence import neighbourhood_presence
from gaudit.targets.models.graph_models import Graphs
from gaudit.targets.models.graph_recipe import GraphRecipe
from gaudit.targets.models.training_config import initial_weights
from support.adversaries import adversary

DATA, SEED = forty_graphs(), np.random.SeedSequence(0)
UPLOAD = {"upload": "gradients", "rounds": 1, "clients": 3, "batch": 1, "answers": "last", "features": "given"}


def known(run, seed=SEED):
    game = run.secrets["neighbourhood-presence"]
    return game, game.grant(DATA, adversary(), seed)[0].knowledge


@pytest.fixture(scope="module", params=["gin", "gcn"])
def run(request):
    made = find("targets", "graph-fedavg")(**UPLOAD, architecture=request.param)
    return made(DATA, Defense(), SEED, lambda message: True)


def inputs_of_maps(data, recipe, weights):
    """What each map reads of all nodes, by a pass through the whole graphs."""
    graphs, found = Graphs.of(data.x, data.edge_index, data.graph_of, recipe), {}
    h = graphs.rows
    for k in range(1, recipe.layers + 1):
        h = h if k == 1 else graphs.operator @ h
        found[f"w{k}"] = h
        h = (h @ weights[f"w{k}"] + weights[f"b{k}"]).relu()
        if recipe.architecture == "gin":
            found[f"v{k}"] = h
            h = (h @ weights[f"v{k}"] + weights[f"c{k}"]).relu()
    return found


@pytest.mark.parametrize("architecture", ["gin", "gcn"])
@pytest.mark.parametrize("radius", [1, 2, 3])
def test_rows_of_neighbourhoods_are_those_of_whole_graphs(architecture, radius):
    recipe = GraphRecipe(architecture=architecture, layers=3, hidden=8)
    weights = initial_weights(recipe, DATA.num_features, 2, SEED)
    degrees = architecture == "gcn"
    game = neighbourhood_presence(DATA, [np.array([4, 9])], radius, degrees, SEED)["neighbourhood-presence"]
    knowledge = game.grant(DATA, adversary(), SEED)[0].knowledge
    whole = inputs_of_maps(DATA, recipe, weights)
    reads = list(rooted_rows(knowledge, weights))
    assert [read.name for read in reads] == [f"{'w' if degrees else 'v'}{k}" for k in range(1, radius + 1)]
    of_root = reads[-1].rows[reads[-1].neighbourhood.argsort()]
    expected = whole[reads[-1].name][knowledge.subjects % len(DATA.x)].double()
    torch.testing.assert_close(of_root, expected, atol=1e-5, rtol=1e-5)
    inner = whole[reads[0].name].double()
    for row in reads[0].rows:
        assert (inner - row).abs().amax(1).min() < 1e-5


def test_one_gradient_tells_what_is_in_the_batch(run):
    """Of what is there every row is in the span, as far as float32 goes; most of the others are not."""
    game, knowledge = known(run)
    scores = GraphInversion()(run.transcript.seen_by("server"), knowledge, SEED)
    truth = game.truth[np.argsort(game.subjects)]
    there, others = scores.score[truth], scores.score[~truth]
    assert np.median(there) > 4
    assert np.median(others) < 2
    assert (there[:, None] > others).mean() > 0.9


def test_every_subject_is_read_off_its_own_clients_gradient(run):
    """With the uploads of two clients exchanged, what was told of them is gone."""
    game, knowledge = known(run)
    channel, turned = Channel(), {"client:0": "client:1", "client:1": "client:2", "client:2": "client:0"}
    for m in run.transcript.messages:
        if m.kind in ("global-model", "gradient"):
            channel.send(m.kind, turned.get(m.sender, m.sender), m.receiver, m.round, m.tensors)
    truth = game.truth[np.argsort(game.subjects)]
    aucs = []
    for transcript in (run.transcript, channel.transcript):
        score = GraphInversion()(transcript.seen_by("server"), knowledge, SEED).score
        aucs.append((score[truth][:, None] > score[~truth]).mean())
    assert aucs[1] < aucs[0] - 0.2


def test_the_blind_score_is_how_common_it_is(run):
    _, knowledge = known(run)
    blind = GraphInversion().blind(knowledge, SEED).score
    assert blind.tolist() == knowledge.graphs.tolist()


def test_a_full_span_is_cut_at_the_largest_gap():
    axes = torch.eye(4)
    gradient = axes * torch.tensor([1.0, 0.9, 0.01, 0.009])
    basis = span_before_gap(gradient)
    assert basis.shape == (4, 2)
    found = distance_to(torch.cat([axes.double(), torch.ones(1, 4).double(), torch.zeros(1, 4).double()]), basis)
    torch.testing.assert_close(found, torch.tensor([1e-12, 1e-12, 1.0, 1.0, 0.5**0.5, 1.0]).double())


@pytest.mark.parametrize(("rows", "told"), [(7, True), (200, False)])
def test_rows_are_told_from_others_while_they_are_fewer_than_the_layer_is_wide(rows, told):
    """Seven rows in eight dimensions leave one free, in which others stick out; two hundred leave none."""
    own, others, back = (torch.randn(n, 8, generator=torch.Generator().manual_seed(n)) for n in (rows, 300, rows))
    gradient = own.t() @ back
    basis = span_of(gradient, 1e-6)
    assert (basis.shape[1] < 8) == told
    near, far = (distance_to(x.double(), basis if told else span_before_gap(gradient)) for x in (own, others))
    share = float((near[:, None] < far).double().mean())
    assert share > 0.99 if told else abs(share - 0.5) < 0.2


def test_a_client_without_a_gradient_has_the_mean_score(run):
    _, knowledge = known(run)
    channel = Channel()
    for m in run.transcript.messages:
        if m.kind == "global-model" or (m.kind == "gradient" and m.sender != "client:2"):
            channel.send(m.kind, m.sender, m.receiver, m.round, m.tensors)
    score = GraphInversion()(channel.transcript.seen_by("server"), knowledge, SEED).score
    of_two = knowledge.clients.numpy() == 2
    assert np.ptp(score[of_two]) == 0
    assert score[of_two][0] == pytest.approx(score[~of_two].mean())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tensors: {n: t for n, t in tensors.items() if not n.startswith(("v", "w"))}, "has no finite"),
        (lambda tensors: {n: t * torch.nan for n, t in tensors.items()}, "has no finite"),
        (lambda tensors: {n: t[:1] for n, t in tensors.items()}, "shaped as the weights"),
    ],
)
def test_a_gradient_that_is_none_is_refused_in_one_line(run, change, message):
    _, knowledge = known(run)
    channel = Channel()
    for m in run.transcript.messages:
        if m.kind in ("global-model", "gradient"):
            content = change(m.tensors) if m.kind == "gradient" else m.tensors
            channel.send(m.kind, m.sender, m.receiver, m.round, content)
    with pytest.raises(InputError, match=message):
        GraphInversion()(channel.transcript.seen_by("server"), knowledge, SEED)


def test_sums_that_were_sealed_are_not_read(run):
    sealed = find("defenses", "sealed-uploads")()
    done = find("targets", "graph-fedavg")(**UPLOAD)(DATA, sealed, SEED, lambda message: True)
    _, knowledge = known(done)
    with pytest.raises(InputError, match="sees no uploads"):
        GraphInversion()(done.transcript.seen_by("server"), knowledge, SEED)
