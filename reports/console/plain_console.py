"""A console for files, pipes and build logs: tables without lines."""

from typing import Any

from rich.console import Console
from rich.table import Table


class PlainConsole(Console):
    """Prints tables as columns alone, without blanks at the ends of lines, which other programs can read."""

    def print(self, *objects: Any, **how: Any) -> None:
        """As every console does, with tables stripped of their lines."""
        for shown in objects:
            if isinstance(shown, Table):
                shown.box, shown.pad_edge = None, False
        with self.capture() as printed:
            super().print(*objects, **how)
        self.file.writelines(f"{line.rstrip()}\n" for line in printed.get().splitlines())


def say_on(console: Console, text: str, style: str = "") -> None:
    """Prints a sentence: wrapped between words on a terminal, and a line of its own anywhere else."""
    console.print(text, style=style, highlight=False, soft_wrap=not console.is_terminal, markup=False)
