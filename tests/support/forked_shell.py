"""A shell in which ``gaudit``, ``python`` and ``pytest`` start at once: a server has imported them, and forks.

What a command reads, prints and leaves behind is as in a process of its own, since a fork is one. Importing torch
for each of a hundred commands would take longer than the commands.
"""

import contextlib
import gc
import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

CLIENT = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    asked = dict(name={name!r}, folder=os.getcwd(), environment=dict(os.environ), arguments=sys.argv[1:])
    sent = json.dumps(asked).encode()
    socket.send_fds(server, [len(sent).to_bytes(4, "big")], [0, 1, 2])
    server.sendall(sent)
    sys.exit((server.recv(1) or b"F")[0])
"""
"""A command: it sends where it is and its three streams, and ends with the exit code that comes back."""
NAMES = ("gaudit", "python", "pytest")
WARM_UP = """
attack --target classifier --dataset karate --attack lira --workers 1 --set recipe.epochs=2
"""
"""A command that imports what most commands import, and loads the compiled kernels."""


@dataclass(frozen=True)
class Shell:
    """Runs lines of bash."""

    commands: Path
    """The folder that holds ``gaudit``, ``python`` and ``pytest``."""
    environment: dict[str, str] = field(repr=False)

    def with_packages(self, folder: Path) -> "Shell":
        """The same shell, where what lies in a folder is installed too."""
        before = self.environment.get("PYTHONPATH", "")
        return replace(self, environment={**self.environment, "PYTHONPATH": f"{folder}:{before}"})

    def run(
        self, line: str, folder: Path, more: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs a line in a folder; what it prints is in ``stdout`` and ``stderr``."""
        return subprocess.run(
            ["bash", "-c", line],
            cwd=folder,
            env={**self.environment, **(more or {})},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )


@contextlib.contextmanager
def forked_shell() -> Iterator[Shell]:
    """A shell with its server, which ends when the block does."""
    with tempfile.TemporaryDirectory() as place:
        address = str(Path(place) / "server")
        for name in NAMES:
            client = Path(place) / name
            client.write_text(CLIENT.format(python=sys.executable, address=address, name=name))
            client.chmod(0o755)
        dropped = ("PYTEST", "COV_", "COLUMNS", "LINES")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
        kept |= {
            "OMP_NUM_THREADS": "1",
            "PATH": os.pathsep.join([place, str(Path(sys.executable).parent), kept["PATH"]]),
        }
        server = subprocess.Popen(
            [sys.executable, "-c", f"from support.forked_shell import serve; serve({address!r})"],
            cwd=Path(__file__).parents[1],
            env=kept,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            yield Shell(Path(place), kept)
        finally:
            server.terminate()
            server.wait()


def serve(address: str) -> None:
    """Answers one command after another, for ever."""
    from gaudit.registry import registered

    os.cpu_count = lambda: 1  # trials run in the command's own process: numbers do not depend on how many there are
    _warm_up()
    registered.cache_clear()  # a command may find packages that the server does not
    gc.freeze()  # else each command would look through, and so copy, all that the server has imported
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        print("ready", flush=True)
        while True:
            client, _ = listening.accept()
            child = os.fork()  # a command may start others: each is answered beside those that still run
            if child == 0:
                listening.close()
                _answer(client)
            client.close()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def _warm_up() -> None:
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.chdir(stack.enter_context(tempfile.TemporaryDirectory())))
        nowhere = stack.enter_context(Path(os.devnull).open("w"))
        stack.enter_context(contextlib.redirect_stdout(nowhere))
        stack.enter_context(contextlib.redirect_stderr(nowhere))
        stack.enter_context(contextlib.suppress(SystemExit))
        _call("gaudit", WARM_UP.split())


def _answer(client: socket.socket) -> None:
    """In a child of the server: forks the command, and tells the client how it ended."""
    size, streams, *_ = socket.recv_fds(client, 4, 3)
    sent = b""
    while len(sent) < int.from_bytes(size, "big"):
        sent += client.recv(1 << 16)
    command = os.fork()
    if command == 0:
        client.close()
        _become(json.loads(sent), streams)
    code = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
    with contextlib.suppress(OSError):
        client.sendall(bytes([code % 256]))
    os._exit(0)


def _become(asked: dict, streams: list[int]) -> None:
    """Takes the client's place and runs the command; ends as any process does."""
    for own, theirs in enumerate(streams):
        os.dup2(theirs, own)
        os.close(theirs)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    sys.path[:] = [entry for entry in sys.path if entry]  # a command has no current folder among its modules
    added = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [entry for entry in added if entry and entry not in sys.path]
    _call(asked["name"], asked["arguments"])
    sys.exit(0)


def _call(name: str, arguments: "list[str] | tuple[str, ...]") -> None:
    """Runs what stands behind a command's name."""
    sys.argv = [name, *arguments]
    if name == "python":
        if arguments[0].startswith("-"):  # -m pip and the like: an interpreter of its own
            os.execv(sys.executable, [sys.executable, *arguments])
        sys.argv = list(arguments)
        runpy.run_path(arguments[0], run_name="__main__")
    elif name == "pytest":
        import pytest

        sys.exit(int(pytest.main()))
    else:
        from gaudit.commands.main import main

        main()
