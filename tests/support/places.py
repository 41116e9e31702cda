"""Folders that tests read from."""

from pathlib import Path

SUPPORT = Path(__file__).parent
ROOT = SUPPORT.parents[1]
"""Of the repository, which is the package's too."""
EXAMPLES = ROOT / "examples"
