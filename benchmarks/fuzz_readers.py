"""Reads thousands of broken files with every reader: none may end in a traceback, hang or take much memory.

    python benchmarks/fuzz_readers.py --files 20000 --workers 2

Valid files of each format are made, then mutated: bits flipped, parts cut, doubled, moved, taken from other files,
numbers made huge, values of other types put in the place of values; in archives, transcripts and ledgers also
within their headers, with digests and lengths that fit again. Each file is read as a command would read it, in a
process that may grow by 2 GiB, with 20 seconds for each. What is allowed is an `InputError` or a result; all else
is counted, and the file is kept (``--keep FOLDER``). The same seed and number make the same file: ``--only NUMBER``
reads it again.
"""

import argparse
import gzip
import hashlib
import io
import json
import random
import re
import resource
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from gaudit.errors import InputError

PATIENCE = 20
"""Seconds for one file."""
GROWTH = 2 << 30
"""Bytes by which a process may grow."""
ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 2**31, 2**63, 2**64, 10**30, 0.5, -0.0, 1e308, "", "x", "\u202e\u0000\n", "a" * 5000),
    *([], {}, [[]], {"a": {}}, [1, "a", None], "module:Class", "payload:Attack", "none", "NaN", "../../etc/passwd"),
)
"""Values of other types and sizes."""
TOKENS = (
    *(b"", b"\0", b"\xff\xfe", b"\r", b"\n\n", b'"', b"'", b",", b";", b"\t", b"#", b"%", b"=", b"[", b"{" * 50),
    *(b"[" * 3000, b"a." * 3000, b"1e999", b"NaN", b"-Infinity", b"9" * 5000, b"-1", b"18446744073709551616"),
    *("\u202e\u2066\u200b".encode(), b"<!DOCTYPE a>", b"<a>" * 300, b"&amp;", b"]]>", b"x" * 3000, b"1979-05-27"),
)
NUMBERS = (b"0", b"-1", b"1e999", b"nan", b"9" * 25, b"9" * 5000, b"1e-320", b"2147483648", b"true", b"[]")
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
HEADER = "header "

Reader = Callable[[Path], object]
Mutation = Callable[[bytes, random.Random, list[bytes]], bytes]


class HangError(BaseException):
    """A reader took longer than it may."""


# --- valid files


def valid_files(folder: Path) -> list[Path]:
    """One or more of each format."""
    _graphs(folder)
    _foreign(folder)
    _transcript(folder)
    _audit(folder)
    return sorted(path for path in folder.iterdir() if path.is_file())


def _graphs(folder: Path) -> None:
    from gaudit.graphs.files.network_file import write_network
    from gaudit.graphs.network import Network

    rng = np.random.default_rng(0)
    one, other = np.nonzero(np.triu(rng.random((30, 30)) < 0.2, 1))
    plain = Network.from_edges(30, one, other)
    ids = [f"p{k}" for k in range(30)]
    x, y = rng.random((30, 4)).astype(np.float32), np.arange(30) % 3
    heavy = Network(30, plain.edges, rng.random(plain.size))
    typed = Network(30, plain.edges, None, np.arange(plain.size) % 2)
    for name in ("plain.txt", "plain.csv.gz", "plain.npz"):
        write_network(plain, folder / name, ids)
    write_network(heavy, folder / "heavy.tsv", ids)
    write_network(heavy, folder / "heavy.graphml", ids, (), x, y)
    write_network(typed, folder / "typed.csv", ids, ["friend", "foe"])
    write_network(typed, folder / "typed.npz", ids, ["friend", "foe"])
    masks = {f"{name}_mask": np.arange(30) % 3 == k for k, name in enumerate(("train", "val", "test"))}
    np.savez_compressed(folder / "graph.npz", x=x, y=y, edge_index=plain.edges, **masks)


def _foreign(folder: Path) -> None:
    """Networks as other programs write them."""
    import networkx as nx
    from scipy import sparse

    graph = nx.gnm_random_graph(12, 25, seed=0)
    nx.set_edge_attributes(graph, 1.5, "weight")
    nx.write_gexf(graph, folder / "foreign.gexf")
    nx.write_gml(graph, folder / "foreign.gml")
    (folder / "foreign.json").write_text(json.dumps(nx.node_link_data(graph, edges="links")))
    sparse.save_npz(folder / "foreign.npz", nx.to_scipy_sparse_array(graph))


def _transcript(folder: Path) -> None:
    import torch

    from gaudit.targets.channel import Channel
    from gaudit.targets.recorder import recording
    from gaudit.targets.recording import ABOUT, shards_of

    channel = Channel()
    for client in range(2):
        channel.send("update", f"client:{client}", "server", 0, {"w1": torch.ones(4, 3), "b1": torch.zeros(3)})
    channel.send("condensed-graph", "server", "public", 1, {"x": torch.ones(3, 4), "y": torch.arange(3)})
    channel.transcript.save(folder / "run.safetensors")
    about = {"members": np.arange(30) % 2 == 0, "holders": np.arange(30) % 2, "recipe": {"hidden": 8}}
    parties = {f"client:{n}": {"id": f"{2**60 + n}", "partition": n} for n in range(2)}
    recorder = recording(folder / "recorded", defense="none", parties=parties, **about)
    recorder.write(channel.transcript.messages)
    (shard,) = shards_of(folder / "recorded")
    shard.replace(folder / "shard.safetensors")
    (folder / "recorded" / ABOUT).replace(folder / "about.json")
    (folder / "recorded").rmdir()
    np.save(folder / "holders.npy", np.arange(30) % 2)


PLAN = {
    "datasets": ["karate"],
    "seeds": 2,
    "target": [{"name": "classifier", "settings": {"recipe": {"hidden": 4, "epochs": 5}, "in_question": 1.0}}],
    "attack": [{"name": "loss"}, {"name": "blind"}],
}


def _audit(folder: Path) -> None:
    from gaudit.audit.checks.baseline import Baseline
    from gaudit.audit.lint.claim_example import example_text
    from gaudit.audit.planning.grid import laid_out
    from gaudit.audit.planning.plan import Plan
    from gaudit.audit.results.assemble import read_audit
    from gaudit.audit.running.ledger import Ledger
    from gaudit.audit.running.serialization import dumps
    from gaudit.audit.running.trial import run_trial
    from gaudit.reports.text.reproduction import plan_text

    plan = Plan.of(PLAN, "fuzz")
    grid = laid_out(plan)
    with Ledger(folder / "audit.db", write=True) as ledger:
        ledger.begin(plan, grid)
        for task in grid.tasks:
            ledger.note_result(task.key, dumps(run_trial(task.plan, grid.graphs[task.dataset])), 1.0)
    baseline = Baseline.of(read_audit(folder / "audit.db"), "first").text()
    (folder / "baseline.json").write_text(baseline)
    (folder / "plan.toml").write_text(plan_text(plan))
    (folder / "claim.toml").write_text(example_text())
    (folder / "gaudit.toml").write_text(
        '[gate]\nalpha = 0.05\nledger = "audit.db"\n'
        '[[check]]\nname = "members"\nattack = "loss"\ndefense = "none"\nmargin = 0.05\nbudget = 0.9\n'
        '[[check]]\nname = "level"\nattack = "loss"\ndefense = "none"\nmetric = "level"\nmax = "moderate"\n'
    )


# --- readers


def readers(folder: Path) -> dict[str, Reader]:
    """What reads a file, by the beginning of its name; as a command reads it, with what it writes of it."""
    from gaudit.audit.checks.baseline import Baseline
    from gaudit.audit.checks.policy import Policy
    from gaudit.audit.checks.policy_checks import checked
    from gaudit.audit.lint.claim_rules import lint
    from gaudit.audit.lint.claim_statement import Statement
    from gaudit.audit.planning.plan import Plan
    from gaudit.audit.results.assemble import read_audit
    from gaudit.graphs.files.data_file import read_graph
    from gaudit.graphs.files.network_file import read_network
    from gaudit.reports.formats.exports import as_json, as_table
    from gaudit.reports.formats.html import as_html
    from gaudit.reports.formats.junit import junit
    from gaudit.reports.formats.markdown import as_markdown
    from gaudit.reports.formats.sarif import sarif
    from gaudit.reports.formats.summary import step_summary
    from gaudit.targets.games.held import read_holders
    from gaudit.targets.recording import ABOUT, read_recording, shard_name
    from gaudit.targets.transcript import Transcript

    audit = read_audit(folder / "audit.db")
    policy, accepted = Policy.read(folder / "gaudit.toml"), Baseline.read(folder / "baseline.json")

    formats = (as_json, as_table, as_markdown, as_html)

    def ledger(path: Path) -> object:
        read = read_audit(path)
        chosen = formats[path.read_bytes()[-1000:].count(b"\0") % len(formats)]  # one each: they take a second
        return chosen(read), checked(read, policy, accepted)

    def held(path: Path) -> object:
        report = checked(audit, Policy.read(path), accepted)
        return junit(report), sarif(report), step_summary(report)

    def seen(path: Path) -> object:
        transcript = Transcript.load(path)
        return transcript.exposure(transcript.onlookers())

    def recorded(path: Path) -> object:
        """A recording of which one part is what is read, and the other as it should be."""
        parts = {ABOUT: folder / "about.json", shard_name(0): folder / "shard.safetensors"}
        with tempfile.TemporaryDirectory(dir=path.parent) as place:
            for name, valid in parts.items():
                whole = path if path.suffix == valid.suffix else valid
                (Path(place) / name).write_bytes(whole.read_bytes())
            transcript = read_recording(place).transcript
        return transcript.exposure(transcript.onlookers())

    def data(path: Path) -> object:
        try:
            read_graph(path)
        except InputError:
            return read_network(path, "merge")
        return read_network(path, "merge")

    return {
        "about": recorded,
        "audit": ledger,
        "baseline": lambda path: checked(audit, policy, Baseline.read(path)),
        "claim": lambda path: lint(Statement.read(path)).json(),
        "foreign": read_network,
        "gaudit": held,
        "graph": data,
        "holders": read_holders,
        "heavy": lambda path: data(path) if path.suffix == ".graphml" else read_network(path),
        "plain": read_network,
        "plan": Plan.read,
        "run": seen,
        "shard": recorded,
        "typed": read_network,
    }


# --- mutations


def mutated(path: Path, rng: random.Random, others: list[bytes]) -> bytes:
    """A broken version of a valid file."""
    content = path.read_bytes()
    inside = {
        ".npz": _npz,
        ".safetensors": _safetensors,
        ".db": _database,
        ".json": _json,
        ".gz": _packed,
    }.get(path.suffix)
    if inside is not None and rng.random() < 0.6:
        return inside(content, rng, others)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        content = rng.choice(BYTES)(content, rng, others)
    return content


def _place(content: bytes, rng: random.Random) -> int:
    return rng.randrange(len(content) + 1)


def _flip(content: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    changed = bytearray(content or b"\0")
    for _ in range(rng.choice((1, 1, 3, 20))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _cut(content: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    return content[: _place(content, rng)]


def _removed(content: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    start = _place(content, rng)
    return content[:start] + content[start + rng.choice((1, 5, 50, 500)) :]


def _doubled(content: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    start, to = _place(content, rng), _place(content, rng)
    return content[:to] + content[start : start + rng.choice((5, 50, 500))] * rng.choice((1, 3, 100)) + content[to:]


def _inserted(content: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    place = _place(content, rng)
    return content[:place] + rng.choice(TOKENS) + content[place:]


def _spliced(content: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    other = rng.choice(others)
    return content[: _place(content, rng)] + other[_place(other, rng) :]


def _renumbered(content: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    found = list(NUMBER.finditer(content))
    if not found:
        return _flip(content, rng, others)
    at = rng.choice(found)
    new = rng.choice(
        (b"0", b"-1", b"1e999", b"nan", b"9" * 25, b"9" * 5000, b"1e-320", b"2147483648", b"true", b"[]")
    )
    return content[: at.start()] + new + content[at.end() :]


def _line(content: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    lines = content.split(b"\n")
    place, to = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(3)
    if kind == 0:
        del lines[place]
    elif kind == 1:
        lines.insert(to, lines[place])
    else:
        lines[place], lines[to] = lines[to], lines[place]
    return b"\n".join(lines)


BYTES: tuple[Mutation, ...] = (_flip, _cut, _removed, _doubled, _inserted, _spliced, _renumbered, _line)


def _packed(content: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    return gzip.compress(rng.choice(BYTES)(gzip.decompress(content), rng, others), 1)


def _nodes(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in plain values, as the table or list and the key or index within it."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in list(pairs):
        yield value, key
        yield from _nodes(part)


def confused(text: str, rng: random.Random) -> str:
    """JSON with a few values replaced, left out or put elsewhere."""
    value = json.loads(text)
    for _ in range(rng.choice((1, 1, 2, 4))):
        places = list(_nodes(value))
        if not places:
            break
        inside, key = rng.choice(places)
        kind = rng.randrange(4)
        if kind == 0:
            del inside[key]
        elif kind == 1:
            other, name = rng.choice(places)
            inside[key] = json.loads(json.dumps(other[name])) if _within(other, name) else None
        elif kind == 2 and isinstance(inside, dict):
            inside[str(rng.choice(ODD))] = inside.pop(key)
        else:
            inside[key] = json.loads(json.dumps(rng.choice(ODD)))  # a copy: what is put in may be changed next
    return json.dumps(value)


def _within(inside: Any, key: Any) -> bool:
    return key in inside if isinstance(inside, dict) else key < len(inside)


def _json(content: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    return confused(content.decode(), rng).encode()


def _safetensors(content: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    (size,) = struct.unpack("<Q", content[:8])
    header, rest = json.loads(content[8 : 8 + size]), content[8 + size :]
    meta = header.get("__metadata__", {})
    if rng.random() < 0.7 and "gaudit" in meta:
        meta["gaudit"] = confused(meta["gaudit"], rng)
        text = json.dumps(header)
    else:
        text = confused(json.dumps(header), rng)
    length = rng.choice((len(text), len(text), len(text), len(text) + 8, 2**40))
    return struct.pack("<Q", length) + text.encode() + rest


SHAPES = (
    "(True, 4)",
    "(-1,)",
    "()",
    "(2,)",
    "(2, 80)",
    "(3000000000, 4)",
    "(10**9,)",
    "(0, 0)",
    "(2, 3, 4)",
    "(1.5,)",
)
DTYPES = (
    "<f8",
    "<f4",
    "<i8",
    "|b1",
    "|O",
    "<U1000000000",
    "<c16",
    "|V8",
    "<M8[s]",
    ">u8",
    "garbage",
    "[('a', '<i8')]",
)


def _npz(content: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """An archive in which one array has another header, content or name, or is there more often."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as before, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as after:
        names = before.namelist()
        chosen = rng.choice(names)
        for name in names:
            array = before.read(name)
            if name != chosen:
                after.writestr(name, array)
                continue
            kind = rng.randrange(4)
            if kind == 0:
                array = _array(rng)
            elif kind == 1:
                array = rng.choice(BYTES)(array, rng, others)
            elif kind == 2:
                array = _with_header(array, rng)
            after.writestr(name if kind < 3 else rng.choice(names), array)
    return out.getvalue()


def _array(rng: random.Random) -> bytes:
    values = rng.choice(
        (
            np.zeros(0),
            np.array(2**62),
            np.full((2, 5), 2**40),
            np.full((2, 5), -3),
            np.array([np.nan, np.inf] * 15),
            np.array(["a" * 500] * 30),
            np.ones((30, 3), dtype=np.uint64) * np.uint64(2**64 - 1),
            np.zeros((30, 0)),
            np.arange(30) > 4,
        )
    )
    out = io.BytesIO()
    np.save(out, values)
    return out.getvalue()


def _with_header(array: bytes, rng: random.Random) -> bytes:
    size = int.from_bytes(array[8:10], "little")
    text = array[10 : 10 + size].decode("latin1")
    if rng.random() < 0.5:
        text = re.sub(r"'shape': \([^)]*\)", lambda _: f"'shape': {rng.choice(SHAPES)}", text)
    else:
        kind = rng.choice(DTYPES)
        text = re.sub(r"'descr': '[^']*'", lambda _: f"'descr': {kind if kind[0] == '[' else repr(kind)}", text)
    text = rng.choice((text, text, text.replace("{", "{" * 200), "(" * 3000, text.rstrip("} \n")))
    header = text.encode("latin1")
    return array[:8] + len(header).to_bytes(2, "little") + header + array[10 + size :]


def _database(content: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """A ledger of which a row has other JSON, other arrays or other types."""
    with tempfile.NamedTemporaryFile(suffix=".db") as file:
        Path(file.name).write_bytes(content)
        with closing(sqlite3.connect(file.name)) as database, database:
            kind = rng.randrange(6)
            if kind == 0:
                _forge_plan(database, rng)
            elif kind == 1:
                odd = rng.choice((b"blob", 1e999, -1e999, "text", 10**18, -1.5, b"\xff" * 1000))
                column = rng.choice(("result", "reason", "seconds", "key"))
                also = {"result": ", reason = NULL", "reason": ", result = NULL"}.get(column, "")
                key = rng.choice([k for (k,) in database.execute("SELECT key FROM trials")])
                database.execute(f"UPDATE trials SET {column} = ?{also} WHERE key = ?", (odd, key))
            elif kind == 2:
                database.execute(
                    rng.choice(
                        (
                            "CREATE VIEW extra AS SELECT 1",
                            "CREATE TRIGGER extra AFTER INSERT ON trials BEGIN DELETE FROM trials; END",
                            "DROP TABLE trials",
                            "ALTER TABLE trials ADD COLUMN more TEXT",
                            "DELETE FROM plans",
                            "PRAGMA user_version = 7",
                        )
                    )
                )
            else:
                _forge_result(database, rng)
        return Path(file.name).read_bytes()


def _forge_plan(database: sqlite3.Connection, rng: random.Random) -> None:
    (text,) = database.execute("SELECT content FROM plans").fetchone()
    text = confused(text.partition(" ")[2], rng)
    signed = f"{hashlib.sha256(text.encode()).hexdigest()} {text}"
    database.execute("UPDATE plans SET content = ?", (signed,))


def _forge_result(database: sqlite3.Connection, rng: random.Random) -> None:
    from safetensors.numpy import load, save

    key, content = rng.choice(database.execute("SELECT key, result FROM trials").fetchall())
    arrays = load(content)
    (name,) = (name for name in arrays if name.startswith(HEADER))
    text = arrays.pop(name).tobytes().decode()
    if rng.random() < 0.4 and arrays:  # an array of another type or size, under its right digest
        old = rng.choice(sorted(arrays))
        array = _changed(arrays.pop(old), rng)
        text = text.replace(old, _digest(array))
        arrays[_digest(array)] = array
    else:
        text = confused(text, rng)
    header = np.frombuffer(text.encode(), np.uint8)
    database.execute(
        "UPDATE trials SET result = ? WHERE key = ?", (save({**arrays, HEADER + _digest(header): header}), key)
    )


def _changed(array: np.ndarray, rng: random.Random) -> np.ndarray:
    changed = rng.choice(
        (
            lambda a: a[:0],
            lambda a: a[: len(a) // 2],
            lambda a: a.astype(np.float32) * np.float32(np.nan),
            lambda a: a.astype(np.int64) * 2**40,
            lambda a: a.reshape(1, -1),
            np.zeros_like,
            lambda a: np.ones(len(a), dtype=bool),
            lambda a: np.repeat(a, 3),
            lambda a: -a.astype(np.int64),
        )
    )
    return np.ascontiguousarray(changed(array))


def _digest(array: np.ndarray) -> str:
    return hashlib.sha256(f"{array.dtype} {array.shape}".encode() + array.tobytes()).hexdigest()[:24]


# --- the loop


def case(number: int, seed: int, valid: list[Path], contents: list[bytes]) -> tuple[str, bytes]:
    """Name and content of one broken file."""
    rng = random.Random(f"{seed} {number}")
    path = valid[number % len(valid)]
    return path.name, mutated(path, rng, contents)


def outcome(read: Reader, path: Path) -> tuple[str, str]:
    """``read``, ``refused``, ``hang`` or ``traceback``, with what was said."""

    def late(*_: object) -> None:
        raise HangError

    signal.signal(signal.SIGALRM, late)
    signal.alarm(PATIENCE)
    try:
        read(path)
    except InputError as error:
        said = str(error)
        unfit = len(said) > 1600 or not said.isprintable()
        return ("traceback", f"an error that is no line: {said!r:.300}") if unfit else ("refused", said)
    except HangError:
        return "hang", traceback.format_exc(limit=-4)
    except BaseException:
        return "traceback", traceback.format_exc()
    finally:
        signal.alarm(0)
    return "read", ""


def work(
    folder: Path, numbers: range, seed: int, keep: Path | None, tell: Callable[[dict[str, Any]], None]
) -> None:
    """Reads some of the files, and reports each."""
    valid = sorted(path for path in (folder / "valid").iterdir())
    contents = [path.read_bytes() for path in valid]
    by_name = readers(folder / "valid")
    with tempfile.TemporaryDirectory() as place:
        for number in numbers:
            name, content = case(number, seed, valid, contents)
            path = Path(place) / name
            path.write_bytes(content)
            start = time.monotonic()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                what, said = outcome(by_name[name.partition(".")[0]], path)
            if what in ("hang", "traceback") and keep is not None:
                (keep / f"{number}-{name}").write_bytes(content)
            told = {"number": number, "name": name, "what": what, "said": said, "seconds": time.monotonic() - start}
            if what in ("hang", "traceback"):
                print(f"{number} {name}: {what}\n{said}", file=sys.stderr)
            tell({**told, "bytes": _of_this_process("VmHWM")})


def _of_this_process(what: str) -> int:
    """Bytes of this program alone; the peak of getrusage is that of who started it, where that was larger."""
    status = Path("/proc/self/status").read_text().splitlines()
    (size,) = (int(line.split()[1]) << 10 for line in status if line.startswith(f"{what}:"))
    return size


def _limit_growth() -> None:
    size = _of_this_process("VmSize")
    resource.setrlimit(resource.RLIMIT_AS, (size + GROWTH, size + GROWTH))


def _worker(folder: Path, numbers: range, seed: int, keep: Path | None) -> None:
    readers(folder / "valid")  # everything is imported before what it takes is limited
    _limit_growth()
    work(folder, numbers, seed, keep, lambda told: print(json.dumps(told), flush=True))


def fuzz(files: int, seed: int, workers: int, keep: Path | None, first: int = 0) -> list[dict[str, Any]]:
    """Reads so many files in processes of their own, and tells what became of each."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "valid").mkdir()
        valid_files(folder / "valid")
        parts = [range(first + k, first + files, workers) for k in range(workers)]
        with ThreadPoolExecutor(workers) as pool:
            return [
                told for part in pool.map(lambda part: _watched(folder, part, seed, keep), parts) for told in part
            ]


def _watched(folder: Path, numbers: range, seed: int, keep: Path | None) -> list[dict[str, Any]]:
    """What a process tells of its files; where it dies its work goes on behind the file that it died of."""
    found: list[dict[str, Any]] = []
    while numbers:
        words = [sys.executable, __file__, "--worker", str(folder), str(numbers.start), str(numbers.stop)]
        words += [str(numbers.step), "--seed", str(seed)] + (["--keep", str(keep)] if keep else [])
        last = numbers.start - numbers.step
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                found.append(json.loads(line))
                last = found[-1]["number"]
        numbers = range(last + numbers.step, numbers.stop, numbers.step)
        if numbers:
            died = f"its process ended with {process.returncode}"
            found.append({"number": numbers.start, "name": "", "what": "crash", "said": died, "bytes": 0})
            numbers = numbers[1:]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--only", type=int, help="read one file again")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        folder, *numbers = asked.worker
        _worker(Path(folder), range(*map(int, numbers)), asked.seed, asked.keep)
        return
    if asked.keep is not None:
        asked.keep.mkdir(parents=True, exist_ok=True)
    files, first = (asked.files, 0) if asked.only is None else (1, asked.only)
    found = fuzz(files, asked.seed, asked.workers, asked.keep, first)
    for told in found:
        if told["what"] not in ("read", "refused"):
            print(f"--- {told['number']} {told['name']}: {told['what']}\n{told['said']}")
    counts = Counter(told["what"] for told in found)
    most = max((told["bytes"] for told in found), default=0)
    slowest = max(found, key=lambda told: told.get("seconds", 0.0))
    print(
        f"{len(found)} files: {counts['read']} read, {counts['refused']} refused, "
        f"{counts['traceback']} tracebacks, "
        f"{counts['hang']} hangs, {counts['crash']} crashes; at most {most / 2**30:.2f} GiB of memory, "
        f"{slowest.get('seconds', 0.0):.1f} s ({slowest['name']})"
    )
    sys.exit(0 if counts.keys() <= {"read", "refused"} else 1)


if __name__ == "__main__":
    main()
