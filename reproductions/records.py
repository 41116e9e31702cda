"""Numbers that were measured: one line of JSON for each trial, packaged beside the plan file."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..errors import InputError
from ..untrusted import json_of, read_text

LARGEST = 2**25
"""Bytes of a file of records."""
At = int | float | str | None


@dataclass(frozen=True)
class Record:
    """What one trial measured.

    Attributes:
        dataset: its graph.
        row: its row.
        seed: its repetition.
        at: its place of the axis; None without one, and where one run gives all places.
        values: by the key of a measure; along an axis of rounds by the round too. Shares of one are no percents.
        tried: settings of which validation chooses.
        validation: accuracy on validation nodes; None where nothing selects.
        seconds: CPU seconds.
        refused: why it could not run, or nothing.
        quick: whether it was a short run, whose numbers are no reproduction.
        made_by: version of gaudit and date of the measurement.
    """

    dataset: str
    row: str
    seed: int
    at: At = None
    values: Mapping[str, float | dict[str, float]] = field(default_factory=dict)
    tried: dict[str, Any] = field(default_factory=dict)
    validation: float | None = None
    seconds: float = 0.0
    refused: str = ""
    quick: bool = False
    made_by: str = ""

    @property
    def name(self) -> tuple[str, str, At, str, int, bool]:
        """What tells it from all others of its table."""
        return self.dataset, self.row, self.at, repr(sorted(self.tried.items())), self.seed, self.quick


def read_records(file: Path) -> list[Record]:
    """All records of a file, or none where there is no file; of two with one name the later counts.

    Raises:
        InputError: a line is no record.
    """
    if not file.exists():
        return []
    reader, found = TypeAdapter(Record), dict[Any, Record]()
    for number, line in enumerate(read_text(file, "records", LARGEST).splitlines(), 1):
        try:
            one = reader.validate_python(json_of(line))
        except (ValueError, ValidationError) as error:
            raise InputError(f"{file}, line {number} is no record of a trial: remove it") from error
        found[one.name] = one
    return list(found.values())


def add_records(file: Path, records: Iterable[Record]) -> None:
    """Adds lines to a file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as out:
        out.writelines(_line(record) + "\n" for record in records)


def _line(record: Record) -> str:
    content = asdict(record)
    content["values"] = {key: _rounded(value) for key, value in record.values.items()}
    content |= {"seconds": round(record.seconds, 1), "validation": _rounded(record.validation)}
    there = {key: value for key, value in content.items() if value is not None and value is not False}
    return json.dumps({key: value for key, value in there.items() if value not in ("", {})})


def _rounded(value: Any) -> Any:
    """Six digits: finer than any interval."""
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    return None if value is None else round(value, 6)
