"""The package in examples/plugin, installed into a folder of its own."""

import configparser
import importlib.metadata
import shutil
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

from .places import EXAMPLES

SOURCE = EXAMPLES / "plugin"
PROJECT = tomllib.loads((SOURCE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WITH_WHEELS = (70, 1)
"""The first version of setuptools that builds wheels alone."""


def can_build() -> bool:
    """Whether what is installed here builds wheels, without asking any network."""
    version = tuple(int(part) for part in importlib.metadata.version("setuptools").split(".")[:2])
    return version >= WITH_WHEELS or find_spec("wheel") is not None


def install(folder: Path) -> Path:
    """Installs the package by pip, or where nothing here builds wheels puts it there as pip would."""
    source, place = folder / "source", folder / "site"
    shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    if can_build():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
        done = subprocess.run(
            [*pip, "--no-index", "--target", str(place), str(source)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    else:
        put(source, place)
    return place


def put(source: Path, place: Path) -> None:
    """Puts the package into a folder as pip would, without pip."""
    shutil.copytree(source / "src", place)
    name, version = PROJECT["name"], PROJECT["version"]
    metadata = place / f"{name.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    listed = configparser.ConfigParser(delimiters=("=",))
    listed.read_dict(PROJECT["entry-points"])
    with (metadata / "entry_points.txt").open("w", encoding="utf-8") as file:
        listed.write(file)
