"""Makes a notebook of each tutorial: its text and its code, with the results that the code has when it runs.

    python examples/notebooks/make.py                 # all of them
    python examples/notebooks/make.py data-owner      # one
    python examples/notebooks/make.py --prose         # where the code is as it was: runs nothing

Each tutorial runs in a new folder, beside a copy of ``examples``. What a block of shell prints on its error
stream (progress and CPU seconds, which differ from run to run) is left out. Packages that a tutorial installs go
to a folder of their own. A notebook is written as JSON here (nbformat 4.5), so that nothing has to be installed.
"""

import ast
import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TUTORIALS = ROOT / "docs" / "tutorials"
FENCE = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```\n', re.DOTALL | re.MULTILINE)
Output = dict[str, Any]


@dataclass(frozen=True)
class Block:
    """A block of code of a tutorial.

    Attributes:
        language: ``python`` and ``sh`` are run, ``text`` is what was printed.
        file: the file that it is, if it is one; it is written and not run.
        code: what is in it.
    """

    language: str
    file: str
    code: str

    @property
    def cell(self) -> str:
        """The block as the source of a notebook's cell."""
        first = f"%%writefile {self.file}\n" if self.file else "%%bash\n" if self.language == "sh" else ""
        return (first + self.code).rstrip("\n")


def parts(text: str) -> list[str | Block]:
    """A tutorial's prose and blocks, in their order."""
    found: list[str | Block] = []
    end = 0
    for match in FENCE.finditer(text):
        found += [text[end : match.start()], Block(match[1], match[2] or "", match[3])]
        end = match.end()
    return [part for part in [*found, text[end:]] if isinstance(part, Block) or part.strip()]


def blocks(text: str) -> list[Block]:
    """The blocks that a reader runs or saves, in their order."""
    return [part for part in parts(text) if isinstance(part, Block) and part.language != "text"]


def play(todo: list[Block], folder: Path, environment: Mapping[str, str]) -> list[list[Output]]:
    """Runs or saves blocks one after another in a folder; returns what each of them shows.

    Args:
        todo: the blocks.
        folder: an empty one.
        environment: variables; ``python`` and ``bash`` are those of its PATH.

    Raises:
        RuntimeError: a block failed.
    """
    work, packages = folder / "work", folder / "packages"
    shutil.copytree(ROOT / "examples", work / "examples", ignore=shutil.ignore_patterns("notebooks", "__pycache__"))
    path = [str(packages), *filter(None, [environment.get("PYTHONPATH")])]
    pip = {"PIP_TARGET": str(packages), "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1"}
    variables = {**environment, **pip, "PYTHONPATH": os.pathsep.join(path), "PYTHONDONTWRITEBYTECODE": "1"}
    shown = []
    with _kernel(work, variables) as kernel:
        for block in todo:
            if block.file:
                file = work / block.file
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(block.code, encoding="utf-8")
                shown.append([_printed(f"Writing {block.file}\n")])
            elif block.language == "sh":
                shown.append(_shell(block.code, work, variables))
            else:
                shown.append(_asked(kernel, block.code))
    return [[_without(str(work), output) for output in outputs] for outputs in shown]


def _shell(code: str, folder: Path, environment: Mapping[str, str]) -> list[Output]:
    done = subprocess.run(
        ["bash", "-c", code], cwd=folder, env=dict(environment), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{code}\n{done.stdout}\n{done.stderr}")
    return [_printed(done.stdout)] if done.stdout else []


@contextlib.contextmanager
def _kernel(folder: Path, environment: Mapping[str, str]) -> Iterator["subprocess.Popen[str]"]:
    """A process that runs Python blocks in one namespace."""
    python = shutil.which("python", path=environment["PATH"]) or sys.executable
    with subprocess.Popen(
        [python, __file__, "--kernel"],
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def _asked(kernel: "subprocess.Popen[str]", code: str) -> list[Output]:
    assert kernel.stdin is not None
    assert kernel.stdout is not None
    kernel.stdin.write(json.dumps(code) + "\n")
    kernel.stdin.flush()
    line = kernel.stdout.readline()
    if not line:
        raise RuntimeError(code)
    outputs: list[Output] = json.loads(line)
    return outputs


def _serve() -> None:
    """The process behind `_kernel`: a line of JSON with code comes in, one with its outputs goes out."""
    out, names = sys.stdout, {"__name__": "__main__"}
    sys.path.insert(0, "")
    for line in sys.stdin:
        out.write(json.dumps(_run(json.loads(line), names)) + "\n")
        out.flush()


def _run(code: str, names: dict[str, Any]) -> list[Output]:
    """Runs a block as a notebook does: what it prints, and the value of a last line that is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "<block>", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "<block>", "eval"), names) if last else None  # type: ignore[attr-defined]
    outputs = [_printed(printed.getvalue())] if printed.getvalue() else []
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):  # what a reader sees; the plain form is for those who read no HTML
            html = value._repr_html_().splitlines(keepends=True)
            data = {"text/html": html, "text/plain": str(value).splitlines(keepends=True)}
        outputs.append({"output_type": "execute_result", "data": data, "metadata": {}})
    return outputs


def _printed(text: str) -> Output:
    return {"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}


def _without(folder: str, output: Output) -> Output:
    """An output that does not tell where it was made."""
    clean: Output = json.loads(json.dumps(output).replace(f"{folder}/", "").replace(folder, "."))
    return clean


def said(outputs: list[Output]) -> str:
    """What a reader sees of outputs, as plain text."""
    texts = [output.get("text") or output["data"]["text/plain"] for output in outputs]
    return "\n".join("".join(text) for text in texts)


def notebook(text: str, shown: list[list[Output]]) -> dict[str, Any]:
    """A tutorial with what its blocks show, as nbformat 4.5."""
    cells: list[dict[str, Any]] = []
    left = iter(shown)
    for part in parts(text):
        name = {"id": f"cell-{len(cells)}", "metadata": {}}
        if isinstance(part, str):
            prose = re.sub(
                r"\]\((?=[\w-]+\.md)", "](../../docs/tutorials/", part.strip().replace("](../", "](../../docs/")
            )
            cells.append({**name, "cell_type": "markdown", "source": prose.splitlines(keepends=True)})
        elif part.language != "text":
            count = 1 + sum(cell["cell_type"] == "code" for cell in cells)
            outputs = [
                {**output, "execution_count": count} if output["output_type"] == "execute_result" else output
                for output in next(left)
            ]
            source = part.cell.splitlines(keepends=True)
            cells.append(
                {**name, "cell_type": "code", "execution_count": count, "source": source, "outputs": outputs}
            )
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def write(name: str, text: str, shown: list[list[Output]]) -> Path:
    """Writes the notebook of a tutorial."""
    file = HERE / f"{name}.ipynb"
    file.write_text(json.dumps(notebook(text, shown), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return file


def kept(name: str, text: str) -> list[list[Output]]:
    """What the blocks of a tutorial show in the notebook that is there.

    Raises:
        RuntimeError: its code is another.
    """
    cells = json.loads((HERE / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    if ["".join(cell["source"]) for cell in code] != [block.cell for block in blocks(text)]:
        raise RuntimeError(f"{name}: its code has changed: make its notebook without --prose")
    return [cell["outputs"] for cell in code]


def main(names: list[str]) -> None:
    """Runs tutorials and writes their notebooks."""
    prose, names = "--prose" in names, [name for name in names if name != "--prose"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for name in names or sorted(file.stem for file in TUTORIALS.glob("*.md")):
        text = (TUTORIALS / f"{name}.md").read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder).resolve()
            file = write(name, text, kept(name, text) if prose else play(blocks(text), place, environment))
        print(f"{file.relative_to(ROOT)}: {file.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    _serve() if sys.argv[1:] == ["--kernel"] else main(sys.argv[1:])
