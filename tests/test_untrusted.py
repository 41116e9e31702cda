"""What a file may take is bounded before it is taken, and stated; peaks are measured in processes of their own."""

import gzip
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from gaudit.audit.checks.baseline import Baseline
from gaudit.audit.checks.policy import Policy
from gaudit.audit.lint.claim_statement import Statement
from gaudit.audit.planning.plan import Plan
from gaudit.errors import InputError
from gaudit.graphs.files.data_file import read_graph
from gaudit.graphs.files.network_file import read_network
from gaudit.targets.transcript import Transcript
from gaudit.untrusted import MEMORY, allowed_memory, check_memory, json_of, toml_of

MOST = 2 << 30
PEAK = """
import sys
from gaudit.errors import InputError
from gaudit import Transcript, read_graph, read_network
readers = {"network": read_network, "graph": read_graph, "transcript": Transcript.load}
for word in sys.argv[1:]:
    reader, _, path = word.partition("=")
    try:
        readers[reader](path)
        print("read")
    except InputError as error:
        print(error)
status = open('/proc/self/status').read()  # getrusage counts what the parent held when it forked
print(int(status.partition('VmHWM:')[2].split()[0]) << 10)
"""


def header(shape: str, kind: str = "<i8") -> bytes:
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def packed_rows(path: Path) -> None:
    """Some MiB that unpack to one GiB of edges."""
    rows = b"0 1\n1 2\n" * (1 << 21)
    path.write_bytes(gzip.compress(rows, 9) * 64)


def packed_array(path: Path) -> None:
    """An archive whose arrays take three GiB."""
    content = header("(2, 190000000)") + bytes(30 << 20)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("edge_index.npy", content)


def many_members(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for k in range(30_000):
            archive.writestr(f"{k}.npy", b"")


def many_elements(path: Path) -> None:
    nodes = '<node id="{}"/>' * 100
    with path.open("w") as stream:
        stream.write('<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">')
        for k in range(20_000):
            stream.write(nodes.format(*range(100 * k, 100 * k + 100)))
        stream.write("</graph></graphml>")


def long_header(path: Path) -> None:
    """A transcript with 54 MiB of messages that hold nothing."""
    told = {"__metadata__": {"gaudit": "[" + "[]," * ((54 << 20) // 3) + "[]]"}}
    text = json.dumps(told).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text)


BOMBS = {
    "rows.txt.gz": (packed_rows, "network"),
    "array.npz": (packed_array, "network"),
    "features.npz": (packed_array, "graph"),
    "members.npz": (many_members, "network"),
    "elements.graphml": (many_elements, "network"),
    "header.safetensors": (long_header, "transcript"),
}


@pytest.mark.dear
def test_small_files_that_take_much_are_refused_before_they_do(tmp_path):
    """All in one process, whose peak is measured."""
    words = []
    for name, (make, reader) in BOMBS.items():
        make(tmp_path / name)
        assert (tmp_path / name).stat().st_size < 64 << 20
        words.append(f"{reader}={tmp_path / name}")
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *words], capture_output=True, text=True, timeout=200, check=True
    )
    *told, peak = done.stdout.strip().split("\n")
    for name, said in zip(BOMBS, told, strict=True):
        assert name in said
        assert MEMORY in said or "members" in said
    assert int(peak) < MOST


def test_the_limit_can_be_raised_and_lowered(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("".join(f"{k} {k + 1}\n" for k in range(5000)))
    assert read_network(path).network.size == 5000
    monkeypatch.setenv(MEMORY, "0.001")
    with pytest.raises(InputError, match=f"0.001 are allowed: set {MEMORY}=1 "):
        read_network(path)
    for odd in ("lots", "-1", "nan", "inf"):
        monkeypatch.setenv(MEMORY, odd)
        with pytest.raises(InputError, match=f"{MEMORY} is '{odd}'"):
            allowed_memory()


def test_estimates_are_compared_with_what_is_allowed(monkeypatch):
    monkeypatch.setenv(MEMORY, "2")
    check_memory("it", 2 * 2**30)
    with pytest.raises(InputError, match=r"it: too large: reading it may take 2\.1 GiB"):
        check_memory("it", 2.1 * 2**30)


DEEP = "[" * 100_000
READERS = {
    "plan": (Plan.read, "a.toml", f"seeds = {DEEP}"),
    "plan, dotted": (Plan.read, "a.toml", f"{'a.' * 200_000}a = 1"),
    "policy": (Policy.read, "a.toml", f"check = {DEEP}"),
    "policy, dotted": (Policy.read, "a.toml", f"[{'a . ' * 100_000}a]"),
    "claim": (Statement.read, "a.toml", f"claim = {DEEP}"),
    "claim, JSON": (Statement.read, "a.json", DEEP),
    "baseline": (Baseline.read, "a.json", DEEP),
    "baseline, numbers": (Baseline.read, "a.json", '{"schema": ' + "9" * 9999 + "}"),
    "baseline, infinite": (Baseline.read, "a.json", '{"schema": 1e999}'),
}


@pytest.mark.parametrize(("read", "name", "text"), READERS.values(), ids=READERS.keys())
def test_deep_and_huge_values_are_refused(tmp_path, read, name, text):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=name):
        read(path)


def test_text_is_cleaned_once_it_is_read():
    assert toml_of('a = "x\\u202ey\\nz"', "it") == {"a": "x\ufffdy z"}
    assert json_of('{"\\u200b": ["\\u001b[31m", 1.5, null]}') == {"\ufffd": ["\ufffd[31m", 1.5, None]}
    for text in ("NaN", "-Infinity", "[1e999]"):
        with pytest.raises(ValueError, match="number"):
            json_of(text)


def test_deep_elements_and_declarations_are_refused(tmp_path):
    path = tmp_path / "a.graphml"
    for text in ("<a>" * 50_000, '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'):
        path.write_text(text)
        with pytest.raises(InputError, match=r"a\.graphml: "):
            read_network(path)


def test_features_of_a_graph_that_would_not_fit_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    out = io.BytesIO()
    np.save(out, np.zeros((2, 1), dtype=np.int64))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", header("(1000000, 2000)", "<f4"))
        archive.writestr("y.npy", header("(1000000,)"))
        archive.writestr("edge_index.npy", out.getvalue())
    with pytest.raises(InputError, match=MEMORY):
        read_graph(path)


def test_a_transcript_of_lies_about_its_length_is_refused(tmp_path):
    path = tmp_path / "a.safetensors"
    path.write_bytes((2**62).to_bytes(8, "little") + b"{}")
    with pytest.raises(InputError, match=r"a\.safetensors"):
        Transcript.load(path)
