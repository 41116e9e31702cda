"""Writes what commands of the documents read, once, into a folder; and prints which settings are dear.

    python -m support.command_files FOLDER

Runs in a process of its own, so that a test that copies the files need not import what they are made with.
"""

import json
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import torch
from pydantic import BaseModel

import gaudit
from gaudit import find, registered
from support.documented_commands import SMALL
from support.ledgers import write_baseline, write_ledger

POLICY = '[[check]]\nname = "members"\nattack = "loss"\nmargin = 0.03\n'
PLAN = 'datasets = ["karate"]\nseeds = 1\n[[target]]\nname = "classifier"\n[[attack]]\nname = "loss"\n'
CLAIM = "claim.toml"
MODULE = '''"""A mechanism and an attack of somebody's own."""

from gaudit import Guarantee, Mechanism
from gaudit.mechanisms.exact_noise import discrete_laplace
from gaudit.plugin import Attack, Carries, Carrying, NodeKnowledge, View
from torch import Tensor, zeros

ANSWERS = Carrying.any_of(Carries.POSTERIORS, to="public")


class OwnMechanism(Mechanism):
    """A count with noise."""

    name = "own"
    differ_in = "node"

    @property
    def guarantee(self):
        return Guarantee("node", "add/remove", "central", self.settings.epsilon)

    def inputs(self):
        return 0, 1

    def release(self, data, rng):
        return data + int(discrete_laplace(1, 1, rng)[0])

    def score(self, released):
        return float(released)


class OwnAttack(Attack[NodeKnowledge]):
    """How sure an answer is."""

    name = "own"
    needs = (ANSWERS,)

    def score(self, view: View, knowledge: NodeKnowledge) -> Tensor:
        table = view.carrying(ANSWERS)[0].tensors
        return table["posteriors"][table["nodes"].argsort()[knowledge.subjects]].max(1).values

    def blind_score(self, knowledge: NodeKnowledge) -> Tensor:
        return zeros(len(knowledge.subjects))
'''
"""`OwnMechanism` and `OwnAttack`, under whatever names a document gives them."""


def graphs(folder: Path) -> None:
    """Graphs and networks in all kinds of files."""
    for name in ("patients", "karate"):
        gaudit.write_graph(gaudit.load_dataset(name), folder / f"{name}.npz")
    karate = nx.karate_club_graph()
    nx.write_edgelist(karate, folder / "network.txt", data=False)
    people = "".join(f"{node},{20 + node},{'york' if node % 2 else 'bath'},{node % 3}\n" for node in karate)
    (folder / "people.csv").write_text(f"id,age,city,diagnosis\n{people}")
    (folder / "city.csv").write_text("york,north\nbath,south\n")
    bare = nx.Graph(karate.edges)
    (folder / "timed.csv").write_text(
        "source,target,time\n" + "".join(f"{a},{b},{a + b}\n" for a, b in karate.edges)
    )
    nx.write_graphml(bare, folder / "network.graphml")
    rows = "".join(f"{a},{b},{weight}\n" for a, b, weight in karate.edges(data="weight"))
    (folder / "network.csv").write_text(f"source,target,weight\n{rows}")
    entries = "".join(f"{max(a, b) + 1} {min(a, b) + 1}\n" for a, b in karate.edges)
    header = "%%MatrixMarket matrix coordinate pattern symmetric\n"
    (folder / "network.mtx").write_text(f"{header}34 34 {karate.number_of_edges()}\n{entries}")
    pd.DataFrame({"original": range(34), "published": range(34)}).to_csv(folder / "same.csv", index=False)


def releases(folder: Path) -> None:
    """Condensed graphs: rows of the train nodes, also as single tensors."""
    data = gaudit.load_dataset("patients")
    rows = data.train_mask.nonzero().flatten()[::2]
    x, y, adjacency = data.x[rows], data.y[rows], torch.zeros(len(rows), len(rows))
    np.savez(folder / "released.npz", x=x.numpy(), y=y.numpy(), adjacency=adjacency.numpy())
    for name, tensor in (("feat", x), ("labels", y), ("adj", adjacency)):
        torch.save(tensor, folder / f"{name}.pt")


def recordings(folder: Path) -> None:
    """Three runs of three clients, and who holds which node."""
    data = gaudit.load_dataset("karate")
    holders = np.arange(data.num_nodes) % 3
    np.save(folder / "holders.npy", holders)
    classes = int(data.y.max()) + 1
    weights = {
        "w1": np.zeros((data.num_features, 8), np.float32),
        "b1": np.zeros(8, np.float32),
        "w2": np.zeros((8, classes), np.float32),
        "b2": np.zeros(classes, np.float32),
    }
    recipe = {"architecture": "gcn", "hidden": 8, "epochs": 2}
    how = {"recipe": recipe, "members": data.train_mask, "holders": holders, "defense": "none"}
    for index in range(3):
        generator = np.random.default_rng(index)
        with gaudit.recording(str(folder / f"recording{index}"), **how) as send:
            send("global-model", "server", "clients", 0, weights)
            for client in range(3):
                moved = {k: w + generator.normal(size=w.shape).astype(np.float32) for k, w in weights.items()}
                send("update", f"client:{client}", "server", 0, moved)


def tables(folder: Path) -> None:
    """Scores of another tool."""
    member = np.arange(400) % 2
    score = np.random.default_rng(0).normal(size=400) + member
    pd.DataFrame({"id": range(400), "member": member, "score": score}).to_csv(folder / "scores.csv", index=False)


def audits(folder: Path) -> None:
    """A ledger, a policy and a baseline that belong together, and a plan."""
    write_ledger(folder / "audit.db", 0.5)
    write_baseline(folder / "baseline.json", 0.5)
    (folder / "policy.toml").write_text(POLICY)
    (folder / "plan.toml").write_text(PLAN)
    (folder / "own.py").write_text(MODULE)


def dear() -> dict[str, dict[str, list[str]]]:
    """Which settings of each target and attack take long, nested ones with dots."""
    return {
        group: {name: list(_fields(find(group, name).Settings)) for name in registered(group)}
        for group in ("targets", "attacks")
    }


def _fields(settings: type[BaseModel], before: str = "") -> "list[str]":
    found = []
    for name, field in settings.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            found += _fields(kind, f"{before}{name}.")
        elif name in SMALL:
            found.append(f"{before}{name}")
    return found


if __name__ == "__main__":
    place = Path(sys.argv[1])
    for write in (graphs, releases, recordings, tables, audits):
        write(place)
    print(json.dumps(dear()))
