"""Graphs by name: read-only data, the cache, failures, and the sizes of the real ones."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from gaudit.errors import InputError
from gaudit.graphs.checks import MASKS
from gaudit.graphs.datasets import loading as datasets
from gaudit.graphs.datasets.loading import dataset_names, load_dataset

FIELDS = ("x", "y", "edge_index", *MASKS)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache, and no server to download from."""
    import torch_geometric.datasets as pyg

    folder = tmp_path / "cache"
    monkeypatch.setenv("GAUDIT_CACHE", str(folder))

    def no_network(self):
        print("Downloading ...")
        (Path(self.raw_dir) / "half").write_text("half a file")
        raise OSError("no route to host\nsecond line")

    for source in datasets.DOWNLOADED.values():
        monkeypatch.setattr(getattr(pyg, source.loader), "download", no_network)
    return folder


@pytest.fixture
def no_data(monkeypatch):
    monkeypatch.delenv("GAUDIT_DATA", raising=False)


# two classes of blogs in a ring, in the layout of PyG's PolBlogs
NODES = 40


def blogs(root, nodes=NODES):
    raw = root / "PolBlogs" / "raw"
    raw.mkdir(parents=True)
    (raw / "adjacency.tsv").write_text("".join(f"{n}\t{(n + 1) % nodes}\t1\n" for n in range(nodes)))
    (raw / "labels.tsv").write_text("".join(f"{n % 2}\n" for n in range(nodes)))
    return root


def listing(folder):
    return {str(path): path.lstat().st_mtime_ns for path in [folder, *folder.rglob("*")]}


def test_names_cover_bundled_and_downloaded_graphs():
    names = dataset_names()
    assert next(iter(names)) == "citations"
    assert {"digits", "karate", "Cora", "Cora_ML", "PubMed", "Reddit"} <= set(names)
    assert all(line and "\n" not in line for line in names.values())


def test_asking_for_names_does_not_import_torch():
    code = (
        "import sys; import gaudit.graphs.datasets.loading as d; d.dataset_names(); print('torch' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


@pytest.mark.parametrize("name", ["karate", "Karate", "KARATE"])
def test_bundled_graphs_are_found_in_any_case(name):
    assert load_dataset(name).num_nodes == 34


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(InputError, match="unknown dataset 'Coraa': did you mean 'Cora'"):
        load_dataset("Coraa")


@pytest.mark.usefixtures("no_data")
def test_without_data_and_network_the_error_names_both_ways_and_leaves_nothing(cache, capfd):
    with pytest.raises(InputError) as refusal:
        load_dataset("cora")
    message = str(refusal.value)
    assert "dataset 'Cora'" in message
    assert "no route to host" in message
    assert "GAUDIT_DATA" in message
    assert "<folder>/Cora/raw/ind.cora.x is missing" in message
    assert "download" in message
    assert "\n" not in message
    assert list(cache.iterdir()) == []
    assert capfd.readouterr().out == ""


def test_the_error_names_the_file_that_is_missing(tmp_path):
    root = blogs(tmp_path / "data")
    (root / "PolBlogs" / "raw" / "labels.tsv").unlink()
    with pytest.raises(InputError, match=r"PolBlogs/raw/labels\.tsv is missing"):
        load_dataset("PolBlogs", root)


def test_a_data_folder_that_is_none_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"nowhere \(GAUDIT_DATA\) is no folder"):
        load_dataset("Cora", tmp_path / "nowhere")


def test_a_graph_without_features_and_split_gets_both(tmp_path, capfd):
    graph = load_dataset("polblogs", blogs(tmp_path / "data"))
    assert torch.equal(graph.x, torch.eye(NODES))
    assert graph.edge_index.shape == (2, 2 * NODES)
    assert [int(graph[name].sum()) for name in MASKS] == [20, 6, 14]
    assert capfd.readouterr().out == ""


def test_the_data_folder_may_come_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("GAUDIT_DATA", str(blogs(tmp_path / "data")))
    assert load_dataset("PolBlogs").num_nodes == NODES


def test_relative_data_folders_work(tmp_path, monkeypatch):
    blogs(tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    load_dataset("PolBlogs", "data")
    monkeypatch.chdir("/")
    assert load_dataset("PolBlogs", tmp_path / "data").num_nodes == NODES


def test_nothing_is_written_where_the_data_is(tmp_path):
    root = blogs(tmp_path / "data")
    before = listing(root)
    load_dataset("PolBlogs", root)
    assert listing(root) == before


def test_the_second_load_uses_the_cache_and_gives_the_same(tmp_path, cache, monkeypatch):
    import torch_geometric.datasets as pyg

    root = blogs(tmp_path / "data")
    first = load_dataset("PolBlogs", root)
    entries = list(cache.iterdir())
    assert len(entries) == 1

    def unexpected(_):
        raise AssertionError("processed again")

    monkeypatch.setattr(pyg.PolBlogs, "process", unexpected)
    second = load_dataset("PolBlogs", root)
    assert list(cache.iterdir()) == entries
    assert all(torch.equal(first[name], second[name]) for name in FIELDS)


def test_changed_raw_files_are_not_answered_from_the_cache(tmp_path):
    root = blogs(tmp_path / "data")
    load_dataset("PolBlogs", root)
    shutil.rmtree(root)
    assert load_dataset("PolBlogs", blogs(root, nodes=60)).num_nodes == 60


def test_files_are_copied_where_links_are_impossible(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError("no links here")

    root = blogs(tmp_path / "data")
    monkeypatch.setattr(Path, "symlink_to", refuse)
    load_dataset("PolBlogs", root)
    before = listing(root)
    assert load_dataset("PolBlogs", root).num_nodes == NODES
    assert listing(root) == before


@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe", b"<html>404</html>\n", b"1\tx\n"])
def test_damaged_raw_files_are_an_error_of_one_line_and_leave_nothing(tmp_path, cache, content):
    root = blogs(tmp_path / "data")
    (root / "PolBlogs" / "raw" / "adjacency.tsv").write_bytes(content)
    with pytest.raises(InputError) as refusal:
        load_dataset("PolBlogs", root)
    assert "PolBlogs" in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert list(cache.iterdir()) == []


def test_a_damaged_cache_names_the_folder_to_delete(tmp_path, cache):
    root = blogs(tmp_path / "data")
    load_dataset("PolBlogs", root)
    [processed] = cache.rglob("data.pt")
    processed.write_bytes(b"half")
    with pytest.raises(InputError, match="delete that folder") as refusal:
        load_dataset("PolBlogs", root)
    [entry] = cache.iterdir()
    assert str(entry) in str(refusal.value)
    shutil.rmtree(entry)
    assert load_dataset("PolBlogs", root).num_nodes == NODES


def test_a_cache_that_cannot_be_written_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GAUDIT_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(InputError, match="set GAUDIT_CACHE"):
        load_dataset("PolBlogs", blogs(tmp_path / "data"))


def test_without_a_cache_variable_the_users_cache_is_used(tmp_path, monkeypatch):
    monkeypatch.delenv("GAUDIT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "shared"))
    load_dataset("PolBlogs", blogs(tmp_path / "data"))
    assert len(list((tmp_path / "shared" / "gaudit").iterdir())) == 1


def test_a_faster_process_wins_and_both_get_the_graph(tmp_path, cache, monkeypatch):
    import torch_geometric.datasets as pyg

    root, results = blogs(tmp_path / "data"), []
    process = pyg.PolBlogs.process

    def overtaken(self):
        monkeypatch.setattr(pyg.PolBlogs, "process", process)
        results.append(load_dataset("PolBlogs", root))
        process(self)

    monkeypatch.setattr(pyg.PolBlogs, "process", overtaken)
    results.append(load_dataset("PolBlogs", root))
    assert len(results) == 2
    assert all(torch.equal(results[0][name], results[1][name]) for name in FIELDS)
    assert len(list(cache.iterdir())) == 1


def real(gaudit_data, name):
    source = datasets.DOWNLOADED[name]
    if not all((gaudit_data / source.folder / "raw" / file).is_file() for file in source.files):
        pytest.skip(f"GAUDIT_DATA lacks {name}")
    return load_dataset(name, gaudit_data)


@pytest.mark.parametrize(
    ("name", "shape", "edges", "classes", "split"),
    [
        ("Cora", (2708, 1433), 5278, 7, (140, 500, 1000)),
        ("CiteSeer", (3327, 3703), 4552, 6, (120, 500, 1000)),
        ("Cora_ML", (2995, 2879), 8158, 7, (140, 500, 1000)),
        ("Photo", (7650, 745), 119081, 8, (160, 500, 1000)),
        ("Actor", (7600, 932), 26659, 5, (3648, 2432, 1520)),
        ("Tolokers", (11758, 10), 519000, 2, (5879, 2939, 2940)),
        ("PolBlogs", (1490, 1490), 16715, 2, (40, 298, 596)),
    ],
)
def test_real_graphs_have_their_published_sizes(gaudit_data, name, *, shape, edges, classes, split):
    graph = real(gaudit_data, name)
    assert graph.x.shape == shape
    assert graph.edge_index.shape == (2, 2 * edges)
    assert int(graph.y.max()) + 1 == classes
    assert tuple(int(graph[mask].sum()) for mask in MASKS) == split


def test_cora_in_a_read_only_folder(gaudit_data, tmp_path):
    real(gaudit_data, "Cora")
    root = tmp_path / "data"
    shutil.copytree(gaudit_data / "Cora" / "raw", root / "Cora" / "raw")
    for folder in (root, root / "Cora", root / "Cora" / "raw"):
        folder.chmod(0o555)
    before = listing(root)
    try:
        graph = load_dataset("Cora", root)
        assert graph.train_mask[:140].all()
        assert listing(root) == before
    finally:
        for folder in (root, root / "Cora", root / "Cora" / "raw"):
            folder.chmod(0o755)


def test_truncated_planetoid_files_are_an_error_of_one_line(gaudit_data, tmp_path, cache):
    real(gaudit_data, "Cora")
    shutil.rmtree(cache)
    root = tmp_path / "data"
    raw = Path(shutil.copytree(gaudit_data / "Cora" / "raw", root / "Cora" / "raw"))
    graph = raw / "ind.cora.graph"
    graph.chmod(0o644)
    os.truncate(graph, 1000)
    with pytest.raises(InputError, match="damaged") as refusal:
        load_dataset("Cora", root)
    assert str(raw) in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert list(cache.iterdir()) == []
