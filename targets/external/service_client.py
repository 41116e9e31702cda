"""Asking a service for posteriors: JSON over HTTP, whose answers are untrusted."""

import json
import math
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import SplitResult, urlsplit

import numpy as np

from ...errors import InputError, quoted

NUMBER_BYTES, SPARE_BYTES = 40, 1 << 16
"""Bytes that a number of an answer takes at most, and that an answer takes beside its numbers."""
AGAIN = {429, 500, 502, 503, 504}
"""What a service answers that may answer later."""
FINEST = 6
"""Decimals up to which answers count as rounded."""
OFF = 1e-3
"""How far a row of posteriors that nobody rounded may be from a sum of 1."""


@dataclass(frozen=True)
class ServiceClient:
    """Where and how to ask.

    Attributes:
        url: of the service, ``http://`` or ``https://``.
        timeout: seconds for an answer, from connecting to its last byte.
        retries: how often to ask again where it does not answer, or answers that it cannot now.
        backoff: seconds to wait before that, twice as many each time.
        token: name of the environment variable whose content is sent as a bearer token, if there is one.
    """

    url: str
    timeout: float = 30.0
    retries: int = 3
    backoff: float = 1.0
    token: str | None = None

    def ask(self, body: bytes, nodes: int, classes: int) -> np.ndarray:
        """Posteriors [nodes, classes] for one request, which is a JSON object.

        Raises:
            InputError: nobody answers, or what is answered are no such posteriors.
        """
        raw = self._answer(body, NUMBER_BYTES * nodes * classes + SPARE_BYTES)
        return read_answer(raw, nodes, classes, self.url)

    def _answer(self, body: bytes, most: int) -> bytes:
        reason = ""
        for attempt in range(self.retries + 1):
            if attempt:
                time.sleep(self.backoff * 2 ** (attempt - 1))
            try:
                status, raw, moved = self._post(body, most)
            except TimeoutError:
                reason = f"did not answer within {self.timeout:g} seconds"
                continue
            except (OSError, HTTPException) as error:
                reason = f"cannot be asked ({getattr(error, 'strerror', None) or error or type(error).__name__})"
                continue
            if status == 200:
                if len(raw) > most:
                    raise InputError(f"the service {self.url} answers more than {most:,} bytes, too much for this")
                return raw
            if 300 <= status < 400:
                raise InputError(
                    f"the service {self.url} sends elsewhere, to {quoted(moved)}: nothing was sent there; give "
                    "that address if you trust it"
                )
            reason = f"answers with the error {status}"
            if status not in AGAIN:
                break
        tries = f", asked {attempt + 1} times" if attempt else ""
        raise InputError(f"the service {self.url} {reason}{tries}")

    def _post(self, body: bytes, most: int) -> tuple[int, bytes, str]:
        """Status, up to ``most`` bytes and one of the answer, and where it sends to; all within the timeout."""
        place = checked_url(self.url)
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {_secret(self.token)}"
        kind = HTTPSConnection if place.scheme == "https" else HTTPConnection
        connection = kind(str(place.hostname), place.port, timeout=self.timeout)
        path = (place.path or "/") + (f"?{place.query}" if place.query else "")
        with _ended(connection, self.timeout) as (open_, late):
            try:
                connection.connect()
                open_.append(connection.sock)
                connection.request("POST", path, body, headers)
                response: HTTPResponse = connection.getresponse()
                raw = response.read(most + 1) if response.status == 200 else b""
            except (OSError, HTTPException, ValueError):
                if late():
                    raise TimeoutError from None
                raise
            if late():
                raise TimeoutError
            return response.status, raw, response.getheader("Location") or ""


@contextmanager
def _ended(connection: HTTPConnection, seconds: float) -> Iterator[tuple[list[socket.socket], Callable[[], bool]]]:
    """Ends a connection after some seconds: a timeout of its own counts from each byte that comes.

    Yields:
        A list for its sockets, and whether it was ended.
    """
    over, sockets = threading.Event(), list[socket.socket]()

    def stop() -> None:
        over.set()
        for each in sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield sockets, over.is_set
    finally:
        timer.cancel()
        connection.close()


def checked_url(url: str) -> SplitResult:
    """The parts of a URL.

    Raises:
        InputError: it is none of a service, or holds a password.
    """
    try:
        place = urlsplit(url)
        known = place.scheme in ("http", "https") and place.hostname and (place.port is None or place.port > 0)
    except ValueError:
        known, place = False, urlsplit("")
    if not known or not url.isascii() or not url.isprintable() or " " in url:
        raise InputError(f"url = {quoted(url)}: expected http://host/path or https://host/path")
    if place.username is not None or place.password is not None:
        raise InputError(
            "the url holds a name or a password, which would be kept with the results: use the setting token"
        )
    return place


def _secret(variable: str) -> str:
    if not os.environ.get(variable):
        raise InputError(f"token = {variable}: the environment has no such variable: set it to the service's token")
    return os.environ[variable]


def read_answer(raw: bytes, nodes: int, classes: int, source: str) -> np.ndarray:
    """Posteriors [nodes, classes] from the JSON object ``{"posteriors": [[...], ...]}``.

    Raises:
        InputError: it is something else, or its rows are no posteriors.
    """
    try:
        told = json.loads(raw.decode(), parse_int=_short_int)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the service {source} answers {quoted(raw[:60])}, which is no JSON") from error
    rows = told.get("posteriors") if isinstance(told, dict) else None
    if not isinstance(rows, list):
        raise InputError(
            f'the service {source} answers without posteriors: expected {{"posteriors": [[...], ...]}}'
        )
    if len(rows) != nodes:
        raise InputError(f"the service {source} answers {len(rows):,} rows about {nodes:,} nodes")
    wrong = next((k for k, row in enumerate(rows) if not _is_row(row, classes)), None)
    if wrong is not None:
        raise InputError(
            f"the service {source}: row {wrong + 1} of an answer is {quoted(rows[wrong])}: expected {classes} "
            "numbers"
        )
    return checked_posteriors(np.array(rows, dtype=np.float64).reshape(nodes, classes), source)


def checked_posteriors(told: np.ndarray, source: str) -> np.ndarray:
    """The same posteriors [s, C].

    Raises:
        InputError: a row is not finite, negative, or its sum is further from 1 than rounding explains.
    """
    off = np.abs(told.sum(1) - 1)
    bad = ~np.isfinite(told).all(1) | (told < 0).any(1) | ~(off <= _most_off(told))
    if bad.any():
        row = int(bad.argmax())
        raise InputError(
            f"the service {source}: row {row + 1} of an answer is no posterior: its values must be finite, not "
            f"negative, and sum to 1, and are {quoted(told[row].tolist())}"
        )
    return told


def summing_to_one(told: np.ndarray) -> np.ndarray:
    """Posteriors [s, C] of which rounded rows are scaled to a sum of 1."""
    found = told.copy()
    coarse = np.abs(told.sum(1) - 1) > OFF
    found[coarse] /= found[coarse].sum(1, keepdims=True)
    return found


def step_of(told: np.ndarray) -> float:
    """The step in which posteriors are told: a power of ten, or 0 where nobody rounded them."""
    for decimals in range(FINEST + 1):
        scaled = told * 10.0**decimals
        if np.allclose(scaled, np.round(scaled), rtol=0, atol=1e-6):
            return float(10.0**-decimals)
    return 0.0


def _most_off(told: np.ndarray) -> float:
    if not np.isfinite(told).all():
        return OFF
    return float(max(OFF, min(told.shape[1] * step_of(told) / 2 + 1e-9, 0.5)))


def _short_int(text: str) -> float:
    return float(text)


def _is_row(row: Any, classes: int) -> bool:
    return isinstance(row, list) and len(row) == classes and all(type(v) is float and math.isfinite(v) for v in row)
