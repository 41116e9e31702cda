"""A run that was recorded is attacked as one that just took place; what nobody recorded is unknown."""

import json

import numpy as np
import pytest
import torch

import gaudit
from gaudit import InputError, Plan, Transcript, find
from gaudit.audit.planning.grid import laid_out
from gaudit.audit.planning.recorded_plan import recorded_plan
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.results.outcomes import outcomes
from gaudit.audit.running.serialization import dumps, loads
from gaudit.audit.running.trial import NO_RECIPE, run_trial
from gaudit.graphs.files.data_file import read_graph, write_graph
from gaudit.targets.external.recorded import Recorded
from gaudit.targets.recording import ABOUT, about_recording, read_recording
from support.same_attacks import same_attacked
from support.sixty_nodes import sixty_nodes
from support.transcripts import same_headers

SEED = np.random.SeedSequence(0)
CLIENTS = 2
FEDERATED = {"clients": CLIENTS, "rounds": 2, "local_epochs": 2, "hidden": 8}
UPLOADS = (
    AttackPlan("loss", observer="server"),
    AttackPlan("lira", {"shadows": 4}, observer="server"),
    AttackPlan("mia", {"epochs": 20}, observer="server"),
    AttackPlan("graphmi", {"iterations": 3}, observer="server"),
    AttackPlan("gradient-matching", observer="server"),
    AttackPlan("link-posterior", {"attack": 0}),
)


def trial(target, attacks, transcript=None, index=0, **settings):
    own = find("targets", target)(**settings).settings.model_dump()
    return TrialPlan(target, own, "none", {}, attacks, 0, index, transcript=transcript and str(transcript))


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    """A federated run with its results, and the folder of its record."""
    folder = tmp_path_factory.mktemp("live") / "run"
    plan = trial("fedavg", UPLOADS, folder, **FEDERATED, upload="gradients")
    return run_trial(plan, sixty_nodes()), folder


def of(folder, **settings):
    return Recorded(transcripts=(str(folder),), **settings)


def run_of(target, data=None):
    return target(sixty_nodes() if data is None else data, find("defenses", "none")(), SEED, lambda m: True)


def changed(folder, to, **told):
    """A copy of a recording that says something else."""
    to.mkdir()
    for file in folder.iterdir():
        (to / file.name).write_bytes(file.read_bytes())
    about = json.loads((to / ABOUT).read_text())
    (to / ABOUT).write_text(json.dumps({**about, **told}))
    return to


def test_every_upload_attack_scores_the_record_as_it_scores_the_run(live):
    result, folder = live
    again = run_trial(trial("recorded", UPLOADS, transcripts=(str(folder),)), sixty_nodes())
    assert {a.game for a in again.attacked} == {"label-membership", "edge-presence"}
    assert len(again.attacked) == len(UPLOADS)
    assert again.exposure == result.exposure
    assert np.isnan(again.utility.test)
    same_attacked(result, again)


def test_the_record_of_gaudit_says_who_was_trained_on_and_who_holds_what(live):
    _, folder = live
    about = about_recording(folder)
    run = run_of(of(folder))
    game, links = run.secrets["label-membership"], run.secrets["edge-presence"]
    assert np.array_equal(np.sort(game.subjects[game.truth]), about.members.nodes)
    assert np.array_equal(links.holders, about.holders)
    assert not np.array_equal(game.subjects[game.truth], np.flatnonzero(sixty_nodes().train_mask))
    assert (about.pipeline, about.defense.name, about.recipe.hidden) == ("fedavg", "none", 8)


READOUT = (AttackPlan("gradient-readout", observer="server"),)
CONDENSED = {
    "clients": CLIENTS,
    "rounds": 1,
    "checkpoints": [1],
    "hidden": 8,
    "self_training_rounds": 1,
    "beta": 50,
}


def test_lone_nodes_are_read_off_a_record_where_holders_are_known(tmp_path):
    settings = {**CONDENSED, "test": {"epochs": 2, "models": 1, "hidden": 8}, "ratio": 0.2}
    result = run_trial(trial("fedgc", READOUT, tmp_path / "run", **settings), sixty_nodes())
    owner = partition_of("fedgc", settings)
    np.save(tmp_path / "holders.npy", owner)
    target = {"transcripts": (str(tmp_path / "run"),), "holders": str(tmp_path / "holders.npy")}
    again = run_trial(trial("recorded", READOUT, **target), sixty_nodes())
    assert again.attacked[0].game == "lone-node"
    assert result.attacked[0].judged.truth.any()
    same_attacked(result, again)


def partition_of(name, settings):
    from gaudit.randomness import branch
    from gaudit.targets.partition import partition

    made = find("targets", name)(**settings).settings
    root = branch(SEED, 0)
    data = sixty_nodes()
    return partition(data, made.partition, made.clients, branch(root, "partition"), beta=made.beta).owner.numpy()


def uploads_alone(folder, **told):
    """A recording of two clients' weights, of a two-layer GCN, and nothing for the public."""
    rng = torch.Generator().manual_seed(0)
    shapes = {"w1": (sixty_nodes().num_features, 8), "b1": (8,), "w2": (8, 3), "b2": (3,)}
    with gaudit.recording(folder, **told) as send:
        for t in range(2):
            common = {name: torch.randn(shape, generator=rng) for name, shape in shapes.items()}
            send("global-model", "server", "clients", t, common)
            for n in range(CLIENTS):
                send("update", f"client:{n}", "server", t, {k: w + n for k, w in common.items()})
    return folder


def test_uploads_alone_suffice(tmp_path):
    attacks = (AttackPlan("loss", observer="server"), AttackPlan("graphmi", {"iterations": 2}, observer="server"))
    holders = np.arange(60) % CLIENTS
    folder = uploads_alone(tmp_path / "run", recipe={"hidden": 8}, holders=holders)
    found = run_trial(trial("recorded", attacks, transcripts=(str(folder),)), sixty_nodes())
    assert [a.game for a in found.attacked] == ["label-membership", "edge-presence"]
    assert found.refused == {}
    assert np.isnan(found.utility.test)


def test_what_nobody_declared_is_unknown_and_told_so(tmp_path):
    attacks = tuple(AttackPlan(name, observer="server") for name in ("loss", "lira", "mia", "nearest"))
    folder = uploads_alone(tmp_path / "run")
    found = run_trial(trial("recorded", attacks, transcripts=(str(folder),)), sixty_nodes())
    assert found.attacked == ()
    assert {name for name, why in found.refused.items() if why == NO_RECIPE} == {"loss", "lira", "mia"}
    assert any("which defense was in place is not recorded" in note for note in found.notes)
    assert any("how models were trained is not declared" in note for note in found.notes)
    (outcome,) = outcomes([loads(dumps(found))])
    assert (outcome.defense, outcome.label, outcome.phrase) == ("unknown", "unknown", "as it was found")


def test_only_a_declared_recipe_is_known_to_the_adversary(tmp_path):
    folder, attacks = uploads_alone(tmp_path / "run"), (AttackPlan("loss", observer="server"),)
    declared = trial("recorded", attacks, transcripts=(str(folder),), recipe={"hidden": 8}, pipeline="fedavg")
    found = run_trial(declared, sixty_nodes())
    assert "knows how the model was trained" in found.attacked[0].knowledge
    assert any("as declared and not checked: architecture gcn, hidden 8" in note for note in found.notes)
    like = trial("recorded", attacks, transcripts=(str(folder),), pipeline="fedavg")
    assert run_trial(like, sixty_nodes()).refused == {"loss": NO_RECIPE}


def test_without_a_recipe_attacks_that_train_on_a_release_or_on_nothing_still_run(tmp_path):
    release = {
        "x": torch.rand(6, sixty_nodes().num_features),
        "y": torch.arange(6) % 3,
        "adjacency": torch.zeros(6, 6),
    }
    with gaudit.recording(tmp_path / "run") as send:
        send("condensed-graph", "server", "public", 1, release)
    attacks = (AttackPlan("nearest"), AttackPlan("mia", {"epochs": 5}))
    found = run_trial(trial("recorded", attacks, transcripts=(str(tmp_path / "run"),)), sixty_nodes())
    assert [a.plan.name for a in found.attacked] == ["nearest", "mia"]
    assert all("knows how the model was trained" not in a.knowledge for a in found.attacked)


def test_the_declared_defense_is_called_by_its_name(live, tmp_path):
    _, folder = live
    told = changed(folder, tmp_path / "run", defense={"name": "our clipping", "settings": {"norm": 2}})
    result = run_trial(trial("recorded", UPLOADS[:1], transcripts=(str(told),)), sixty_nodes())
    (outcome,) = outcomes([result])
    assert (outcome.defense, outcome.label) == ("our clipping", "our clipping, norm 2")
    assert outcome.guarantee is None


def test_several_recordings_are_repetitions(live, tmp_path):
    _, folder = live
    other = uploads_alone(tmp_path / "other", features="given", recipe=about_recording(folder).recipe)
    write_graph(sixty_nodes(), tmp_path / "g.npz")
    plan = recorded_plan([str(folder), str(other)], str(tmp_path / "g.npz"), attacks=("loss",))
    tasks = [task for task in laid_out(plan).tasks if task.cell >= 0]
    assert [task.plan.index for task in tasks] == [0, 1]
    assert [task.plan.target_settings["transcripts"] for task in tasks] == [(str(folder),), (str(other),)]
    assert len({task.key for task in tasks}) == 2


def test_a_record_is_no_repetition_of_itself(live, tmp_path):
    _, folder = live
    copy = changed(folder, tmp_path / "copy")
    own = {"karate": sixty_nodes()}
    content = {"attack": [{"name": "loss"}], "datasets": list(own), "seeds": 3}
    alone = {"target": [{"name": "recorded", "settings": {"transcripts": [str(folder)]}}]}
    trials = [task for task in laid_out(Plan.of({**content, **alone}, "plan"), own).tasks if task.cell >= 0]
    assert [trial.plan.index for trial in trials] == [0]
    for twice in ([folder, folder], [copy, copy]):
        both = {"target": [{"name": "recorded", "settings": {"transcripts": list(map(str, twice))}}]}
        with pytest.raises(InputError, match="twice"):
            laid_out(Plan.of({**content, **both}, "plan"), own)


def test_a_recording_that_has_changed_is_another_trial(tmp_path):
    folder = uploads_alone(tmp_path / "run", recipe={"hidden": 8})
    write_graph(sixty_nodes(), tmp_path / "g.npz")
    keys = []
    for t in range(2):
        plan = recorded_plan([str(folder)], str(tmp_path / "g.npz"), attacks=("loss",))
        keys.append([task.key for task in laid_out(plan).tasks if task.cell >= 0])
        with gaudit.recording(folder, append=True) as send:
            send("labelled-count", "client:0", "server", t, {"count": torch.tensor(3)})
    assert keys[0] != keys[1]


def test_recordings_that_say_different_things_are_not_mixed(tmp_path):
    folders = [uploads_alone(tmp_path / str(n), recipe={"hidden": n}) for n in (8, 16)]
    with pytest.raises(InputError, match="the recordings do not say the same of 'recipe'"):
        _ = Recorded(transcripts=tuple(map(str, folders))).offers
    with pytest.raises(InputError, match="the settings and the recording do not say the same of 'recipe'"):
        run_of(of(folders[0], recipe={"hidden": 9}))


HOLDERS = np.arange(60) % CLIENTS


def test_results_depend_on_who_holds_what(tmp_path):
    """A file of holders that changed makes other results: a ledger must not take the old ones for them."""
    folder, file = uploads_alone(tmp_path / "run"), tmp_path / "holders.npy"
    found = []
    for holders in (np.arange(60) % 2, np.arange(60) // 30):
        np.save(file, holders)
        found.append(dict(of(folder, holders=str(file)).reads))
    assert found[0].keys() == found[1].keys() == {str(folder), str(file)}
    assert found[0][str(folder)] == found[1][str(folder)]
    assert found[0][str(file)] != found[1][str(file)]


@pytest.mark.parametrize(
    ("holders", "match"),
    [
        (HOLDERS[:50], "50 nodes .* the graph has 60"),
        (np.where(HOLDERS == 1, 7, HOLDERS), "client:7 took no part"),
        (np.zeros(60, dtype=int), "client:1 holds no node"),
        (HOLDERS + 0.5, "expected integers"),
        (HOLDERS - 2, "numbers of clients from 0"),
        (np.stack([HOLDERS, HOLDERS]), "expected integers"),
    ],
)
def test_holders_that_do_not_match_are_refused_in_one_line(tmp_path, holders, match):
    folder = uploads_alone(tmp_path / "run", recipe={"hidden": 8})
    np.save(tmp_path / "holders.npy", holders)
    with pytest.raises(InputError, match=match) as caught:
        run_of(of(folder, holders=str(tmp_path / "holders.npy")))
    assert "\n" not in str(caught.value)


def test_a_file_of_holders_is_never_unpickled(tmp_path):
    folder = uploads_alone(tmp_path / "run")
    np.save(tmp_path / "holders.npy", np.array([{}] * 60), allow_pickle=True)
    with pytest.raises(InputError, match=r"is no .*file of holders"):
        run_of(of(folder, holders=str(tmp_path / "holders.npy")))
    (tmp_path / "holders.npy").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"is no .*file of holders"):
        run_of(of(folder, holders=str(tmp_path / "holders.npy")))
    with pytest.raises(InputError, match="cannot read the holders"):
        run_of(of(folder, holders=str(tmp_path / "absent.npy")))


def test_holders_may_be_a_field_of_the_graph(tmp_path):
    folder, data = uploads_alone(tmp_path / "run"), sixty_nodes()
    assert set(run_of(of(folder)).secrets) == {"label-membership"}
    data.holders = torch.from_numpy(HOLDERS)
    write_graph(data, tmp_path / "g.npz")
    read = read_graph(tmp_path / "g.npz")
    assert np.array_equal(read.holders.numpy(), HOLDERS)
    secrets = run_of(of(folder), read).secrets
    assert set(secrets) == {"label-membership", "edge-presence", "lone-node", "node-ownership"}
    assert np.array_equal(secrets["edge-presence"].holders, HOLDERS)
    data.holders = data.holders[:5]
    with pytest.raises(InputError, match="'holders' must hold"):
        write_graph(data, tmp_path / "g.npz")


def test_a_client_that_was_never_drawn_may_be_declared(tmp_path):
    holders = np.where(np.arange(60) < 5, 4, HOLDERS)
    parties = {f"client:{n}": {"id": f"node {n}", "partition": n} for n in (0, 1, 4)}
    folder = uploads_alone(tmp_path / "run", holders=holders, parties=parties)
    lone = run_of(of(folder)).secrets["lone-node"]
    assert set(lone.owners) <= {0, 1, 4}
    assert set(lone.subjects // 3) == set(lone.owners)


def test_members_beyond_the_graph_are_refused(tmp_path):
    folder = uploads_alone(tmp_path / "run", members=[0, 60])
    with pytest.raises(InputError, match="names node 60"):
        run_of(of(folder))


def test_a_file_of_format_1_is_attacked_too(live, tmp_path):
    _, folder = live
    read_recording(folder).transcript.save(tmp_path / "old.safetensors")
    run = run_of(of(tmp_path / "old.safetensors"))
    for one, other in same_headers(run.transcript, read_recording(folder).transcript):
        assert all(torch.equal(one.tensors[name], other.tensors[name]) for name in other.tensors)
    data, game = sixty_nodes(), run.secrets["label-membership"]
    assert np.array_equal(game.subjects[game.truth], np.flatnonzero(data.train_mask))
    assert np.array_equal(game.subjects[~game.truth], np.flatnonzero(data.test_mask))
    assert any("members are the graph's train nodes" in note for note in run.notes)


def test_controls_imitate_what_was_recorded(tmp_path):
    assert of(uploads_alone(tmp_path / "uploads")).like is find("targets", "classifier")
    assert of(uploads_alone(tmp_path / "ours", pipeline="fedavg")).like is find("targets", "fedavg")
    assert of(uploads_alone(tmp_path / "theirs", pipeline="no:such")).like is find("targets", "classifier")


def test_a_defense_has_no_place_before_it(live):
    _, folder = live
    assert "took place already" in of(folder).why_not(find("defenses", "ldp")())
    assert of(folder).why_not(find("defenses", "none")()) is None


def test_a_record_of_nothing_and_none_at_all_are_refused(tmp_path):
    Transcript().save(tmp_path / "empty.safetensors")
    with pytest.raises(InputError, match="holds no message"):
        run_of(of(tmp_path / "empty.safetensors"))
    with pytest.raises(InputError, match="cannot read the transcript"):
        run_of(of(tmp_path / "none.safetensors"))


def test_a_published_network_is_refused_for_what_it_lacks(tmp_path):
    run = find("targets", "publish")()(sixty_nodes(), find("defenses", "none")(), SEED, lambda m: True)
    run.transcript.save(tmp_path / "net.safetensors")
    with pytest.raises(InputError, match="does not say who is who in it"):
        run_of(of(tmp_path / "net.safetensors"))
