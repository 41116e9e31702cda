"""A service on this machine that answers as a model would, or as it should not."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[dict[str, Any]], Any]


@dataclass
class Answering:
    """What was asked, and what is answered: status, headers and body by request."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def nodes(self) -> int:
        return sum(len(request["nodes"]) for request in self.requests)


@contextmanager
def answering(reply: Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]) -> Iterator[Answering]:
    """A server in a thread; ``reply`` answers each request."""
    told = Answering()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            told.requests.append(asked)
            told.headers.append(dict(self.headers))
            with suppress(BrokenPipeError, ConnectionResetError):
                reply(self, asked)

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    told.url = f"http://127.0.0.1:{server.server_address[1]}/predict"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield told
    finally:
        told.stop.set()
        server.shutdown()
        server.server_close()
        thread.join()


def sent(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, **headers: str) -> None:
    """An answer with a status, headers and a body."""
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def dripping(handler: BaseHTTPRequestHandler, told: Answering) -> None:
    """A byte now and then, without an end."""
    handler.send_response(200)
    handler.end_headers()
    while not told.stop.is_set():
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.02)
