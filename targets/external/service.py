"""A model that answers over HTTP."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from ...errors import InputError
from ...output_files import check_outputs
from ...randomness import branch
from ...settings import Settings
from ..channel import Channel, Retention
from ..defense import Defense
from ..games.membership import NODE_GAMES
from ..messages import QUERY_NAMES, TABLE_KINDS, posteriors_kind
from ..models.training_config import TrainingConfig
from ..recording import UNKNOWN
from ..target import Offers, Progress, Run, Utility, no_progress
from ..transcript import Transcript
from .brought import Brought
from .service_client import ServiceClient, checked_posteriors, checked_url, step_of, summing_to_one

if TYPE_CHECKING:
    from torch_geometric.data import Data

Asked = Literal["full", "0-hop"]


class ServiceSettings(Settings):
    """Settings of `Service`."""

    url: str = Field(description="where it answers: the graph is sent there")
    budget: int = Field(
        ge=2, description="answers that may be asked for: one is one node in one query; those that are kept count"
    )
    batch: int = Field(256, ge=1, description="nodes in one request")
    queries: tuple[Asked, ...] = Field(("full", "0-hop"), min_length=1, description="ask with all edges, or none")
    retries: int = Field(3, ge=0, le=20, description="how often to ask again where it does not answer")
    backoff: float = Field(1.0, ge=0, le=60, description="seconds to wait before that, doubled each time")
    timeout: float = Field(30.0, gt=0, le=3600, description="seconds for one answer")
    token: str | None = Field(None, description="environment variable whose content is sent as a bearer token")
    answers: str = Field(
        "service-answers", description="folder in which answers are kept, a transcript for each graph"
    )
    recipe: TrainingConfig | None = Field(
        None, description="how the model was trained, if you know; without it no shadow model is made"
    )
    game: Literal["label-membership", "node-presence"] = "label-membership"


class Service(Brought):
    """A model behind a URL: gaudit sends it the graph, and attacks what it answers.

    A request is the JSON object ``{"x": [[...]], "edge_index": [[...], [...]], "nodes": [...]}``, its answer
    ``{"posteriors": [[...]]}``, a row for each of ``nodes``. In the query ``full`` every request holds the whole
    graph, in ``0-hop`` the nodes that are asked about and no edges. Members are the train nodes of the graph,
    non-members its test nodes; where the budget is smaller than that, as many of them as it allows are drawn.
    Answers are kept in a transcript: a second run asks nothing.
    """

    name = "service"
    release = posteriors_kind("full")
    release_phrase = "the service's answers"
    sends = TABLE_KINDS
    games = tuple(NODE_GAMES)
    runs_elsewhere = True
    Settings = ServiceSettings
    settings: ServiceSettings

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        checked_url(self.settings.url)

    @classmethod
    def example(cls, data: Data, folder: Path) -> dict[str, Any]:
        """One whose answers are there already: nobody is asked."""
        url, classes = "http://127.0.0.1:1/", int(data.y.max()) + 1
        row = np.full(classes, 1 / classes)
        answers = KeptAnswers(folder, url, data)
        answers.save({query: dict.fromkeys(range(len(data.y)), row) for query in ("full", "0-hop")})
        return {"url": url, "budget": 2 * len(data.y), "answers": str(folder)}

    @property
    def offers(self) -> Offers:
        """No clients, and who is trained on as the masks say."""
        return Offers(0, recipe=self.settings.recipe, game=self.settings.game)

    def sent(self) -> set[str]:
        return {posteriors_kind(query) for query in self.settings.queries}

    def why_not(self, defense: Defense) -> str | None:
        return (
            None if type(defense) is Defense else "it would have to act in the service: put it there, and ask again"
        )

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        s, data = self.settings, data.cpu()
        train, test = data.train_mask.numpy(), data.test_mask.numpy()
        asked = _asked(np.flatnonzero(train | test), train, s.budget // len(s.queries), data)
        kept = KeptAnswers(Path(s.answers), s.url, data)
        told, new = self._answers(data, asked, kept, progress)
        channel = Channel(retain=retain)
        for query, posteriors in told.items():
            told_all = torch.from_numpy(summing_to_one(posteriors)).float()
            tensors = {"nodes": torch.from_numpy(asked), "posteriors": told_all}
            channel.send(posteriors_kind(query), "server", "public", 0, tensors)
        first = next(iter(told.values()))
        right = first.argmax(1) == data.y.numpy()[asked]
        outside = ~train[asked]
        secrets = NODE_GAMES[s.game](subjects=asked, truth=train[asked])
        return Run(
            channel.transcript,
            {s.game: secrets},
            (Utility.of_test(0, float(right[outside].mean())),),
            0,
            tuple(self._notes(told, new, kept.path, int((train | test).sum()))),
            tested=int(outside.sum()),
            recipe=s.recipe,
            recipe_unknown=s.recipe is None,
            in_place=UNKNOWN,
        )

    def _answers(
        self, data: Data, asked: np.ndarray, kept: KeptAnswers, progress: Progress
    ) -> tuple[dict[str, np.ndarray], int]:
        """Posteriors [s, C] by query of the nodes that are asked about, and how many were asked for now."""
        s, new, classes = self.settings, 0, int(data.y.max()) + 1
        client = ServiceClient(s.url, s.timeout, s.retries, s.backoff, s.token)
        known = kept.load(classes)
        lacking = {q: np.setdiff1d(asked, list(known.get(q, {}))) for q in s.queries}
        total = sum(map(len, lacking.values()))
        if total:
            kept.make_room()
        try:
            for query in s.queries:
                held = known.setdefault(query, {})
                for nodes, body in _requests(data, lacking[query], s.batch, query):
                    answer = client.ask(body, len(nodes), classes)
                    held |= dict(zip(nodes.tolist(), answer, strict=True))
                    new += len(nodes)
                    progress("asking the service", new, total)
        finally:
            if new:
                kept.save(known)
            elif total:
                kept.leave()
        return {q: np.stack([known[q][node] for node in asked.tolist()]) for q in s.queries}, new

    def _notes(self, told: dict[str, np.ndarray], new: int, place: Path, every: int) -> Iterator[str]:
        s = self.settings
        count = sum(map(len, told.values()))
        if new:
            yield f"the service was asked for {new:,} of {count:,} answers; all are kept in {place}"
        else:
            yield f"nothing was asked: all {count:,} answers are from {place} (delete it to ask again)"
        asked = len(next(iter(told.values())))
        if asked < every:
            yield f"the budget allows {asked:,} of {every:,} nodes, drawn at random"
        for query, posteriors in told.items():
            if (step := step_of(posteriors)) > 0:
                yield f"answers ({query}) are rounded, in steps of {step:g}"
        if s.recipe is None:
            yield "nobody declared how the model was trained"


def _asked(subjects: np.ndarray, members: np.ndarray, most: int, data: Data) -> np.ndarray:
    """Whom the budget allows to ask about, ascending: the same for every seed, and more of them for a larger one.

    Raises:
        InputError: not one member and one non-member among them.
    """
    if len(subjects) > most:
        drawn = np.random.default_rng(branch(np.random.SeedSequence(0), "service", len(members))).permutation(
            subjects
        )
        subjects = np.sort(drawn[:most])
    inside = members[subjects]
    if not len(subjects) or inside.all() or not inside.any():
        raise InputError(
            f"the budget allows to ask about {len(subjects)} nodes, which are not members and non-members: raise it"
        )
    return subjects


def _requests(data: Data, nodes: np.ndarray, batch: int, query: str) -> Iterator[tuple[np.ndarray, bytes]]:
    """Nodes of each request, and its body."""
    x, edges = data.x, data.edge_index
    whole = f'"x": {json.dumps(_plain(x))}, "edge_index": {json.dumps(edges.tolist())}' if query == "full" else ""
    for start in range(0, len(nodes), batch):
        part = nodes[start : start + batch]
        if query == "full":
            yield part, f'{{{whole}, "nodes": {json.dumps(part.tolist())}}}'.encode()
        else:
            alone = {
                "x": _plain(x[torch.from_numpy(part)]),
                "edge_index": [[], []],
                "nodes": list(range(len(part))),
            }
            yield part, json.dumps(alone).encode()


def _plain(x: Tensor) -> list[list[float]]:
    dense = x.to_dense() if x.layout != torch.strided else x
    plain: list[list[float]] = dense.tolist()
    return plain


class KeptAnswers:
    """Answers of one service about one graph, in a transcript whose name tells both."""

    def __init__(self, folder: Path, url: str, data: Data) -> None:
        known = hashlib.sha256(url.encode())
        for part in (data.x, data.edge_index):
            dense = part.to_dense() if part.layout != torch.strided else part
            known.update(f"{dense.dtype} {tuple(dense.shape)}".encode() + dense.contiguous().numpy().tobytes())
        self.path, self.nodes = folder / f"{known.hexdigest()[:16]}.safetensors", int(data.num_nodes or 0)

    def load(self, classes: int) -> dict[str, dict[int, np.ndarray]]:
        """By query and node; nothing where nothing is kept."""
        if not self.path.is_file():
            return {}
        found: dict[str, dict[int, np.ndarray]] = {}
        queries = {posteriors_kind(query): query for query in QUERY_NAMES.values()}
        for message in Transcript.load(self.path).messages:
            nodes, told = message.tensors.get("nodes"), message.tensors.get("posteriors")
            if message.kind not in queries or nodes is None or told is None or told.shape != (len(nodes), classes):
                raise InputError(f"{self.path}: holds no answers [nodes, {classes}]: delete it to ask again")
            checked = checked_posteriors(told.double().numpy(), str(self.path))
            found[queries[message.kind]] = dict(zip(nodes.tolist(), checked, strict=True))
        return found

    def make_room(self) -> None:
        """Sees to it, before anybody is asked, that answers can be kept."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot keep answers in {self.path.parent}: {error.strerror or error}") from error
        check_outputs([self.path])

    def leave(self) -> None:
        """Takes the folder away again if nothing is in it."""
        with suppress(OSError):
            self.path.parent.rmdir()

    def save(self, known: dict[str, dict[int, np.ndarray]]) -> None:
        """Keeps all of them, in the place of what was kept before."""
        channel = Channel()
        for query, held in known.items():
            if held:
                tensors = {
                    "nodes": torch.tensor(list(held)),
                    "posteriors": torch.from_numpy(np.stack(list(held.values()))),
                }
                channel.send(posteriors_kind(query), "server", "public", 0, tensors)
        channel.transcript.save(self.path)
