"""Ledgers that somebody else has written: every digest is right, and the content is what the forger likes."""

import hashlib
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
from safetensors.numpy import load, save

HEADER = "header "

FACTS = {
    "attack": {"reads": True, "ranks_as": None, "about": "An attack of somebody else's"},
    "defense": {
        "phrase": "with a trick",
        "guarantee": None,
        "promise": None,
        "knob": None,
        "alternative": None,
        "trivial": False,
        "settings": {},
    },
}
"""What a ledger may tell of classes that are not installed."""


def forge(path: Path, change: Callable[[str], str]) -> None:
    """Changes the JSON of the plan and of each trial."""
    with closing(sqlite3.connect(path)) as database, database:
        for place, content in database.execute("SELECT place, content FROM plans").fetchall():
            text = change(content.partition(" ")[2])
            signed = f"{hashlib.sha256(text.encode()).hexdigest()} {text}"
            database.execute("UPDATE plans SET content = ? WHERE place = ?", (signed, place))
        for key, content in database.execute("SELECT key, result FROM trials WHERE result NOTNULL").fetchall():
            database.execute("UPDATE trials SET result = ? WHERE key = ?", (forged_result(content, change), key))


def forged_result(content: bytes, change: Callable[[str], str]) -> bytes:
    """One trial's result with other JSON."""
    arrays = load(content)
    (name,) = (name for name in arrays if name.startswith(HEADER))
    header = np.frombuffer(change(arrays.pop(name).tobytes().decode()).encode(), np.uint8)
    digest = hashlib.sha256(f"{header.dtype} {header.shape}".encode() + header.tobytes()).hexdigest()[:24]
    return bytes(save({**arrays, HEADER + digest: header}))


def naming(module: str, told: bool) -> Callable[[str], str]:
    """Names classes of a module wherever a class is named; ``told``: with what a reader needs to know of them."""

    def change(text: str) -> str:
        return json.dumps(_named(json.loads(text), module, told), sort_keys=True)

    return change


def _named(value, module: str, told: bool):
    if isinstance(value, list):
        return [_named(part, module, told) for part in value]
    if not isinstance(value, dict):
        return value
    found = {name: _named(part, module, told) for name, part in value.items()}
    if "observer" in found and found.get("name") == "loss":
        found |= {"name": f"{module}:Attack"} | ({"kept": FACTS["attack"]} if told else {})
    if found.get("defense") == "none":
        found |= {"defense": f"{module}:Defense"} | ({"kept": FACTS["defense"]} if told else {})
    if found.get("target") == "classifier":
        found |= {"target": f"{module}:Target"}
    if "game" in found:
        found |= {"game": f"{module}:Game"}
    return found
