"""Compiled kernels stay within their arrays, and are compiled anew when they change."""

import hashlib
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gaudit.targets.models import compiled_training, kernels

TRAINING = """
import numpy as np, torch
from torch_geometric.data import Data
from gaudit.targets.models.model_ensemble import train_models
from gaudit.targets.models.training_config import TrainingConfig
from gaudit.targets.models.training_task import Query, TrainingTask
rng = np.random.default_rng(0)
for architecture in ("gcn", "sgc", "sage", "mlp"):
    for nodes, hidden, classes in ((1000, 16, 40), (1001, 16, 3), (1000, 64, 40), (1001, 48, 10)):
        x = torch.from_numpy(rng.standard_normal((nodes, 100), dtype=np.float32))
        edges = torch.from_numpy(rng.integers(0, nodes, (2, 5 * nodes)))
        data = Data(x=x, edge_index=edges, y=torch.from_numpy(rng.integers(0, classes, nodes)))
        members = torch.from_numpy(rng.random((1, nodes)) < 0.5)
        recipe = TrainingConfig(architecture=architecture, hidden=hidden, epochs=2)
        task = TrainingTask(data, members, recipe, classes)
        train_models(task, [Query(torch.arange(nodes), edges)], np.random.SeedSequence(0))
"""


BITS = """
import hashlib
import numpy as np, torch
from torch_geometric.data import Data
from gaudit.targets.models.model_ensemble import train_models
from gaudit.targets.models.training_config import TrainingConfig
from gaudit.targets.models.training_task import TrainingTask
rng = np.random.default_rng(0)
x = torch.from_numpy(rng.standard_normal((1000, 100), dtype=np.float32))
edges = torch.from_numpy(rng.integers(0, 1000, (2, 5000)))
data = Data(x=x, edge_index=edges, y=torch.from_numpy(rng.integers(0, 40, 1000)))
task = TrainingTask(data, torch.from_numpy(rng.random((1, 1000)) < 0.5), TrainingConfig(hidden=64, epochs=20), 40)
trained = train_models(task, [], np.random.SeedSequence(0), keep_weights=True).weights
print(hashlib.sha256(b"".join(weight.numpy().tobytes() for weight in trained.values())).hexdigest())
"""


DENSE = """
import resource
import numpy as np, torch
from torch_geometric.data import Data
from gaudit.targets.models.model_ensemble import train_models
from gaudit.targets.models.training_config import TrainingConfig
from gaudit.targets.models.training_task import Query, TrainingTask
def trained(nodes):
    x = torch.randn(nodes, 128)
    edges = torch.randint(0, nodes, (2, nodes))
    data = Data(x=x, edge_index=edges, y=torch.arange(nodes) % 7)
    members = torch.ones(1, nodes, dtype=torch.bool)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    task = TrainingTask(data, members, TrainingConfig(hidden=64, epochs=2), 7)
    train_models(task, [Query(torch.arange(nodes), edges)], np.random.SeedSequence(0))
    return 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / (4 * x.numel())
trained(1000)
print(trained(100_000))
"""


def test_a_derivative_may_lie_in_a_longer_buffer() -> None:
    derivative, hidden = np.ones(96, np.float32), np.zeros(96, np.float32)
    hidden[:16] = 1
    kernels.through_relu(derivative, hidden[:32], np.float32(2))
    assert derivative.tolist() == [2] * 16 + [0] * 16 + [1] * 64


@pytest.mark.dear
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the setting is one of glibc")
def test_training_stays_within_its_arrays() -> None:
    """Each array in pages of its own, as large ones are always: reading behind one of them ends the process."""
    alone = {"MALLOC_MMAP_THRESHOLD_": "2048", "MALLOC_MMAP_MAX_": "100000", "MALLOC_TOP_PAD_": "0"}
    command = [sys.executable, "-c", TRAINING]
    done = subprocess.run(command, env=os.environ | alone, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.dear
@pytest.mark.skipif(platform.system() != "Linux", reason="the unit of ru_maxrss is Linux's")
def test_training_on_dense_features_takes_five_times_their_memory_at_most() -> None:
    done = subprocess.run([sys.executable, "-c", DENSE], capture_output=True, check=True)
    assert float(done.stdout) < 4, "the features themselves are the fifth"


@pytest.mark.dear
def test_code_out_of_the_cache_gives_the_bits_of_code_just_compiled(tmp_path: Path) -> None:
    """Where the order of sums was the compiler's choice, an installation's first results were none of the next."""
    command, own = [sys.executable, "-c", BITS], os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (subprocess.run(command, env=own, capture_output=True, check=True).stdout for _ in range(2))
    assert any(tmp_path.rglob("*.nbc")), "the second run read what the first one compiled"
    assert first == second


def test_callers_of_kernels_are_compiled_anew_when_these_change() -> None:
    """Else a cache keeps the callers with the old kernels in them."""
    now = hashlib.sha256(Path(kernels.__file__).read_bytes()).hexdigest()
    assert now.startswith(compiled_training.KERNELS), f'kernels.py changed: set KERNELS = "{now[:16]}"'
