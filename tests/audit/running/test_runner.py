"""Audits that are killed, run side by side or on several machines come to the same ledger."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from multiprocessing import current_process
from pathlib import Path

import pytest
from joblib.externals.loky import get_reusable_executor

from gaudit.audit.planning.grid import laid_out
from gaudit.audit.planning.plan import Plan
from gaudit.audit.results.assemble import read_audit
from gaudit.audit.running.ledger import Ledger
from gaudit.audit.running.runner import LONGEST_ADDRESS, _events, run_audit
from gaudit.errors import InputError
from support.places import SUPPORT
from support.waiting import wait_for

SMALL = {
    "name": "small",
    "datasets": ["karate"],
    "seeds": 4,
    "target": [{"name": "classifier", "settings": {"recipe": {"hidden": 16, "epochs": 20}, "in_question": 1.0}}],
    "defense": [{"name": "label-noise", "strengths": [1.0, 4.0]}],
    "attack": [{"name": "loss"}, {"name": "lira", "settings": {"shadows": 4}}],
}
TRIALS = 25  # 4 seeds x (control, 2 strengths, 3 shares of labels) and the planted leak
KILLS = 12

OWN = '''
import os, signal, time
from gaudit.targets.classification.classifier import Classifier


class Deadly(Classifier):
    """A target that kills the process it runs in: with seed 0 the first time, with seed 1 always."""

    name = "deadly"

    def run(self, data, defense, seed, retain, progress=lambda *a: None):
        index = seed.spawn_key[0]
        mark = f"{__file__}.{index}.{defense.name}"
        if index == 1 or index == 0 and not os.path.exists(mark):
            open(mark, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().run(data, defense, seed, retain, progress)


class Counting(Classifier):
    """A target that notes how many shadow models its trial may train at once."""

    name = "counting"

    def run(self, data, defense, seed, retain, progress=lambda *a: None):
        from gaudit.targets.models.model_ensemble import threads

        with open(f"{__file__}.threads", "a") as told:
            told.write(f"{threads()} ")
        return super().run(data, defense, seed, retain, progress)


class Failing(Classifier):
    """A target that fails with seed 1."""

    name = "failing"

    def run(self, data, defense, seed, retain, progress=lambda *a: None):
        if seed.spawn_key[0] == 1:
            raise RuntimeError("out of\\nluck")
        return super().run(data, defense, seed, retain, progress)


class Hanging(Classifier):
    """A target that never ends with seed 1, whatever is raised in it."""

    name = "hanging"

    def run(self, data, defense, seed, retain, progress=lambda *a: None):
        while seed.spawn_key[0] == 1:
            try:
                time.sleep(60)
            except Exception:
                pass
        return super().run(data, defense, seed, retain, progress)
'''


def run(path: Path, content: dict = SMALL, then=lambda: None, **how):
    """Runs a plan into a ledger, ``then`` after its first trial; returns the trials that were noted."""
    plan = Plan.of(content, "test")
    noted = []

    def note(task, done):
        noted.append(task.key)
        if len(noted) == 1:
            then()

    with Ledger(path, write=True) as ledger:
        run_audit(plan, laid_out(plan), ledger, note, **how)
    return noted


def rows(path: Path) -> dict[str, tuple]:
    """What a ledger holds, without the time it took."""
    with sqlite3.connect(path) as connection:
        return {key: rest for key, *rest in connection.execute("SELECT key, result, reason FROM trials")}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("ledger") / "audit.db"
    assert len(run(path, workers=1)) == TRIALS
    return path


def test_the_audit_is_whole_and_valid(undisturbed):
    audit = read_audit(undisturbed)
    assert audit.valid
    assert not audit.missing
    assert not audit.failures
    labels = [o.label for o in audit.sections[0].outcomes]
    assert labels[:3] == ["none", "label-noise, epsilon 1", "label-noise, epsilon 4"]


@pytest.mark.dear
def test_killed_again_and_again_it_comes_to_the_same(undisturbed, tmp_path):
    plan, ledger = tmp_path / "plan.toml", tmp_path / "audit.db"
    plan.write_text(_toml(SMALL))
    script = SUPPORT / "crash.py"
    done = subprocess.run(
        [sys.executable, str(script), str(plan), str(ledger), str(KILLS), "0.5"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    killed, whole = map(int, done.stdout.split()[-2:])
    assert killed == KILLS
    for number in range(1, whole + 1):
        assert rows(tmp_path / f"audit.db.{number}") == rows(undisturbed)
    before = rows(ledger) if ledger.exists() else {}
    again = run(ledger, workers=1)
    assert not set(again) & set(before)  # nothing runs twice
    assert rows(ledger) == rows(undisturbed)
    assert read_audit(ledger) is not None


def test_nothing_runs_twice(undisturbed):
    assert run(undisturbed, workers=1) == []


def test_several_workers_come_to_the_same(undisturbed, tmp_path):
    run(tmp_path / "audit.db", workers=2)
    assert rows(tmp_path / "audit.db") == rows(undisturbed)


def test_a_plan_that_grows_keeps_its_trials(undisturbed, tmp_path):
    path = tmp_path / "audit.db"
    run(path, {**SMALL, "seeds": 2}, workers=1)
    before = rows(path)
    again = run(path, workers=1)
    assert not set(again) & set(before)
    assert rows(path) == rows(undisturbed)


@pytest.fixture
def own(tmp_path, monkeypatch) -> Iterator[Path]:
    (tmp_path / "own_targets.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    get_reusable_executor().shutdown()  # workers from before know neither
    sys.modules.pop("own_targets", None)
    yield tmp_path
    get_reusable_executor().shutdown()


def _with(name: str) -> dict:
    target = {"name": f"own_targets:{name}", "settings": SMALL["target"][0]["settings"]}
    return {
        **SMALL,
        "target": [target],
        "defense": [],
        "seeds": 2,
        "alternatives": False,
        "attack": [{"name": "loss"}],
    }


@pytest.mark.dear
def test_a_lost_worker_costs_no_trial_but_the_one_that_kills_it(own):
    """Nor does the audit end with it where that trial is the last one left, and is asked for again."""
    path = own / "audit.db"
    run(path, _with("Deadly"), workers=2)
    audit = read_audit(path)
    assert [f.trial for f in audit.failures] == ["own_targets:Deadly on karate, none, seed 1"]
    assert "worker process was killed" in audit.failures[0].reason
    assert not audit.missing
    assert audit.sections[0].seeds == (0,)
    assert len(run(path, _with("Deadly"), retry=True)) == 1
    (failure,) = read_audit(path).failures
    assert "worker process was killed" in failure.reason


def test_a_failing_trial_stops_no_other_and_runs_again_when_asked_to(own):
    path = own / "audit.db"
    run(path, _with("Failing"), workers=1)
    audit = read_audit(path)
    assert [(f.trial, f.reason) for f in audit.failures] == [
        ("own_targets:Failing on karate, none, seed 1", "RuntimeError: out of luck")
    ]
    assert audit.sections[0].seeds == (0,)
    assert run(path, _with("Failing"), workers=1) == []
    assert len(run(path, _with("Failing"), workers=1, retry=True)) == 1


@pytest.mark.dear
@pytest.mark.parametrize("workers", [1, 2])
def test_a_trial_that_hangs_is_given_up_and_stops_no_other(own, workers):
    path = own / "audit.db"
    (hanging,) = (t.key for t in laid_out(Plan.of(_with("Hanging"), "test")).tasks if t.plan.index == 1)
    assert run(path, _with("Hanging"), workers=workers, timeout=2.0, only=[hanging]) == [hanging]
    assert len(run(path, _with("Hanging"), workers=1)) == 2
    audit = read_audit(path)
    assert [(f.trial, f.reason) for f in audit.failures] == [
        (
            "own_targets:Hanging on karate, none, seed 1",
            "it took longer than the 2 seconds that a trial may (--timeout)",
        )
    ]
    assert (audit.sections[0].seeds, audit.missing) == ((0,), 0)


@pytest.mark.dear
def test_where_trials_are_few_each_gets_the_workers_that_are_left(own, tmp_path):
    """Of five workers two trials get two each: the target's, and that of the planted leak."""
    few = {**_with("Counting"), "seeds": 1}
    for name, threads, how in (
        ("one", "1", {"workers": 1}),
        ("five", "2", {"workers": 5}),
        ("here", "3", {"workers": 3, "here": True}),
    ):
        Path(own / "own_targets.py.threads").unlink(missing_ok=True)
        noted = run(tmp_path / f"{name}.db", few, **how)
        assert len(noted) == 2
        assert (own / "own_targets.py.threads").read_text().split() == [threads]
    assert rows(tmp_path / "one.db") == rows(tmp_path / "five.db") == rows(tmp_path / "here.db")


@pytest.mark.dear
def test_a_killed_worker_on_ray_costs_no_trial_but_the_one_that_kills_it(own):
    """What has ended beside it is noted at once and runs once."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'graph-gaudit[ray]'")
    path = own / "audit.db"
    try:
        noted = run(path, _with("Deadly"), workers=2, executor="ray")
    except InputError as error:
        pytest.skip(f"Ray did not start here: {error}")
    assert len(noted) == len(set(noted)) == 3
    audit = read_audit(path)
    assert [f.trial for f in audit.failures] == ["own_targets:Deadly on karate, none, seed 1"]
    assert "worker process was killed" in audit.failures[0].reason
    assert (audit.sections[0].seeds, audit.missing) == ((0,), 0)


@pytest.mark.dear
def test_on_a_ray_cluster_of_which_one_node_dies(undisturbed, tmp_path):
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'graph-gaudit[ray]'")
    from ray.cluster_utils import Cluster

    try:
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        node = cluster.add_node(num_cpus=1)
    except Exception as error:  # Ray gives up where its processes do not get going in time
        pytest.skip(f"Ray did not start here: {str(error).splitlines()[0]}")
    ray.init(address=cluster.address, logging_level="ERROR", log_to_driver=False)
    try:
        assert wait_for(lambda: ray.cluster_resources().get("CPU") == 2, 30)
        killer = threading.Timer(0.3, cluster.remove_node, (node,), {"allow_graceful": False})
        noted = run(tmp_path / "audit.db", then=killer.start, workers=2, executor="ray")
        killer.join()
        assert len(noted) == TRIALS
        assert wait_for(lambda: sum(n["Alive"] for n in ray.nodes()) == 1, 30)
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert rows(tmp_path / "audit.db") == rows(undisturbed)


@pytest.mark.dear
def test_on_two_machines_few_trials_get_the_workers_of_one_each(own):
    """Of eight workers two trials would get four each, and no machine has more than two."""
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'graph-gaudit[ray]'")
    from ray.cluster_utils import Cluster

    try:
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
        cluster.add_node(num_cpus=2)
    except Exception as error:  # Ray gives up where its processes do not get going in time
        pytest.skip(f"Ray did not start here: {str(error).splitlines()[0]}")
    ray.init(address=cluster.address, logging_level="ERROR", log_to_driver=False)
    try:
        assert wait_for(lambda: ray.cluster_resources().get("CPU") == 4, 30)
        assert len(run(own / "ray.db", {**_with("Counting"), "seeds": 1}, workers=8, executor="ray")) == 2
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert (own / "own_targets.py.threads").read_text().split() == ["2"]
    run(own / "here.db", {**_with("Counting"), "seeds": 1}, workers=1)
    assert rows(own / "ray.db") == rows(own / "here.db")


@pytest.mark.dear
def test_workers_end_with_the_process_that_started_them(own, tmp_path):
    """Killed in the midst, an audit leaves no process that goes on computing."""
    plan = tmp_path / "plan.toml"
    plan.write_text(_toml({**SMALL, "target": [{"name": "classifier", "settings": {"recipe": {"epochs": 50000}}}]}))
    start = [sys.executable, "-c", "from gaudit.commands.main import main; main()"]
    options = ["audit", str(plan), "--ledger", str(tmp_path / "a.db"), "--workers", "2"]
    process = subprocess.Popen([*start, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        workers = wait_for(lambda: _computing(process.pid), 300)
        assert workers
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert wait_for(lambda: not any(map(_alive, workers)), 30)


def test_workers_report_from_where_temporary_files_have_long_names(tmp_path, monkeypatch):
    """The path of a socket in such a folder is longer than systems take."""
    folder = tmp_path / ("x" * LONGEST_ADDRESS)
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.delitem(current_process()._config, "tempdir", raising=False)
    reported = []
    with _events(lambda *event: reported.append(event)) as events:
        events("a trial", "a stage", 1, 2)
        assert wait_for(lambda: reported, 30)
    assert reported == [("a trial", "a stage", 1, 2)]


def _alive(pid: int) -> bool:
    """Whether a process is there and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def _computing(parent: int) -> list[int]:
    """Children of a process that have used half a second of CPU time at least, and are two."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent and int(fields[11]) > os.sysconf("SC_CLK_TCK") / 2:
            found.append(int(stat.parent.name))
    return found if len(found) >= 2 else []


def _toml(content: dict) -> str:
    """Tables of plain values as TOML; JSON's strings, numbers, lists and (inline) tables nearly are."""

    def inline(value) -> str:
        if isinstance(value, dict):
            return "{ " + ", ".join(f"{k} = {inline(v)}" for k, v in value.items()) + " }"
        return "[" + ", ".join(map(inline, value)) + "]" if isinstance(value, list) else json.dumps(value)

    return "\n".join(f"{key} = {inline(value)}" for key, value in content.items())


@pytest.mark.dear
def test_what_a_target_does_to_its_graph_other_trials_do_not_see(own, tmp_path):
    """With one worker all trials run in one process, on one graph."""
    (own / "own_targets.py").write_text(
        OWN
        + """

class Careless(Classifier):
    name = "careless"

    def run(self, data, defense, seed, retain, progress=lambda *a: None):
        data.x.mul_(1.5)
        return super().run(data, defense, seed, retain, progress)
"""
    )
    for workers in (1, 2):
        run(own / f"{workers}.db", _with("Careless"), workers=workers)
    assert rows(own / "1.db") == rows(own / "2.db")


def test_an_observer_who_holds_all_members_is_told_so(tmp_path):
    target = {"name": "classifier", "settings": {**SMALL["target"][0]["settings"], "clients": 2, "rounds": 2}}
    attacks = [{"name": "loss", "observers": ["public", "client:0+client:1", "client:7"]}]
    run(tmp_path / "a.db", {**SMALL, "target": [target], "defense": [], "seeds": 1, "attack": attacks}, workers=1)
    (section,) = read_audit(tmp_path / "a.db").sections
    (outcome,) = section.outcomes
    assert [a.plan.observer for a in outcome.attacks] == ["public"]
    assert "holds all members" in outcome.refused["loss (observer client:0+client:1)"]
    assert "loss (observer client:7)" in outcome.refused


def test_attacks_that_differ_in_settings_are_told_apart(tmp_path):
    attacks = [{"name": "lira", "settings": {"shadows": k}} for k in (4, 6)]
    run(tmp_path / "a.db", {**SMALL, "defense": [], "seeds": 1, "attack": attacks}, workers=1)
    places = read_audit(tmp_path / "a.db").findings()
    assert [p.attack.variant for p in places] == ["shadows 4", "shadows 6"]


def test_a_plan_that_is_only_tried_does_not_change_what_is_read(undisturbed, tmp_path):
    path = tmp_path / "audit.db"
    run(path, {**SMALL, "seeds": 1}, workers=1)
    plan = Plan.of({**SMALL, "name": "another"}, "test")
    grid = laid_out(plan)
    with Ledger(path, write=True) as ledger:
        run_audit(plan, grid, ledger, lambda task, done: None, workers=1, only=[grid.tasks[-1].key])
    assert read_audit(path).plan.name == "small"
