"""Every guide in docs/ works as it is printed, in a package of its own that gaudit knows nothing of."""

import configparser
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDES = {
    "adding-an-attack.md": ("gaudit.attacks", 3),
    "adding-a-target.md": ("gaudit.targets", 5),
    "adding-a-defense.md": ("gaudit.defenses", 5),
    "adding-a-game.md": ("gaudit.games", 5),
    "adding-a-report-format.md": ("gaudit.formats", 3),
    "plugins.md": ("gaudit.readers", 5),
}
"""Each guide with the group of the entry point that it prints, and how many tests."""


def blocks(guide: str, language: str) -> list[str]:
    """The code of one language in a guide."""
    text = (ROOT / "docs" / "extend" / guide).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def package_of(guide: str, folder: Path) -> tuple[Path, Path]:
    """Writes a guide's module, its metadata and its test into a folder; returns module and test."""
    module, test = blocks(guide, "python")
    (table,) = blocks(guide, "toml")
    ((group, points),) = tomllib.loads(table)["project"]["entry-points"].items()
    assert group == GUIDES[guide][0]
    (name,) = {value.partition(":")[0] for value in points.values()}
    package, checks = folder / f"{name}.py", folder / f"test_{name}.py"
    package.write_text(module, encoding="utf-8")
    checks.write_text(test, encoding="utf-8")
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    listed = configparser.ConfigParser(delimiters=("=",))
    listed[group] = points
    with (metadata / "entry_points.txt").open("w", encoding="utf-8") as file:
        listed.write(file)
    return package, checks


@pytest.mark.dear
@pytest.mark.parametrize("guide", GUIDES)
def test_the_guide_works_from_another_package(guide, shell, tmp_path):
    _, checks = package_of(guide, tmp_path)
    line = f"pytest -q -p no:cacheprovider -p no:xdist {checks.name}"
    done = shell.with_packages(tmp_path).run(line, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(rf"^{GUIDES[guide][1]} passed", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.dear
@pytest.mark.parametrize(
    "guide", ["adding-an-attack.md", "adding-a-target.md", "adding-a-defense.md", "plugins.md"]
)
def test_what_the_guide_shows_keeps_the_rules_of_plugins(guide, shell, tmp_path):
    package, _ = package_of(guide, tmp_path)
    done = shell.with_packages(tmp_path).run(f"gaudit plugin check {package.stem}", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"{package.stem} 1.0 keeps all")


@pytest.mark.parametrize("guide", GUIDES)
def test_the_module_keeps_the_rules_of_style(guide, tmp_path):
    ruff = shutil.which("ruff", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if ruff is None:
        pytest.skip("ruff is not installed: pip install -e '.[dev]'")
    package, _ = package_of(guide, tmp_path)
    rules = ["--config", str(ROOT / "pyproject.toml"), "--no-cache"]
    for check in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [ruff, *check, *rules, str(package)], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_guide_is_tried():
    assert {path.name for path in (ROOT / "docs" / "extend").glob("adding-*.md")} | {"plugins.md"} == set(GUIDES)
