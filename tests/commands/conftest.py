"""A small graph in a file, a recorded run of it, and the command line to attack both."""

from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result
from torch_geometric.data import Data

from gaudit.commands.main import main
from gaudit.graphs.checks import check_graph
from gaudit.graphs.files.data_file import write_graph
from gaudit.targets.recording import read_recording

NODES, WORDS = 150, 12
SMALL = ["rounds=4", "checkpoints=[2,4]", "clients=2", "hidden=8", "self_training_rounds=3", "beta=50"]
SMALL += ["test.epochs=5", "test.models=1", "test.hidden=8"]
SETTINGS = [part for setting in SMALL for part in ("--set", setting)] + ["--ratio", "0.1"]


def arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.arange(NODES) % 3
    p = np.where(np.arange(WORDS) % 3 == y[:, None], 0.5, 0.1)
    links = rng.random((NODES, NODES)) < np.where(y[:, None] == y[None, :], 0.04, 0.005)
    order, masks = rng.permutation(NODES), {}
    for name, part in zip(("train", "val", "test"), np.split(order[:110], [40, 70]), strict=True):
        masks[f"{name}_mask"] = np.isin(np.arange(NODES), part)
    return {
        "x": (rng.random((NODES, WORDS)) < p).astype(np.float32),
        "y": y,
        "edge_index": np.stack(np.nonzero(np.triu(links, 1))),
        **masks,
    }


@pytest.fixture(name="arrays")
def made_arrays() -> dict[str, np.ndarray]:
    """The graph's arrays: 40 train, 30 validation and 40 test nodes of 150, 3 classes, 12 features."""
    return arrays()


@pytest.fixture(scope="session")
def graph(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("graph") / "small.npz"
    data = Data(**{name: torch.from_numpy(array) for name, array in arrays().items()})
    write_graph(check_graph(data, "small"), path)
    return str(path)


@pytest.fixture(scope="session")
def gaudit():
    """``gaudit(*arguments)``: what the command line answers."""
    return lambda *arguments: CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture(scope="session")
def attacked(gaudit):
    """``attacked(graph, *more, attacks=...)``: a small run of FedGC, attacked."""

    def run(graph, *more, attacks=("nearest",)) -> Result:
        named = [part for attack in attacks for part in ("--attack", attack)]
        settings = () if "--transcript" in more else SETTINGS  # a recorded run has no use for settings
        return gaudit("attack", "--target", "fedgc", "--graph", graph, *settings, *named, *more)

    return run


@pytest.fixture(scope="session")
def inspected(gaudit):
    """``inspected(graph, *more)``: the exposure table of the same small run."""
    return lambda graph, *more: gaudit("inspect", "--target", "fedgc", "--graph", graph, *SETTINGS, *more)


@pytest.fixture(scope="session")
def recorded(graph, attacked, tmp_path_factory) -> Path:
    """The transcript of an undefended run."""
    folder = tmp_path_factory.mktemp("recorded")
    result = attacked(graph, "--workers", 1, "--save-transcripts", folder)
    assert result.exit_code == 0, result.output
    assert sorted(p.name for p in folder.iterdir()) == ["ib-seed0", "none-seed0"]
    return folder / "none-seed0"


@pytest.fixture(scope="session")
def recorded_file(recorded, tmp_path_factory) -> Path:
    """The same transcript in one file, of format 1."""
    file = tmp_path_factory.mktemp("file") / "none-seed0.safetensors"
    read_recording(recorded).transcript.save(file)
    return file
