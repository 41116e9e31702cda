"""Whether a change of the code moved results: the same commands before and after, compared byte for byte.

    python benchmarks/same_results.py record before    # with the code as it was installed
    python benchmarks/same_results.py record after     # with the changed code; folders by name: those alone
    python benchmarks/same_results.py compare before after

The commands span every target, game, defense and mechanism, with small settings on a small random graph. What is
compared: JSON, transcripts, anonymised graphs, exports of ledgers, per-node files, and what is printed where
nothing is written. What names the code itself (versions, digests, CPU seconds) is masked.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

FEDERATED = ("fedavg", "fedprox", "scaffold", "fedgcn", "fedsage+", "sos")
CENTRAL = ("gcond", "doscond", "sfgc", "random", "herding", "k-center", "coarsening")
PRIVATE = ("dp-mlp", "dp-gnn", "gap-edp", "gap-ndp")
GRAPH_DEFENSES = (
    "k-degree:k=3",
    "k-automorphism:k=2",
    "k-neighbourhood:k=2",
    "random-edit",
    "random-switch",
    "feature-switch",
    "spectral-switch",
    "spectral-edit",
    "random-walk",
    "dp-1k",
    "dp-2k",
    "ldpgen",
    "tmf",
    "privgraph",
    "summarisation:k=3",
)
TYPED_DEFENSES = ("intact-edges:sensitive=1", "partial-edges:sensitive=1", "cluster-edges")
DATA_DEFENSES = (
    "pseudo-labels",
    "adversarial-regularisation",
    "noisy-condensing",
    "fewer-labels",
    "label-noise",
    "ldp",
    "gaussian-uploads",
    "noise-instead",
    "quantised-uploads",
    "top-k-uploads",
    "no-features",
    "one-bit-features",
    "piecewise-features",
)
MECHANISMS = (
    "degree-sequence",
    "degree-histogram",
    "triangles",
    "stars",
    "edge-count",
    "node-degree-histogram",
    "spectrum",
    "edge-randomised-response",
    "degree-preserving-response",
    "ldp",
    "gaussian-uploads",
    "dp-1k",
    "dp-2k",
    "ldpgen",
    "tmf",
    "privgraph",
    "joint-degrees",
    "group-report",
    "dp-fedavg",
    "one-bit-features",
    "piecewise-features",
    "dp-mlp",
    "dp-gnn",
    "gap-edp",
    "gap-ndp",
)
CONDENSING = ["--set", "clients=3", "--set", "rounds=6", "--set", "checkpoints=[3,6]", "--set", "test.epochs=20"]
CONDENSING += ["--set", "test.models=1", "--ratio", "0.3", "--ratio-of", "labelled"]
ROUNDS = ["--set", "clients=3", "--set", "rounds=4"]
PLAN = """
name = "small"
datasets = ["small.npz"]
seeds = 2

[[target]]
name = "classifier"
settings = { game = "label-membership", publish = ["posteriors", "labels"], recipe = { epochs = 20 } }
defenses = ["rounded-posteriors", "label-noise"]

[[target]]
name = "fedavg"
settings = { clients = 3, rounds = 3 }
defenses = ["ib-subgraph", "random-subgraph", "edge-randomised-response"]

[[defense]]
name = "rounded-posteriors"
strengths = [0.1, 1]

[[defense]]
name = "label-noise"
strengths = [1]

[[defense]]
name = "ib-subgraph"
strengths = [0.5]

[[defense]]
name = "random-subgraph"
strengths = [0.5]

[[defense]]
name = "edge-randomised-response"
strengths = [4]

[[attack]]
name = "lira"
settings = { shadows = 4, model = { epochs = 20 }, release_models = 1 }

[[attack]]
name = "graphmi"
settings = { iterations = 5 }
"""
NETWORKS = """
name = "networks"
datasets = ["karate"]
seeds = 2

[[target]]
name = "publish"

[[defense]]
name = "k-degree"
strengths = [2]

[[attack]]
name = "refinement"

[[attack]]
name = "link-similarity"
"""
POLICY = """
[[check]]
name = "members"
attack = "lira"
target = "classifier"
defense = "none"
metric = "auc"
budget = 0.99
"""


def attack(target: str, *words: str, **files: str) -> list[str]:
    """`gaudit attack` on the small graph, results to a file."""
    return ["attack", "--target", target, "--graph", "small.npz", "--json", "out.json", *words]


def each(option: str, names: tuple[str, ...]) -> list[str]:
    """An option once for each name."""
    return [word for name in names for word in (option, name)]


def commands() -> dict[str, list[list[str]]]:
    """By name, each a folder: commands that run one after the other."""
    found = {
        "fedgc": [
            attack("fedgc", "--attack", "mia", "--attack", "nearest", "--attack", "mia-adaptive", *CONDENSING)
        ],
        "fedgc-timeline": [
            attack(
                "fedgc",
                *each("--attack", ("nearest", "nearest-embedding", "gradient-readout", "blind")),
                *CONDENSING,
                *("--observer", "server", "--timeline", "--transfer", "--save-transcripts", "kept"),
                *("--per-node", "nodes.csv"),
            )
        ],
        "fedgc-defenses": [attack("fedgc", "--attack", "nearest", *each("--defense", DATA_DEFENSES), *CONDENSING)],
        "fedgc-client": [attack("fedgc", "--attack", "mia-adaptive", "--observer", "client:1", *CONDENSING)],
        "fedgm": [attack("fedgm", "--attack", "nearest", "--attack", "gradient-readout", *ROUNDS[:2])],
        "fedc4": [
            attack("fedc4", "--attack", "loss", "--attack", "nearest-embedding", "--observer", "client:1", *ROUNDS)
        ],
        "classifier": [
            attack(
                "classifier",
                *each("--attack", ("lira", "rmia", "base", "g-base", "loss", "loss-calibrated", "label-only")),
                *each("--attack", ("lira-offline", "rmia-offline", "base-offline", "g-base-offline")),
                *each("--defense", ("rounded-posteriors", "label-noise", "fewer-labels", "fewer-edges")),
                *("--attack-set", "shadows=4", "--set", "recipe.epochs=20", "--neighbours", "all"),
                *("--seeds", "2", "--per-node", "nodes.csv"),
            )
        ],
        "classifier-presence": [
            attack(
                "classifier",
                *each("--attack", ("lira", "label-only")),
                *("--set", "game=node-presence", "--set", "recipe.epochs=20", "--attack-set", "shadows=4"),
                *("--set", "recipe.architecture=sage"),
            )
        ],
        "classifier-clients": [
            attack(
                "classifier",
                *("--attack", "lira", "--observer", "server", *ROUNDS, "--attack-set", "shadows=4"),
                *each("--defense", ("ldp", "gaussian-uploads", "top-k-uploads", "quantised-uploads")),
            ),
            ["inspect", "--target", "classifier", "--graph", "small.npz", *ROUNDS],
        ],
        "links": [
            attack(
                "fedavg",
                *each("--attack", ("graphmi", "gradient-matching", "link-posterior")),
                *each("--defense", ("ib-subgraph", "random-subgraph", "edge-randomised-response", "fewer-edges")),
                *each("--defense", ("degree-preserving-response", "gaussian-uploads", "one-bit-features")),
                *ROUNDS,
                *("--set", 'publish=["posteriors"]', "--set", "split=dataset", "--save-transcripts", "kept"),
            )
        ],
        "paper": [
            attack(
                *("fedavg", "--preset", "paper", "--seeds", "1", "--attack", "graphmi", "--attack", "lira"),
                *("--defense", "ib-subgraph", "--set", "clients=2", "--set", "rounds=2", "--observer", "server"),
            ),
            attack("fedgc", "--preset", "paper", "--seeds", "1", "--attack", "nearest", *CONDENSING),
        ],
        "publish": [
            [
                *("attack", "--target", "publish", "--dataset", "karate", "--json", "out.json"),
                *each("--attack", ("refinement", "hub-fingerprint", "neighbourhood-query", "seedless-matching")),
                *each("--attack", ("subgraph-query", "seeded-matching", "active-walk", "passive-coalition")),
                *each("--attack", ("link-noisy-or", "link-randomisation", "link-similarity", "plausibility")),
                *each("--defense", ("k-degree:k=2", "random-edit", "random-switch", "dp-1k")),
            ]
        ],
        "publish-planted": [
            [
                *("attack", "--target", "publish", "--dataset", "citations", "--json", "out.json"),
                *each("--attack", ("refinement", "active-walk", "passive-coalition")),
                *("--defense", "k-degree:k=3", "--set", "accounts=12"),
            ]
        ],
        "planted-network": [
            [
                *("attack", "--target", "planted-network", "--attack", "refinement"),
                *("--dataset", "planted-network", "--json", "out.json"),
            ]
        ],
        "recorded": [
            attack("classifier", "--attack", "loss", "--set", "split=dataset", "--save-transcripts", "kept"),
            attack("classifier", "--attack", "loss", "--transcript", "kept/none-seed0"),
            [
                *("inspect", "--target", "classifier", "--graph", "small.npz"),
                *("--transcript", "kept/none-seed0"),
            ],
        ],
        "plan": [
            ["audit", "plan.toml", "--workers", "1"],
            ["report", "audit.db", "-o", "report.json"],
            ["report", "audit.db", "-o", "report.csv", "--records", "records.csv"],
            ["report", "audit.db", "-o", "report.md"],
            ["report", "audit.db", "-o", "report.html"],
            ["baseline", "update", "audit.db", "--reason", "first"],
            ["check", "audit.db", "--policy", "gaudit.toml", "--junit", "junit.xml", "--sarif", "check.sarif"],
        ],
        "networks": [
            ["audit", "networks.toml", "--workers", "1"],
            ["report", "audit.db", "-o", "report.json"],
            ["report", "audit.db", "-o", "report.html"],
        ],
        "claims": [["check-claim", name, "--runs", "60", "--json", f"{name}.json"] for name in MECHANISMS],
        "training": [
            [
                *("check-training", "dp-mlp", "--dataset", "digits", "--set", "epsilon=1", "--canaries", "60"),
                *("--guesses", "40", "--json", "out.json"),
            ]
        ],
        "lint": [["lint-claim", "claim.toml", "--format", "json"]],
        "lists": [["list", what] for what in ("targets", "attacks", "defenses", "mechanisms", "datasets")],
        "refusals": [
            ["attack", "--target", "fedgx", "--attack", "mia"],
            ["attack", "--target", "classifier", "--attack", "graphmi", "--graph", "small.npz"],
            ["attack", "--target", "fedavg", "--attack", "lira", "--defense", "k-degree", "--graph", "small.npz"],
            ["attack", "--target", "classifier", "--attack", "lira", "--set", "recipe.epoch=3"],
            ["anonymize", "plain.txt", "--defense", "ldp", "-o", "no.txt"],
        ],
    }
    for name in FEDERATED[1:]:
        found[name] = [attack(name, "--attack", "loss", "--attack", "graphmi", "--defense", "ldp", *ROUNDS)]
    for name in CENTRAL:
        found[name] = [
            attack(name, "--attack", "nearest", "--attack", "mia", "--ratio", "0.3", "--ratio-of", "labelled")
        ]
    for name in PRIVATE:
        found[name] = [attack(name, "--attack", "loss", "--set", "epsilon=8")]
    found["dp-fedavg"] = [attack("dp-fedavg", "--attack", "loss", "--set", "epsilon=8", *ROUNDS)]
    for name, plays in (
        ("planted", "nearest"),
        ("planted-links", "graphmi"),
        ("planted-gradients", "gradient-readout"),
    ):
        found[name] = [
            ["attack", "--target", name, "--attack", plays, "--dataset", "citations", "--json", "out.json"],
            ["inspect", "--target", name],
        ]
    found["anonymize"] = [
        ["anonymize", "plain.txt", "--defense", defense, "-o", f"{number}.npz", "--seed", "7"]
        for number, defense in enumerate(GRAPH_DEFENSES)
    ]
    found["anonymize"] += [
        ["anonymize", "typed.npz", "--defense", defense, "-o", f"typed{number}.npz", "--seed", "7"]
        for number, defense in enumerate(TYPED_DEFENSES)
    ]
    found["anonymize"] += [
        ["anonymize", "small.npz", "--defense", "k-degree:k=2", "-o", "small.graphml", "--seed", "7", "--rename"]
    ]
    return found


def small_graph(path: Path) -> None:
    """240 nodes in four classes, with words and masks."""
    rng = np.random.default_rng(3)
    y = np.arange(240) % 4
    chance = np.where(y[:, None] == y[None, :], 0.06, 0.008)
    low, high = np.nonzero(np.triu(rng.random((240, 240)) < chance, 1))
    words = np.where(np.arange(32)[None, :] % 4 == y[:, None], 0.35, 0.08)
    x = (rng.random((240, 32)) < words).astype(np.float32)
    place = rng.permutation(240)
    masks = {
        name: (place >= a) & (place < b) for name, a, b in (("train", 0, 60), ("val", 60, 100), ("test", 100, 190))
    }
    edges = np.stack([np.concatenate([low, high]), np.concatenate([high, low])])
    np.savez(path, x=x, y=y, edge_index=edges, **{f"{name}_mask": mask for name, mask in masks.items()})


def prepared(folder: Path) -> None:
    """Files that commands read."""
    folder.mkdir(parents=True)
    small_graph(folder / "small.npz")
    graph = np.load(folder / "small.npz")["edge_index"]
    (folder / "plain.txt").write_text("".join(f"{a} {b}\n" for a, b in graph.T if a < b))
    np.savez(
        folder / "typed.npz", edge_index=graph[:, graph[0] < graph[1]], types=graph.sum(0)[graph[0] < graph[1]] % 3
    )
    (folder / "plan.toml").write_text(PLAN)
    (folder / "networks.toml").write_text(NETWORKS)
    (folder / "gaudit.toml").write_text(POLICY)
    (folder / "claim.toml").write_text(
        subprocess.run(["gaudit", "lint-claim", "--example"], capture_output=True, text=True, check=True).stdout
    )


def run(name: str, calls: list[list[str]], place: Path) -> str:
    """Runs the commands of one folder there, with what they print and their exit codes in ``printed``."""
    folder = place / name
    prepared(folder)
    before = {file.name for file in folder.iterdir()}
    told = []
    # one thread, and no GPU: what is added in another order differs in the last bit
    alone = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "140", "GAUDIT_CACHE": str(place.parent / "cache")}
    alone.pop("GAUDIT_DATA", None)
    for call in calls:
        done = subprocess.run(["gaudit", *call], cwd=folder, env=alone, capture_output=True, text=True, check=False)
        # the error stream of a command that works is progress, whose wording is no result
        error = done.stderr if done.returncode == 2 else ""
        told.append(f"$ gaudit {' '.join(call)}\n{done.stdout}{error}exit code {done.returncode}\n")
        if "Traceback" in done.stderr:
            told.append(done.stderr)
    (folder / "printed").write_text("\n".join(told))
    for file in before:
        (folder / file).unlink()
    return f"{name}: {', '.join(re.findall(r'exit code (.+)', ''.join(told)))}"


def record(place: Path, only: list[str]) -> None:
    """Runs all commands, or those of some folders, two folders at a time."""
    every = {name: calls for name, calls in commands().items() if not only or name in only}
    with ThreadPoolExecutor(2) as pool:
        for line in pool.map(lambda item: run(*item, place), every.items()):
            print(line, flush=True)
    print(f"{sum(map(len, every.values()))} commands")


MASKED = (
    (rb'"(gaudit|seconds|cpu_seconds|key|fingerprint|code)": ?("[^"]*"|[0-9.]+)', rb'"\1": "masked"'),
    (rb'"(accepted|created|date)": ?"[^"]*"', rb'"\1": "masked"'),
    (rb"[0-9.]+ (CPU )?(seconds|minutes|s\b)", rb"masked seconds"),
    (rb"20[0-9]{2}-[0-9]{2}-[0-9]{2}(T[0-9:.+Z]+)?", rb"masked date"),
)


def content(file: Path) -> bytes:
    """A file without what is expected to change with the code."""
    if file.suffix == ".db":
        return b""
    found = file.read_bytes()
    for pattern, instead in MASKED:
        found = re.sub(pattern, instead, found)
    return found


def compare(before: Path, after: Path) -> int:
    """Prints which files of the folders in both differ, with the first line of each that does."""
    both = {f.name for f in before.iterdir()} & {f.name for f in after.iterdir()}
    found = {f.relative_to(root) for root in (before, after) for f in root.rglob("*") if f.is_file()}
    names = {str(f) for f in found if f.parts[0] in both}
    differing = 0
    for name in sorted(names):
        files = [before / name, after / name]
        if not all(file.is_file() for file in files):
            print(f"{name}: only {'before' if files[0].is_file() else 'after'}")
            differing += 1
            continue
        old, new = map(content, files)
        if old != new:
            differing += 1
            print(f"{name}: {first_difference(old, new)}")
    digest = hashlib.sha256(json.dumps(sorted(names)).encode()).hexdigest()[:8]
    print(f"{len(names)} files compared ({digest}), {differing} differ")
    return 1 if differing else 0


def first_difference(old: bytes, new: bytes) -> str:
    """The first line that differs, as it was and as it is."""
    for one, other in zip(old.splitlines(), new.splitlines(), strict=False):
        if one != other:
            return f"{one[:160]!r} -> {other[:160]!r}"
    return f"{len(old)} bytes -> {len(new)} bytes"


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["record", place, *only]:
            record(Path(place).resolve(), only)
        case ["compare", one, other]:
            sys.exit(compare(Path(one), Path(other)))
        case _:
            sys.exit(__doc__)
