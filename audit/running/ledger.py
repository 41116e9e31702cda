"""The memory of an audit: one SQLite file that survives whatever happens to the process that writes it.

Write-ahead log, one transaction per trial, and one writer at a time. A trial is known by the key of its content:
what is there is not run again, and a plan that grows keeps what it has.
"""

import fcntl
import math
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, overload

from ...errors import InputError, one_line, quoted
from ...output_files import PRIVATE
from ...untrusted import check_memory
from ..planning.grid import Grid
from ..planning.plan import Plan
from .serialization import dumps_plan, loads, loads_plan
from .trial import Attacked, TrialResult

APPLICATION = 0x67617564
"""Marks a SQLite file as ours ('gaud')."""
UNWRITABLE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
"""How SQLite says that it cannot make the files that go with a write-ahead log."""
LONGEST_ROW = 2**29
"""Bytes of a trial's result or of a plan."""
MOST_TABLES = 20
PATIENCE = 60.0
"""Seconds to wait for who reads the file before it is written."""


def _first(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE plans (place INTEGER PRIMARY KEY, content TEXT NOT NULL)")
    connection.execute(
        "CREATE TABLE trials (key TEXT PRIMARY KEY, result BLOB, reason TEXT, seconds REAL NOT NULL,"
        " CHECK ((result IS NULL) <> (reason IS NULL))) WITHOUT ROWID"
    )


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_first,)
"""Step i leads from schema i to schema i + 1; an empty file has schema 0."""


def _typed(value: Any, kind: type) -> Any:
    """A value of a row, which SQLite keeps in whatever type it came."""
    if not isinstance(value, kind):
        raise InputError(f"it holds {quoted(value)} where {kind.__name__} is expected")
    return value


def _opened(place: str) -> sqlite3.Connection:
    """A connection to a file that may be forged: nothing in it is run, and no row is larger than a result."""
    connection = sqlite3.connect(place, uri=True, timeout=PATIENCE)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_ROW)
    return connection


def _schema(version: int) -> list[tuple[str, str, str]]:
    """Type, name and SQL of what a ledger of some version consists of: no view, no trigger, no other column."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for step in MIGRATIONS[:version]:
            step(connection)
        return connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall()


@dataclass(frozen=True)
class Content:
    """What a ledger holds.

    Attributes:
        plan: the plan.
        grid: its trials.
        results: of trials by key. Their attacks lie in the ledger until they are gone through (`StoredAttacks`).
        failures: reasons why trials could not be run, by key.
        versions: of the code that ran them.
        seconds: CPU seconds that each trial took, by key.
    """

    plan: Plan
    grid: Grid
    results: Mapping[str, TrialResult]
    failures: Mapping[str, str]
    versions: dict[str, str]
    seconds: Mapping[str, float]


class StoredAttacks(Sequence[Attacked]):
    """The attacks of a trial, read from the ledger each time that they are gone through, and kept nowhere."""

    def __init__(self, number: int, read: Callable[[], Sequence[Attacked]]) -> None:
        self.number = number
        self.read = read

    def __len__(self) -> int:
        return self.number

    def __iter__(self) -> Iterator[Attacked]:
        return iter(self.read())

    @overload
    def __getitem__(self, place: int) -> Attacked: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Attacked]: ...
    def __getitem__(self, place: int | slice) -> Attacked | Sequence[Attacked]:
        return self.read()[place]


class Ledger:
    """An open ledger. Use it in a ``with`` block.

    Args:
        path: of the file.
        write: whether to write; the file is then made where it is missing, brought to the newest schema, and kept
            from other writers.

    Raises:
        InputError: not a ledger, damaged, of a newer gaudit, written by another process, or not accessible.
    """

    def __init__(self, path: Path, write: bool = False) -> None:
        self.path = path
        if not write and not path.is_file():
            raise InputError(f"there is no ledger {path}: run 'gaudit audit' first")
        self._lock = self._locked() if write else None
        try:
            with self._clearly():
                self._db = self._connected(write)
        except BaseException:
            self._let_go()
            raise
        try:
            with self._clearly():
                if write:
                    self._prepare()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file; the lock is let go last (closing a file drops all locks that SQLite has on it).

        A writer leaves no write-ahead log behind if it can: whoever then reads makes no files beside the ledger.
        """
        if self._lock is not None:
            with suppress(sqlite3.Error):  # somebody reads it now, or the disk is full: the log stays
                self._db.execute("PRAGMA busy_timeout = 0")
                self._db.execute("PRAGMA journal_mode = DELETE")
        self._db.close()
        self._let_go()

    def _let_go(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def begin(self, plan: Plan, grid: Grid) -> None:
        """Notes what is to run; reports and checks read the plan that was noted last."""
        content = dumps_plan(plan, grid)
        with self._clearly(), self._db:
            last = self._db.execute("SELECT content FROM plans ORDER BY place DESC LIMIT 1").fetchone()
            if last is None or last[0] != content:
                self._db.execute("INSERT INTO plans (content) VALUES (?)", (content,))

    def done(self) -> set[str]:
        """Keys of trials that have a result."""
        return self._keys("result IS NOT NULL")

    def failed(self) -> set[str]:
        """Keys of trials that could not be run."""
        return self._keys("reason IS NOT NULL")

    def seconds(self) -> dict[str, float]:
        """CPU seconds of each trial that was noted."""
        with self._clearly():
            return dict(self._db.execute("SELECT key, seconds FROM trials"))

    def note_result(self, key: str, result: bytes, seconds: float) -> None:
        """Keeps a trial's result, in one transaction; instead of an earlier failure, if there was one."""
        self._note(key, result, None, seconds)

    def note_failure(self, key: str, reason: str, seconds: float) -> None:
        """Keeps why a trial could not be run."""
        self._note(key, None, reason, seconds)

    def content(self, trust_code: bool = False) -> Content:
        """The plan that was noted last, and what has run of it so far, for as long as the ledger is open.

        Only if ``trust_code`` a ``module:Class`` that is named in it may be imported.

        Raises:
            InputError: there is no plan yet, or the file is damaged.
        """
        with self._clearly():
            row = self._db.execute("SELECT content FROM plans ORDER BY place DESC LIMIT 1").fetchone()
        if row is None:
            raise InputError(f"the ledger {self.path} holds no plan yet")
        try:
            plan, grid, versions = loads_plan(_typed(row[0], str), trust_code)
        except InputError as error:
            raise InputError(f"the ledger {self.path} is damaged: {error}") from error
        with self._clearly():
            (size,) = self._db.execute("SELECT coalesce(max(length(result)), 0) FROM trials").fetchone()
        check_memory(f"the ledger {self.path}", 2 * size)
        wanted = {task.key for task in grid.tasks}
        results: dict[str, TrialResult] = {}
        failures: dict[str, str] = {}
        seconds: dict[str, float] = {}
        with self._clearly():  # row by row: all results together may be too many for memory
            for key, content, reason, took in self._db.execute("SELECT key, result, reason, seconds FROM trials"):
                if key not in wanted:
                    continue
                seconds[key] = self._seconds(key, took)
                if reason is not None:
                    failures[key] = one_line(reason)
                else:
                    results[key] = self._without_attacks(key, content, trust_code)
        return Content(plan, grid, results, failures, versions, seconds)

    def _without_attacks(self, key: str, content: object, trust_code: bool) -> TrialResult:
        """A result whose attacks are left in the file until they are asked for."""
        result = self._read(key, content, trust_code)
        return replace(
            result, attacked=StoredAttacks(len(result.attacked), partial(self._attacks, key, trust_code))
        )

    def _attacks(self, key: str, trust_code: bool) -> Sequence[Attacked]:
        with self._clearly():
            (content,) = self._db.execute("SELECT result FROM trials WHERE key = ?", (key,)).fetchone()
        return self._read(key, content, trust_code).attacked

    def _seconds(self, key: str, took: object) -> float:
        if not isinstance(took, int | float) or not 0 <= took < math.inf:
            raise InputError(f"the ledger {self.path} is damaged at trial {key[:12]}: its time is {quoted(took)}")
        return took

    def _read(self, key: str, content: object, trust_code: bool) -> TrialResult:
        try:
            return loads(_typed(content, bytes), trust_code)
        except InputError as error:
            raise InputError(f"the ledger {self.path} is damaged at trial {key[:12]}: {error}") from error

    def _keys(self, which: str) -> set[str]:
        with self._clearly():
            return {key for (key,) in self._db.execute(f"SELECT key FROM trials WHERE {which}")}

    def _note(self, key: str, result: bytes | None, reason: str | None, seconds: float) -> None:
        with self._clearly(), self._db:
            self._db.execute(
                "INSERT INTO trials VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET"
                " result = excluded.result, reason = excluded.reason, seconds = excluded.seconds"
                " WHERE trials.result IS NULL",
                (key, result, reason, seconds),
            )

    def _locked(self) -> int:
        try:
            lock = os.open(self.path, os.O_RDWR | os.O_CREAT, PRIVATE)  # SQLite gives its log the same mode
            with suppress(OSError):  # somebody else's
                os.fchmod(lock, PRIVATE)
        except OSError as error:
            raise InputError(f"cannot write the ledger {self.path}: {error.strerror or error}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(lock)
            raise InputError(f"another audit is writing to the ledger {self.path}: wait for it") from error
        except OSError as error:
            os.close(lock)
            raise InputError(f"cannot lock the ledger {self.path}: {error.strerror or error}") from error
        return lock

    def _connected(self, write: bool) -> sqlite3.Connection:
        """Looks before it opens: what is no sound ledger is neither changed nor given files beside it."""
        place, log = self.path.absolute().as_uri(), self.path.with_name(self.path.name + "-wal")
        whole = not log.exists() or not log.stat().st_size  # else the log holds a part of the content
        still = f"{place}?mode=ro&immutable=1"
        with closing(_opened(still if whole else f"{place}?mode=ro")) as seen:
            self._check(seen, write)
            if whole and self.path.stat().st_size % seen.execute("PRAGMA page_size").fetchone()[0]:
                raise InputError(f"the ledger {self.path} is damaged and left as it is: its end is missing")
        connection = _opened(f"{place}?mode={'rw' if write else 'ro'}")
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError as error:
            connection.close()
            if write or not whole or error.sqlite_errorcode % 256 not in UNWRITABLE:
                raise
            return _opened(still)  # in a read-only folder nothing can change
        return connection

    def _check(self, connection: sqlite3.Connection, write: bool) -> None:
        """Refuses what is no ledger, damaged, or of another version."""
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application != APPLICATION and (tables or not write):
            raise InputError(f"{self.path} is no ledger of gaudit: it is left as it is, name another file")
        if version > len(MIGRATIONS):
            raise InputError(
                f"the ledger {self.path} has schema {version}, this gaudit knows {len(MIGRATIONS)}: use a newer one"
            )
        if version < len(MIGRATIONS) and not write:
            raise InputError(f"the ledger {self.path} has the old schema {version}: run 'gaudit audit' on it once")
        found = connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchmany(MOST_TABLES)
        if tables and found != _schema(version):
            raise InputError(
                f"the ledger {self.path} is damaged or forged and left as it is: its tables are not those of gaudit"
            )
        (state,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if state != "ok":
            raise InputError(f"the ledger {self.path} is damaged and left as it is: {' '.join(state.split())}")

    def _prepare(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        for number, step in enumerate(MIGRATIONS[version:], version + 1):
            with self._db:
                self._db.execute("BEGIN IMMEDIATE")
                step(self._db)
                self._db.execute(f"PRAGMA application_id = {APPLICATION}")
                self._db.execute(f"PRAGMA user_version = {number}")

    @contextmanager
    def _clearly(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            said = str(error)
            if "full" in said or "I/O" in said:
                raise InputError(
                    f"cannot write the ledger {self.path}: {said}; all that was noted before is kept: "
                    "make room and start again"
                ) from error
            if "readonly" in said or "unable to open" in said:
                raise InputError(f"cannot open the ledger {self.path}: {said}") from error
            if "locked" in said:
                raise InputError(
                    f"the ledger {self.path} is in use by another program: close that first"
                ) from error
            raise InputError(
                f"the ledger {self.path} is damaged or no ledger, and left as it is: {said}"
            ) from error
