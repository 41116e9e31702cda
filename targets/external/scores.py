"""Scores that another tool made: a table of persons, whether each is a member, and a score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from pydantic import Field

from ...errors import InputError, quoted
from ...graphs.files.digests import digests
from ...graphs.files.table import Table, read_table
from ...graphs.pair_codes import codes
from ...settings import Settings
from ..channel import Channel, Retention
from ..defense import Defense
from ..games.given import GIVEN, GivenGame
from ..games.links import EdgePresence
from ..games.membership import LabelMembership
from ..messages import SCORES_KIND
from ..recording import UNKNOWN
from ..target import Progress, Run, Utility, no_progress
from .answers import posteriors_of
from .brought import Brought

if TYPE_CHECKING:
    from torch_geometric.data import Data

GROUP = "group_"


class ScoresSettings(Settings):
    """Settings of `GivenScores`."""

    file: str = Field(description="the table: .csv, .tsv, .parquet or .npz")
    id: str = Field("id", description="the column that names each person; for pairs id and id2")
    member: str = Field("member", description="the column that says who is a member: 1 or 0")
    score: str = Field("score", description="the column of scores: the higher, the likelier a member")
    run: str = Field("run", description="the column that tells repetitions apart, if there is one")
    blind: str = Field("blind", description="the column of scores made without the release, if there is one")
    stratum: str = Field("stratum", description="a column to compare within: what is public and tells members")
    game: Literal["label-membership", "node-presence", "edge-presence", "auto"] = "auto"
    repetition: int = Field(0, ge=0, description="which of the runs, in the order of their names")


@dataclass(frozen=True)
class ScoreTable:
    """The rows of one table, checked.

    Attributes:
        names: of all persons, in the order of their numbers.
        subjects: numbers of persons, or codes of pairs, of each row [r].
        member: [r] bool.
        score: [r].
        run: the number of the repetition of each row, [r].
        runs: how the repetitions are called.
        more: ``blind``, ``stratum`` and other columns that are there, [r] each.
        pairs: whether rows are about pairs.
    """

    names: tuple[str, ...]
    subjects: np.ndarray
    member: np.ndarray
    score: np.ndarray
    run: np.ndarray
    runs: tuple[str, ...]
    more: dict[str, np.ndarray]
    pairs: bool


class GivenScores(Brought):
    """A table of scores that another tool made: it is judged as gaudit's own attacks are.

    One row a person, with the columns id, member and score; or id, member, label and posteriors p0, p1, ..., which
    are scored by the log-probability of the label (the attack `loss`); or id, id2, member and score of pairs.
    What the attacker knew and which defense was in place the table does not tell.
    """

    name = "scores"
    release = SCORES_KIND
    release_phrase = "what these scores were made of"
    sends = (SCORES_KIND,)
    games = tuple(GIVEN)
    plain = True
    runs_elsewhere = True
    brings_graph = True
    Settings = ScoresSettings
    settings: ScoresSettings

    @classmethod
    def example(cls, data: Data, folder: Path) -> dict[str, Any]:
        rows = [f"{i},{i % 2},{i / 7}" for i in range(40)]
        (folder / "scores.csv").write_text("\n".join(["id,member,score", *rows]), encoding="utf-8")
        return {"file": str(folder / "scores.csv")}

    @cached_property
    def table(self) -> ScoreTable:
        """The table of its settings, read once."""
        return read_scores(self.settings)

    def check(self, data: Data) -> None:
        _game(self.table, self.table.run == self.settings.repetition, self.settings)

    def why_not(self, defense: Defense) -> str | None:
        return None if type(defense) is Defense else "the scores were made already: score what the defense leaves"

    @property
    def graph_name(self) -> str:
        return Path(self.settings.file).name

    def own_graph(self) -> Data:
        """Persons without edges: a table tells of none."""
        from torch_geometric.data import Data

        count = len(self.table.names)
        nobody = torch.zeros(count, dtype=torch.bool)
        data = Data(
            x=torch.ones(count, 1),
            y=torch.zeros(count, dtype=torch.long),
            edge_index=torch.empty((2, 0), dtype=torch.long),
            train_mask=nobody,
            val_mask=nobody.clone(),
            test_mask=~nobody,
        )
        data.plain = True
        data.name = self.graph_name
        return data

    @property
    def repetitions(self) -> int:
        """One for each run of the table."""
        return len(self.table.runs)

    def repetition(self, index: int) -> dict[str, Any]:
        return self.settings.model_copy(update={"repetition": index}).model_dump()

    @property
    def reads(self) -> Mapping[str, str]:
        return digests([self.settings.file])

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        table, s = self.table, self.settings
        rows = table.run == s.repetition
        secrets = _game(table, rows, s)
        channel = Channel(retain=retain)
        tensors = {"subjects": torch.from_numpy(table.subjects[rows]), "score": torch.from_numpy(table.score[rows])}
        channel.send(SCORES_KIND, "server", "public", 0, tensors)
        unmeasured = Utility.of_test(0)
        told = "which defense was in place, and what the attacker knew, is not known"
        return Run(
            channel.transcript,
            {secrets.name: secrets},
            (unmeasured,),
            0,
            (told,),
            tested=0,
            in_place=UNKNOWN,
        )


def _game(table: ScoreTable, rows: np.ndarray, s: ScoresSettings) -> GivenGame:
    """The truth of one run."""
    name = (EdgePresence.name if table.pairs else LabelMembership.name) if s.game == "auto" else s.game
    if (name == EdgePresence.name) != table.pairs:
        asked, told = ("nodes", "pairs") if table.pairs else ("pairs", "nodes")
        raise InputError(f"{s.file}: the game {name} is about {asked}, and its rows are about {told}")
    more = {column: values[rows] for column, values in table.more.items()}
    blind, stratum = more.pop(s.blind, None), more.pop(s.stratum, None)
    return GIVEN[name](
        subjects=table.subjects[rows],
        truth=table.member[rows],
        blind=blind,
        stratum=None if stratum is None else _numbered(stratum),
        columns={name[len(GROUP) :]: values for name, values in more.items()},
        table=len(table.names),
    )


def read_scores(s: ScoresSettings) -> ScoreTable:
    """The table of some settings.

    Raises:
        InputError: a column is missing, a row holds no number, names nobody or somebody twice within a run, or all
            rows of a run are members, or none is.
    """
    table = read_table(s.file)
    table.require([s.id, s.member, *_asked_for(s)])
    pairs = "id2" in table
    firsts, seconds = table.text(s.id), table.text("id2") if pairs else None
    names = np.unique(firsts if seconds is None else np.concatenate([firsts, seconds]))
    subjects = np.searchsorted(names, firsts)
    if seconds is not None:
        subjects = _pairs(table, subjects, np.searchsorted(names, seconds), len(names))
    member = table.flags(s.member)
    score = table.numbers(s.score) if s.score in table else _log_probability(table, s)
    called = table.text(s.run) if s.run in table else np.zeros(len(table), dtype=np.str_)
    runs, run = _in_order(np.unique(called)), _numbered(called)
    groups = [name for name in table.columns if name.lower().startswith(GROUP)]
    more: dict[str, np.ndarray] = {name: table.text(name) for name in groups}
    if s.blind in table:
        more[s.blind] = table.numbers(s.blind)
    if s.stratum in table:
        more[s.stratum] = table.text(s.stratum)
    _check_runs(table, subjects, member, run, runs)
    return ScoreTable(tuple(names.tolist()), subjects, member, score, run, tuple(runs), more, pairs)


def _asked_for(s: ScoresSettings) -> list[str]:
    """Columns that somebody named: they must be there, while those called as usual may be left out."""
    fields = ScoresSettings.model_fields
    named = {name: getattr(s, name) for name in ("score", "run", "blind", "stratum")}
    return [column for name, column in named.items() if column != fields[name].default]


def _numbered(names: np.ndarray) -> np.ndarray:
    """The place of each name [r] in their order."""
    order = _in_order(np.unique(names))
    return np.array([order.index(name) for name in names.tolist()], dtype=np.int64)


def _in_order(names: np.ndarray) -> list[str]:
    """Names of runs or strata; those that are numbers in the order of the numbers."""
    return sorted(names.tolist(), key=lambda name: (0, int(name), "") if name.isdecimal() else (1, 0, name))


def _pairs(table: Table, low: np.ndarray, high: np.ndarray, nodes: int) -> np.ndarray:
    same = low == high
    if same.any():
        raise InputError(f"{table.source}: row {int(same.argmax()) + 1} is a pair of one node with itself")
    found: np.ndarray = codes(low, high, nodes)
    return found


def _log_probability(table: Table, s: ScoresSettings) -> np.ndarray:
    """The score of posteriors: log p(label), as the attack `loss` has it (Yeom et al. 2018)."""
    if "label" not in table:
        there = ", ".join(list(table.columns)[:30])
        raise InputError(
            f"{table.source}: the column '{s.score}' is missing: its columns are {there}; posteriors p0, p1, ... "
            "need a column 'label' beside them"
        )
    told, labels = posteriors_of(table), table.numbers("label")
    wrong = (labels != np.round(labels)) | (labels < 0) | (labels >= told.shape[1])
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(
            f"{table.source}: row {row + 1} has the label {labels[row]:g}: expected 0 to {told.shape[1] - 1}"
        )
    found: np.ndarray = np.log(told[np.arange(len(told)), labels.astype(int)].clip(1e-30))
    return found


def _check_runs(table: Table, subjects: np.ndarray, member: np.ndarray, run: np.ndarray, runs: list[str]) -> None:
    """Each person once in a run, and some of both kinds in each."""
    for number, called in enumerate(runs):
        rows = np.flatnonzero(run == number)
        _, first = np.unique(subjects[rows], return_index=True)
        where = f" of run {quoted(called)}" if len(runs) > 1 else ""
        if len(first) != len(rows):
            row = int(rows[np.setdiff1d(np.arange(len(rows)), first)[0]])
            raise InputError(
                f"{table.source}: row {row + 1}{where} names somebody again: give a column 'run' where there are "
                "several runs"
            )
        inside = member[rows]
        if inside.all() or not inside.any():
            kind = "members" if inside.all() else "non-members"
            raise InputError(f"{table.source}: all {len(rows)} rows{where} are {kind}: both are needed")
