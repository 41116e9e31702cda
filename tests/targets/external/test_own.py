"""A model of the user's own: its functions train target and shadow models, and are not told who is a member."""

import numpy as np
import pytest
import torch

from gaudit import InputError, find
from gaudit.graphs.files.data_file import read_graph
from gaudit.graphs.masks import MASKS
from gaudit.randomness import branch
from gaudit.targets.external.own import Own
from gaudit.targets.external.own_functions import name_of, named
from gaudit.targets.models.own_training import OwnTraining, renumbered, with_known_fields
from gaudit.targets.models.training_task import Query
from support.own_models import ask, fields, train, uniform
from support.sixty_nodes import sixty_nodes

SEED = np.random.SeedSequence(0)
FUNCTIONS = {"fit": "support.own_models:train", "predict": "support.own_models:ask"}


def run_of(target, data=None):
    return target(sixty_nodes() if data is None else data, find("defenses", "none")(), SEED, lambda m: True)


def training(**changes):
    return OwnTraining(**{"fit": train, "predict": ask, "data": sixty_nodes(), "classes": 3, **changes})


def test_what_is_published_is_what_the_functions_give():
    data, run = sixty_nodes(), run_of(Own(**FUNCTIONS))
    table = run.transcript.seen_by("public").last("posteriors-full").tensors
    (message,) = run.transcript.seen_by("public").of_kind("posteriors-0-hop")
    again = training().fitted(data.train_mask.numpy(), branch(SEED, "training"))
    everybody = torch.arange(60)
    expected = ask(again, data.x, data.edge_index, everybody).softmax(1)
    assert torch.allclose(table["posteriors"], expected, atol=1e-6)
    alone = ask(again, data.x, data.edge_index[:, :0], everybody).softmax(1)
    assert torch.allclose(message.tensors["posteriors"], alone, atol=1e-6)
    game = run.secrets["label-membership"]
    assert np.array_equal(game.subjects[game.truth], np.flatnonzero(data.train_mask))


def test_fit_is_told_its_own_mask_and_no_other():
    """Nothing that a shadow model is trained with says who the target was trained on, or who is asked about."""
    data = sixty_nodes()
    data.edge_attr = torch.arange(data.num_edges).float()
    data.place = torch.arange(60)
    ours = np.random.default_rng(0).permutation(60)
    mask = np.zeros(60, dtype=bool)
    mask[:10] = True
    own = training(fit=fields, data=data).granted(ours)
    (model,) = own.models([mask], None, SEED)
    given = model["data"]
    assert model["given"] == ["edge_attr", "edge_index", "place", "train_mask", "val_mask", "x", "y"]
    assert torch.equal(given.train_mask, torch.from_numpy(mask))
    assert torch.equal(given.place, torch.from_numpy(ours))
    assert torch.equal(given.x, data.x[torch.from_numpy(ours)])
    back = torch.from_numpy(ours)[given.edge_index]
    assert torch.equal(back, data.edge_index)  # edges in their order, so that their attributes stay beside them
    assert torch.equal(given.edge_attr, data.edge_attr)


def test_fields_that_would_keep_old_ids_reach_no_model():
    """Lists of ids and matrices between nodes cannot be told in other ids: neither target nor shadow gets them."""
    data = sixty_nodes()
    data.train_idx = data.train_mask.nonzero()[:, 0]
    data.distance = torch.ones(60, 60)
    data.adj_t = torch.eye(60).to_sparse()
    data.edge_label_index = torch.zeros(2, 5, dtype=torch.long)
    data.nodes_by_name = {"a": 3}
    data.place, data.weight, data.scale = torch.arange(60), torch.ones(data.num_edges), 2.5
    odd = ["adj_t", "distance", "edge_label_index", "nodes_by_name", "train_idx"]
    known, left = with_known_fields(data)
    assert list(left) == odd
    (model,) = training(fit=fields, data=known).granted(np.arange(60)).models([np.arange(60) < 9], None, SEED)
    assert not set(odd) & set(model["given"])
    assert {"place", "weight", "scale"} <= set(model["given"])
    run = run_of(Own(**FUNCTIONS), data)
    assert any(f"fit is not given {', '.join(odd)}: neither a row" in note for note in run.notes)


def test_answers_about_a_graph_that_says_nothing_of_members_are_refused(tmp_path):
    """Masks that gaudit drew are no truth about a model that was trained elsewhere."""
    data = sixty_nodes()
    arrays = {"x": data.x.numpy(), "y": data.y.numpy(), "edge_index": data.edge_index.numpy()}
    np.savez(tmp_path / "graph.npz", **arrays)
    np.savez(tmp_path / "answers.npz", posteriors=np.full((60, 3), 1 / 3))
    target = Own(answers={"full": str(tmp_path / "answers.npz")})
    with pytest.raises(InputError, match="nobody says whom the model behind the answers was trained on"):
        run_of(target, read_graph(tmp_path / "graph.npz"))
    masks = {name: data[name].numpy() for name in MASKS}
    np.savez(tmp_path / "graph.npz", **arrays, **masks)
    assert run_of(target, read_graph(tmp_path / "graph.npz")).secrets


def test_answers_are_one_run_whatever_the_seeds(tmp_path):
    np.savez(tmp_path / "answers.npz", posteriors=np.full((60, 3), 1 / 3))
    assert Own(answers={"full": str(tmp_path / "answers.npz")}).repetitions == 1
    assert Own(**FUNCTIONS).repetitions is None


def test_offline_models_see_the_edges_among_their_pool_alone():
    data = sixty_nodes()
    pool = np.arange(0, 60, 2)
    mask = np.isin(np.arange(60), pool[:8])
    (model,) = training(fit=fields).models([mask], pool, SEED)
    edges = model["data"].edge_index
    assert (edges % 2 == 0).all()
    assert edges.shape[1] == int(((data.edge_index % 2) == 0).all(0).sum())


def test_where_presence_is_secret_a_model_sees_its_members_alone():
    data = sixty_nodes()
    model = training(fit=fields, induced=True).fitted(data.train_mask.numpy(), SEED)
    assert model["data"].num_nodes == int(data.train_mask.sum())
    assert model["data"].train_mask.all()
    assert torch.equal(model["data"].x, data.x[data.train_mask])


def test_numbers_do_not_depend_on_who_trains_what():
    masks = [np.isin(np.arange(60), np.arange(k, k + 12)) for k in range(4)]
    every = training().models(masks, None, SEED)
    assert torch.equal(every[2], training().models(masks[:3], None, SEED)[2])


def test_each_model_is_asked_with_its_own_edges_kept_apart():
    data, members = sixty_nodes(), np.arange(60) < 30
    own, everybody = training(), torch.arange(60)
    model = own.fitted(members, SEED)
    told = own.ask(model, data.x, Query(everybody, data.edge_index, apart=True), members)
    row, col = data.edge_index
    inside = torch.from_numpy(members)
    expected = ask(model, data.x, data.edge_index[:, inside[row] == inside[col]], everybody)
    assert torch.allclose(told, expected)


def test_posteriors_are_taken_for_what_they_are():
    data = sixty_nodes()
    own = training(predict=lambda m, x, e, nodes: ask(m, x, e, nodes).softmax(1))
    model, everybody = own.fitted(data.train_mask.numpy(), SEED), torch.arange(60)
    query = Query(everybody, data.edge_index)
    told = own.ask(model, data.x, query, data.train_mask.numpy())
    assert torch.allclose(told.softmax(1), ask(model, data.x, data.edge_index, everybody).softmax(1), atol=1e-6)


@pytest.mark.parametrize(
    ("functions", "says"),
    [
        ({"fit": lambda d, m, s: 1 / 0}, "fit failed: ZeroDivisionError: 'division by zero'"),
        ({"fit": lambda d, m, s: None}, "fit returned nothing: it must return the trained model"),
        ({"predict": lambda m, x, e, n: 1 / 0}, "predict failed: ZeroDivisionError"),
        ({"predict": lambda m, x, e, n: "no"}, "predict must return an array of logits, not str"),
        ({"predict": lambda m, x, e, n: np.zeros((len(n), 2))}, "one row of 3 logits for each of 60 nodes, not "),
        ({"predict": lambda m, x, e, n: np.full((len(n), 3), np.nan)}, "not finite, first in row 0"),
    ],
)
def test_functions_that_fail_are_told_in_one_line(functions, says):
    own = training(**functions)
    data = sixty_nodes()

    def both():
        model = own.fitted(data.train_mask.numpy(), SEED)
        own.ask(model, data.x, Query(torch.arange(60), data.edge_index), data.train_mask.numpy())

    with pytest.raises(InputError, match=says) as error:
        both()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({}, "give fit and predict, or answers"),
        ({"fit": "a:b"}, "fit and predict belong together"),
        ({**FUNCTIONS, "answers": {"full": "x.csv"}}, "give fit and predict, or answers"),
        ({**FUNCTIONS, "recipe": {}}, "leave the recipe out"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings, says):
    with pytest.raises(InputError, match=says):
        Own(**settings)


def test_a_function_of_a_file_is_found_by_its_path(tmp_path):
    file = tmp_path / "pipeline.py"
    file.write_text("import beside\n\ndef train(data, mask, seed):\n    return beside.NUMBER\n")
    (tmp_path / "beside.py").write_text("NUMBER = 7\n")
    assert named(f"{file}:train")(None, None, 0) == 7
    with pytest.raises(InputError, match="is no function: name it as module:function"):
        named(f"{file}:nothing")
    with pytest.raises(InputError, match="there is no file"):
        named(f"{tmp_path / 'none.py'}:train")


def test_answers_alone_have_no_recipe_and_say_so(tmp_path):
    rows = np.full((60, 3), 1 / 3)
    np.savez(tmp_path / "answers.npz", posteriors=rows)
    run = run_of(Own(answers={"full": str(tmp_path / "answers.npz")}))
    assert run.recipe is None
    assert run.own is None
    assert "nobody declared how the model was trained" in run.notes
    table = run.transcript.seen_by("public").last("posteriors-full").tensors
    assert torch.allclose(table["posteriors"], torch.full((60, 3), 1 / 3))


def test_answers_that_do_not_fit_are_told_with_their_row(tmp_path):
    def refused(text):
        (tmp_path / "a.csv").write_text(text)
        with pytest.raises(InputError) as error:
            run_of(Own(answers={"full": str(tmp_path / "a.csv")}))
        return str(error.value)

    assert "row 2 is no posterior" in refused("id,p0,p1,p2\n0,.2,.3,.5\n1,.9,.9,.9\n")
    assert "row 2 is about node 0 again" in refused("id,p0,p1,p2\n0,.2,.3,.5\n0,.2,.3,.5\n")
    assert "row 1 is about node 99: expected 0 to 59" in refused("id,p0,p1,p2\n99,.2,.3,.5\n")
    assert "posteriors of 2 classes, and the graph has 3" in refused("id,p0,p1\n0,.5,.5\n")
    assert "1 rows without a column 'id', and the graph has 60 nodes" in refused("p0,p1,p2\n.2,.3,.5\n")


def test_the_order_of_nodes_under_new_ids_is_that_of_the_ids():
    data = sixty_nodes()
    ours = np.random.default_rng(1).permutation(60)
    copy = renumbered(data, ours)
    assert "train_mask" not in copy
    assert "test_mask" not in copy
    assert torch.equal(copy.y, data.y[torch.from_numpy(ours)])
    assert uniform(None, copy.x, copy.edge_index, torch.arange(2)).shape == (2, 3)


def test_functions_that_no_name_leads_to_are_told_apart():
    """Two on one line, and two that close over other values; the same one made again is the same."""

    def made(epochs):
        return lambda: epochs

    one, other = lambda: 1, lambda: 2
    names = {name_of(f) for f in (one, other, made(1), made(2))}
    assert len(names) == 4
    assert name_of(made(1)) in names
    assert named(name_of(other))() == 2
    assert name_of(train) == "support.own_models:train"
    with pytest.raises(InputError, match="belonged to another process"):
        named("here:gone-123")


def test_one_name_of_answers_is_that_of_answers_with_all_edges():
    assert Own(answers="answers.csv").settings.answers == {"full": "answers.csv"}
