"""The ledger: what is noted comes back, and whatever is wrong with a file is said and leaves it as it is.

Killed processes are in `test_runner.py`.
"""

import hashlib
import os
import resource
import shutil
import signal
import sqlite3
import tempfile
import time
import traceback
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gaudit.audit.planning.facts import AttackFacts
from gaudit.audit.planning.grid import Grid, laid_out, versions
from gaudit.audit.planning.plan import Plan
from gaudit.audit.planning.trial_plan import AttackPlan
from gaudit.audit.results.assemble import assemble, read_audit
from gaudit.audit.results.audit_result import Audit
from gaudit.audit.running import ledger as ledger_module
from gaudit.audit.running.ledger import MIGRATIONS, Content, Ledger
from gaudit.audit.running.serialization import dumps
from gaudit.audit.running.trial import run_trial
from gaudit.errors import InputError
from gaudit.reports.formats.exports import as_json
from support.audits import parts

CONTENT = {
    "datasets": ["karate"],
    "seeds": 2,
    "target": [{"name": "classifier", "settings": {"recipe": {"hidden": 4, "epochs": 5}, "in_question": 1.0}}],
    "attack": [{"name": "loss"}],
}
NOBODY = 65534


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan.of(CONTENT, "test")


@pytest.fixture(scope="module")
def grid(plan) -> Grid:
    return laid_out(plan)


@pytest.fixture(scope="module")
def results(grid) -> dict:
    """Real ones, by key."""
    return {task.key: run_trial(task.plan, grid.graphs[task.dataset]) for task in grid.tasks}


@pytest.fixture(scope="module")
def kept(plan, grid, results, tmp_path_factory) -> Path:
    """A whole ledger, which tests copy."""
    path = tmp_path_factory.mktemp("kept") / "audit.db"
    with Ledger(path, write=True) as ledger:
        ledger.begin(plan, grid)
        for key, result in results.items():
            ledger.note_result(key, dumps(result), 1.5)
    return path


@pytest.fixture
def path(kept, tmp_path) -> Path:
    """A copy of it, alone in its folder."""
    copy = tmp_path / "folder" / "audit.db"
    copy.parent.mkdir()
    shutil.copy(kept, copy)
    return copy


def content(folder: Path) -> dict[str, str]:
    """Digests of all files in a folder, by name, but for what processes share only while they run."""
    files = [file for file in sorted(folder.iterdir()) if not file.name.endswith("-shm")]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def said(path: Path, write: bool = False) -> str:
    """What is said of a ledger that cannot be used; it and its folder stay as they are."""
    before = content(path.parent)
    with pytest.raises(InputError) as caught, Ledger(path, write) as ledger:
        assemble(ledger.content())
    assert content(path.parent) == before
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def read(path: Path) -> tuple[Audit | None, str]:
    """The audit, or why there is none."""
    try:
        return read_audit(path), ""
    except InputError as error:
        return None, str(error)


def numbers(audit: Audit) -> list:
    """All that was measured."""
    return [[outcome.as_dict() for outcome in section.outcomes] for section in audit.sections]


def elsewhere(call: Callable[[], None]) -> int:
    """Starts a call in a child process."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        call()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def ended(child: int) -> bool:
    """Whether a child process came to a good end."""
    _, status = os.waitpid(child, 0)
    return os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0


def write_and_be_killed(path: Path, trial: str) -> None:
    """A child process notes a failed trial, which is then in the log of the ledger, and ends without a word."""

    def work() -> None:
        ledger = Ledger(path, write=True)
        ledger.note_failure(trial, "noted before", 1.0)
        os.kill(os.getpid(), signal.SIGKILL)

    assert not ended(elsewhere(work))


# --- what is noted comes back


def test_results_come_back_bit_for_bit(path, plan, grid, results):
    """An audit from the ledger is the one that is made of the results themselves."""
    audit = read_audit(path)
    expected = assemble(Content(plan, grid, results, {}, versions(), dict.fromkeys(results, 1.5)))
    assert numbers(audit) == numbers(expected)
    assert audit.controls == expected.controls
    assert (audit.plan, audit.fingerprint, audit.versions) == (plan, grid.fingerprint, versions())
    assert (audit.failures, audit.missing, audit.seconds) == ((), 0, expected.seconds)
    judged, again = (a.sections[0].outcomes[0].attacks[0].roc for a in (audit, expected))
    assert judged.fpr.tobytes() == again.fpr.tobytes()
    assert judged.tpr.tobytes() == again.tpr.tobytes()


def test_it_knows_what_is_done_and_what_it_took(path, grid):
    with Ledger(path) as ledger:
        assert ledger.done() == {task.key for task in grid.tasks}
        assert ledger.failed() == set()
        assert ledger.seconds() == {task.key: 1.5 for task in grid.tasks}


def test_a_failure_is_replaced_by_a_result_and_never_a_result_by_a_failure(tmp_path, plan, grid, results):
    path, key = tmp_path / "audit.db", grid.tasks[1].key
    with Ledger(path, write=True) as ledger:
        ledger.begin(plan, grid)
        ledger.note_failure(key, "out of luck", 1.0)
        ledger.note_failure(key, "out of memory", 2.0)
        audit = assemble(ledger.content())
        assert [(f.trial, f.reason) for f in audit.failures] == [(grid.tasks[1].title, "out of memory")]
        assert (ledger.failed(), ledger.done()) == ({key}, set())
        ledger.note_result(key, dumps(results[key]), 3.0)
        assert (ledger.failed(), ledger.done()) == (set(), {key})
        ledger.note_failure(key, "too late", 4.0)
        ledger.note_result(key, b"a second opinion", 5.0)
        assert (ledger.failed(), ledger.done(), ledger.seconds()) == (set(), {key}, {key: 3.0})
    audit = read_audit(path)
    assert not audit.failures
    assert audit.missing == len(grid.tasks) - 1
    assert audit.sections[0].seeds == (0,)


def test_a_plan_that_grows_keeps_its_trials_and_the_last_plan_counts(path, plan):
    larger = Plan.of({**CONTENT, "seeds": 3, "name": "larger"}, "test")
    grown = laid_out(larger)
    with Ledger(path, write=True) as ledger:
        done = ledger.done()
        ledger.begin(larger, grown)
        assert ledger.done() == done <= {task.key for task in grown.tasks}
    audit = read_audit(str(path))
    assert (audit.plan.name, audit.missing, audit.sections[0].seeds) == ("larger", 1, (0, 1))
    with Ledger(path, write=True) as ledger:
        ledger.begin(plan, laid_out(plan))
    assert (read_audit(path).plan, read_audit(path).missing) == (plan, 0)


def test_a_plan_is_noted_once_as_long_as_it_does_not_change(path, plan, grid):
    for _ in range(3):
        with Ledger(path, write=True) as ledger:
            ledger.begin(plan, grid)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM plans").fetchone() == (1,)


def test_trials_of_other_plans_are_no_part_of_an_audit(path, grid):
    with Ledger(path, write=True) as ledger:
        ledger.note_failure("f" * 64, "of something else", 100.0)
    audit = read_audit(path)
    assert not audit.failures
    assert audit.seconds == 1.5 * len(grid.tasks)


def test_nothing_is_left_beside_a_ledger_that_was_closed(path):
    for write in (True, False):
        with Ledger(path, write):
            pass
        assert [file.name for file in path.parent.iterdir()] == ["audit.db"]


# --- files that are no sound ledger


def foreign(path: Path, mode: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute("CREATE TABLE accounts (owner TEXT)")
        connection.execute("INSERT INTO accounts VALUES ('me')")
        connection.commit()


def killed_in_the_midst(path: Path) -> None:
    """Leaves a file of another program with its write-ahead log."""

    def work() -> None:
        foreign(path, "WAL")
        connection = sqlite3.connect(path)
        connection.execute("INSERT INTO accounts VALUES ('you')")
        connection.commit()
        os.kill(os.getpid(), signal.SIGKILL)

    assert not ended(elsewhere(work))
    assert path.with_name(path.name + "-wal").stat().st_size


OTHERS = {
    "sqlite": lambda path: foreign(path, "DELETE"),
    "sqlite with a log": lambda path: foreign(path, "WAL"),
    "sqlite in use": killed_in_the_midst,
    "text": lambda path: path.write_text("all that I know\n" * 1000),
    "a few letters": lambda path: path.write_text("ab"),
    "zeros": lambda path: path.write_bytes(bytes(8192)),
}


@pytest.mark.parametrize("write", [False, True], ids=["reading", "writing"])
@pytest.mark.parametrize("what", OTHERS)
def test_another_programs_file_is_refused_and_left_as_it_is(tmp_path, what, write):
    path = tmp_path / "folder" / "other.db"
    path.parent.mkdir()
    OTHERS[what](path)
    assert "no ledger" in said(path, write)


@pytest.mark.parametrize("write", [False, True], ids=["reading", "writing"])
@pytest.mark.parametrize("share", [0.999, 0.9, 0.5, 0.1, 0.002])
def test_a_truncated_ledger_is_refused_and_left_as_it_is(path, share, write):
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    assert "is damaged" in said(path, write)


def test_a_ledger_with_a_flipped_bit_is_refused_or_says_the_same(path):
    """A bit in a free page, in a reason or in seconds changes no number; any other is noticed."""
    whole, draw = path.read_bytes(), np.random.default_rng(0)
    expected, noticed = numbers(read_audit(path)), 0
    for bit in draw.integers(8 * len(whole), size=120):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(flipped)
        audit, why = read(path)
        assert str(path) in why if audit is None else numbers(audit) == expected or audit.missing
        noticed += audit is None
        assert content(path.parent) == {"audit.db": hashlib.sha256(flipped).hexdigest()}
    assert noticed > 60


@pytest.mark.parametrize("write", [False, True], ids=["reading", "writing"])
def test_a_ledger_with_a_wiped_page_is_refused_and_left_as_it_is(path, write):
    """Whose place nothing but a check of the whole file comes upon before something is written."""
    with closing(sqlite3.connect(path)) as connection:
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'trials'").fetchone()
    damaged = bytearray(path.read_bytes())
    damaged[(page - 1) * size : page * size] = bytes(size)
    path.write_bytes(damaged)
    assert "is damaged" in said(path, write)


@pytest.mark.parametrize("write", [False, True], ids=["reading", "writing"])
def test_a_ledger_of_a_newer_version_is_refused_and_left_as_it_is(path, write):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    assert f"has schema {len(MIGRATIONS) + 1}, this gaudit knows {len(MIGRATIONS)}" in said(path, write)


@pytest.mark.parametrize("column", ["content", "result"])
def test_what_was_changed_by_hand_is_noticed(path, column):
    table = {"content": "plans", "result": "trials"}[column]
    with closing(sqlite3.connect(path)) as connection:
        kind = "TEXT" if column == "content" else "BLOB"
        connection.execute(f"UPDATE {table} SET {column} = CAST(replace({column}, 'loss', 'lira') AS {kind})")
        connection.commit()
    assert "is damaged" in said(path)


def test_no_class_but_an_attack_is_called_by_a_ledger_from_somebody_else(path, plan, grid, tmp_path):
    """Names in a ledger lead to no code: no program may be started by them, whoever is trusted."""
    mark = tmp_path / "mark"
    told = AttackFacts(reads=True, ranks_as=None, about="Harmless")
    evil = AttackPlan("subprocess:Popen", {"args": ["touch", str(mark)]}, kept=told)
    task = replace(grid.tasks[1], plan=replace(grid.tasks[1].plan, attacks=(evil,)))
    with Ledger(path, write=True) as ledger:
        ledger.begin(plan, replace(grid, tasks=(*grid.tasks, replace(task, key="evil"))))
        result = run_trial(grid.tasks[1].plan, grid.graphs["karate"])
        found = replace(result, attacked=tuple(replace(a, plan=evil) for a in result.attacked))
        ledger.note_result("evil", dumps(found), 1.0)
    assert "subprocess:Popen" in as_json(read_audit(path))
    with pytest.raises(InputError, match="'subprocess:Popen' is no attack"):
        read_audit(path, trust_code=True)
    assert not mark.exists()


def test_a_file_that_is_not_there_is_not_made_by_reading(tmp_path):
    for path in (tmp_path / "absent.db", tmp_path):
        with pytest.raises(InputError, match=f"there is no ledger {path}: run 'gaudit audit' first"):
            read_audit(path)
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    for path in (tmp_path, tmp_path / "absent" / "audit.db"):
        with pytest.raises(InputError, match=f"cannot write the ledger {path}: "):
            Ledger(path, write=True)
    assert not list(tmp_path.iterdir())


def test_an_empty_file_becomes_a_ledger_by_writing_alone(tmp_path):
    path = tmp_path / "audit.db"
    path.touch()
    assert "no ledger" in said(path)
    with Ledger(path, write=True) as ledger:
        assert ledger.done() == set()
    assert "holds no plan yet" in said(path)


# --- several at a time


def test_a_second_writer_is_refused_at_once(path):
    start = time.monotonic()
    with Ledger(path, write=True) as first:
        with pytest.raises(InputError, match=f"another audit is writing to the ledger {path}: wait for it"):
            Ledger(path, write=True)

        def second() -> None:
            with pytest.raises(InputError, match="another audit is writing"):
                Ledger(path, write=True)

        assert ended(elsewhere(second))
        first.note_failure("a" * 64, "still writing", 1.0)
    assert time.monotonic() - start < 5
    with Ledger(path, write=True) as third:
        assert third.failed() == {"a" * 64}


def test_a_killed_writer_locks_nobody_out(path):
    write_and_be_killed(path, "b" * 64)
    with Ledger(path) as reader:
        assert reader.failed() == {"b" * 64}
    with Ledger(path, write=True) as writer:
        assert writer.failed() == {"b" * 64}
    assert [file.name for file in path.parent.iterdir()] == ["audit.db"]


def test_a_writer_that_was_killed_before_its_log_was_put_away_has_made_a_ledger(tmp_path, plan, grid):
    """All of the content is in the log then, and the file itself says nothing yet."""
    path = tmp_path / "audit.db"

    def work() -> None:
        ledger = Ledger(path, write=True)
        ledger.begin(plan, grid)
        os.kill(os.getpid(), signal.SIGKILL)

    assert not ended(elsewhere(work))
    assert path.stat().st_size < path.with_name("audit.db-wal").stat().st_size
    audit = read_audit(path)
    assert (audit.plan, audit.missing) == (plan, len(grid.tasks))


def test_reading_while_another_process_writes(path, grid):
    """What a reader has seen once it sees again; it neither waits nor is in the way."""
    many = 150

    def work() -> None:
        with Ledger(path, write=True) as ledger:
            for number in range(many):
                ledger.note_failure(f"{number:064}", "x" * 2000, 1.0)

    child, seen = elsewhere(work), []
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        with Ledger(path) as ledger:
            seen.append(len(ledger.failed()))
            assert ledger.done() == {task.key for task in grid.tasks}
    with Ledger(path) as ledger:
        seen.append(len(ledger.failed()))
    assert seen == sorted(seen)
    assert seen[-1] == many
    assert len(seen) > 2


def test_a_writer_begins_and_ends_while_somebody_reads(path):
    with Ledger(path) as reader:
        before = reader.failed()
        with Ledger(path, write=True) as writer:
            writer.note_failure("c" * 64, "noted", 1.0)
        assert reader.failed() - before == {"c" * 64}
    with Ledger(path) as later:
        assert later.failed() == {"c" * 64}
    with Ledger(path, write=True):
        pass
    assert [file.name for file in path.parent.iterdir()] == ["audit.db"]


def test_a_file_that_another_program_has_locked_is_said_to_be_in_use(path, monkeypatch):
    monkeypatch.setattr(ledger_module, "PATIENCE", 0.1)
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(InputError, match=f"the ledger {path} is in use by another program"):
            Ledger(path, write=True)
        with pytest.raises(InputError, match="in use"):
            read_audit(path)
        other.rollback()
    assert read_audit(path).valid


# --- disks that cannot be written


@pytest.fixture
def readonly(kept) -> Iterator[Path]:
    """A copy in a folder that only its owner may write."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(kept, folder / "audit.db")
        (folder / "audit.db").chmod(0o644)
        yield folder / "audit.db"
        folder.chmod(0o755)


def without_rights(folder: Path, call: Callable[[], None]) -> bool:
    """Whether a call comes to a good end in a process that may not write to a folder."""
    folder.chmod(0o555)

    def work() -> None:
        if os.geteuid() == 0:
            os.setegid(NOBODY)
            os.seteuid(NOBODY)
        with pytest.raises(PermissionError):
            (folder / "mine").touch()
        call()

    before = content(folder)
    good = ended(elsewhere(work))
    return good and content(folder) == before


def test_a_ledger_in_a_folder_that_cannot_be_written_is_read_without_writing(readonly, plan):
    def read() -> None:
        assert read_audit(readonly).plan == plan

    assert without_rights(readonly.parent, read)


def test_so_is_one_whose_log_could_not_be_put_away(readonly, plan):
    """Somebody read it when its writer ended."""
    with closing(sqlite3.connect(readonly)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("SELECT count(*) FROM trials").fetchone()
    assert [file.name for file in readonly.parent.iterdir()] == ["audit.db"]

    def read() -> None:
        assert read_audit(readonly).plan == plan

    assert without_rights(readonly.parent, read)


def test_one_with_a_part_in_its_log_is_read_whole_or_not_at_all(readonly):
    write_and_be_killed(readonly, "d" * 64)
    for lacking in ("", "-shm"):
        if lacking:
            readonly.with_name(readonly.name + lacking).unlink()

        def look() -> None:
            with suppress(InputError), Ledger(readonly) as ledger:
                assert ledger.failed() == {"d" * 64}

        for file in readonly.parent.iterdir():
            file.chmod(0o444)
        assert without_rights(readonly.parent, look)
        readonly.parent.chmod(0o755)


def test_writing_there_is_refused(readonly):
    def write() -> None:
        with pytest.raises(InputError, match=r"cannot write the ledger .*: Permission denied"):
            Ledger(readonly, write=True)
        with pytest.raises(InputError, match=r"cannot write the ledger .*: Permission denied"):
            Ledger(readonly.with_name("new.db"), write=True)

    assert without_rights(readonly.parent, write)


def test_on_a_full_disk_what_was_noted_before_is_kept(path, grid):
    """Files of this process may not grow beyond a size, as on a disk that is full."""
    noted = path.with_name("noted")

    def fill(ledger: Ledger) -> None:
        for number in range(100):
            ledger.note_failure(f"{number:064}", "x" * 5000, 1.0)
            noted.write_text(str(number + 1))

    def work() -> None:
        size = path.stat().st_size
        with Ledger(path, write=True) as ledger:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50_000,) * 2)
            with pytest.raises(InputError, match="make room and start again") as caught:
                fill(ledger)
            assert f"cannot write the ledger {path}: " in str(caught.value)
            assert "all that was noted before is kept" in str(caught.value)
            with pytest.raises(InputError, match="make room"):
                ledger.note_failure("e" * 64, "x" * 5000, 1.0)
            assert len(ledger.failed()) == int(noted.read_text())  # it can still be read

    assert ended(elsewhere(work))
    before = int(noted.read_text())
    assert before
    with Ledger(path) as ledger:
        assert len(ledger.failed()) == before
        assert ledger.done() == {task.key for task in grid.tasks}
    with Ledger(path, write=True) as ledger:  # there is room again
        ledger.note_failure("e" * 64, "now", 1.0)
        assert len(ledger.failed()) == before + 1


def test_a_full_disk_makes_no_ledger(tmp_path):
    def work() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        with pytest.raises(InputError, match="make room"):
            Ledger(tmp_path / "audit.db", write=True)

    assert ended(elsewhere(work))
    with Ledger(tmp_path / "audit.db", write=True) as ledger:
        assert ledger.done() == set()


# --- schemas


def schema(path: Path) -> tuple:
    with closing(sqlite3.connect(path)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        return version, sorted(connection.execute("SELECT name, sql FROM sqlite_master").fetchall())


def halfway(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE half (done INTEGER)")
    connection.execute("ALTER TABLE trials ADD COLUMN step TEXT")
    connection.execute("UPDATE trials SET step = 'one', seconds = 0")
    raise sqlite3.OperationalError("the power went out")


def fine(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE trials ADD COLUMN place TEXT NOT NULL DEFAULT 'here'")


def test_a_migration_that_fails_changes_nothing(path, monkeypatch, plan, grid):
    before = schema(path)
    monkeypatch.setattr(ledger_module, "MIGRATIONS", (*MIGRATIONS, halfway))
    with pytest.raises(InputError, match=f"the ledger {path} .*the power went out"):
        Ledger(path, write=True)
    assert schema(path) == before
    monkeypatch.undo()
    with Ledger(path, write=True) as ledger:
        assert set(ledger.seconds().values()) == {1.5}
    assert (read_audit(path).plan, read_audit(path).missing) == (plan, 0)


def test_migrations_are_made_one_by_one(path, monkeypatch):
    monkeypatch.setattr(ledger_module, "MIGRATIONS", (*MIGRATIONS, fine, halfway))
    with pytest.raises(InputError, match="the power went out"):
        Ledger(path, write=True)
    version, tables = schema(path)
    assert version == len(MIGRATIONS) + 1
    assert any("place TEXT NOT NULL" in sql for name, sql in tables if name == "trials")
    assert "half" not in dict(tables)


def test_a_migration_keeps_what_was_noted_and_reading_asks_for_it(path, monkeypatch, grid):
    before = read_audit(path)
    monkeypatch.setattr(ledger_module, "MIGRATIONS", (*MIGRATIONS, fine))
    assert f"has the old schema {len(MIGRATIONS)}: run 'gaudit audit' on it once" in said(path)
    with Ledger(path, write=True) as ledger:
        assert ledger.done() == {task.key for task in grid.tasks}
    assert schema(path)[0] == len(MIGRATIONS) + 1
    assert numbers(read_audit(path)) == numbers(before)


def test_a_first_schema_that_fails_leaves_a_file_that_can_be_used(tmp_path, monkeypatch):
    def broken(connection: sqlite3.Connection) -> None:
        MIGRATIONS[0](connection)
        raise sqlite3.OperationalError("the power went out")

    path = tmp_path / "audit.db"
    monkeypatch.setattr(ledger_module, "MIGRATIONS", (broken,))
    with pytest.raises(InputError, match="the power went out"):
        Ledger(path, write=True)
    assert schema(path) == (0, [])
    monkeypatch.undo()
    with Ledger(path, write=True) as ledger:
        assert ledger.done() == set()


def test_memory_does_not_grow_with_the_number_of_trials(tmp_path):
    """Guesses stay in the file until they are gone through."""
    peaks = [_peak(tmp_path / f"{seeds}.db", seeds) for seeds in (2, 20)]
    assert peaks[1] < 1.5 * peaks[0]


def _peak(path: Path, seeds: int) -> int:
    """Bytes held at most while all guesses of an audit, with 20,000 non-members in each trial, are gone through."""
    plan, grid, results = parts({("none", None): (1.5, 0.8)}, seeds=seeds, others=20_000)
    with Ledger(path, write=True) as ledger:
        ledger.begin(plan, grid)
        for task in grid.tasks:
            ledger.note_result(task.key, dumps(results[task.key]), 1.0)
    del results
    tracemalloc.start()
    try:
        with Ledger(path) as ledger:
            content = ledger.content()
            assert sum(attacked.judged.truth.sum() for r in content.results.values() for attacked in r.attacked)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
