"""The places of input records, in words: topic, partition and offset; file and line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from penstock.spark.run.dead.letters import with_lines

Record = tuple[str, bytes]


class Origin(NamedTuple):
    """The newest epoch that took part in a row, and the first records behind it."""

    epoch: int
    places: tuple[str, ...]


def origin_of(traced: Any, came: Mapping[Record, list[bytes]]) -> Origin:
    """From the column that came along with a row; `came` are the lines of files from which records were read that have another text here."""
    records = records_of(traced)
    left = {key: list(lines) for key, lines in came.items()}
    texts = [lines.pop() if (lines := left.get(key)) else key[1] for key in records]
    return Origin(int(traced.epoch), in_words([position for position, _ in records], texts))


def records_of(traced: Any) -> list[Record]:
    """The position and the text of every record behind a row."""
    return [(str(part.at), bytes(part.record or b"")) for part in traced.positions if part.at]


def in_words(positions: Sequence[str | None], records: Sequence[bytes]) -> tuple[str, ...]:
    """Each position for people; of a file the line is looked up by the record."""
    known = [(position, record) for position, record in zip(positions, records, strict=True) if position]
    traced = with_lines([position for position, _ in known], [record for _, record in known])
    return tuple(dict.fromkeys(_words(json.loads(position)) for position in traced))


def _words(place: dict[str, Any]) -> str:
    if "topic" in place:
        return f"topic {place['topic']} partition {place['partition']} offset {place['offset']}"
    if "file" in place:
        line = place.get("line")
        return str(place["file"]) + ("" if line is None else f" line {line}")
    return ", ".join(f"{name} {value}" for name, value in place.items())
