"""A second opinion on what a view must hold, so that Spark is not only compared with itself.

Event time is plain Python here: which windows and sessions a row belongs to, how far the watermark of a stream has come,
which rows would come too late. The rest of a query is written once more in DuckDB's SQL, over the same input files.

A DuckDB text may begin with lines that name a table of rows with the window each belongs to, made by the functions below:

    -- windows: w = bids size 20 minutes step 5 minutes offset 0 minutes      (step and offset may be left out)
    -- sessions: s = visits by visitor, page gap 5 minutes                    (by ... may be left out)

Such a table has the columns of its stream and a column `window` with `start` and `end`; a row without event time belongs to
none. `mark('bids')` is the watermark of a stream after all of its rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TypeAlias

import duckdb

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
_DUCKDB_TYPES = {"STRING": "VARCHAR", "INT": "INTEGER"}

Span: TypeAlias = tuple[datetime, datetime]
Assign: TypeAlias = "Callable[[Sequence[Row], Input], list[list[Span]]]"
Row: TypeAlias = dict[str, object]


@dataclass(frozen=True)
class Input:
    """A stream (event time and lateness known, one JSON file per micro-batch) or a table (one CSV file)."""

    name: str
    columns: tuple[tuple[str, str], ...]
    files: tuple[Path, ...]
    event_time: str | None = None
    lateness: timedelta = timedelta()

    @property
    def is_stream(self) -> bool:
        return self.event_time is not None


def duration(text: str) -> timedelta:
    """`10 minutes` or `1 HOUR` as a length of time."""
    number, unit = text.split()
    return timedelta(seconds=int(number) * _UNITS[unit.lower().rstrip("s")])


def windows(at: datetime, size: timedelta, step: timedelta, offset: timedelta) -> list[Span]:
    """Every window [start, end) of the given size that holds `at`; starts lie `step` apart, one of them at epoch + offset."""
    start = at - (at - _EPOCH - offset) % step
    found: list[Span] = []
    while start + size > at:
        found.append((start, start + size))
        start -= step
    return found


def sessions(times: Iterable[datetime], gap: timedelta) -> list[Span]:
    """The sessions of one key. A row extends a session up to, and including, the very end of its gap."""
    found: list[Span] = []
    for at in sorted(times):
        if found and at <= found[-1][1]:
            found[-1] = (found[-1][0], at + gap)
        else:
            found.append((at, at + gap))
    return found


def watermark(times: Iterable[datetime | None], lateness: timedelta) -> datetime:
    """How far event time is known to be complete: the latest time, in whole milliseconds, less the lateness."""
    latest = max((at for at in times if at is not None), default=_EPOCH)
    return latest.replace(microsecond=latest.microsecond // 1000 * 1000) - lateness


def rows_of(path: Path) -> list[Row]:
    """The rows of one JSON-lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def late_rows(stream: Input) -> list[Row]:
    """Rows at or before the watermark of the files before theirs: live would drop them, batch would not."""
    found: list[Row] = []
    mark = _EPOCH
    for path in stream.files:
        rows = rows_of(path)
        times = [_time(row[str(stream.event_time)]) for row in rows]
        found += [row for row, at in zip(rows, times, strict=True) if at is not None and at <= mark]
        mark = max(mark, watermark(times, stream.lateness))
    return found


def answer(inputs: Sequence[Input], sql: str) -> list[str]:
    """The rows of a DuckDB query over the inputs, as Penstock prints rows: one JSON object each."""
    connection = _loaded(tuple(inputs))
    by_name = {entry.name: entry for entry in inputs}
    connection.begin()
    try:
        for name, stream, spans in _directives(sql):
            _add_window_table(connection, name, by_name[stream], spans)
        cursor = connection.execute(sql)
        names = [column[0] for column in cursor.description or ()]
        return [json.dumps(dict(zip(names, map(_plain, row), strict=True)), ensure_ascii=False) for row in cursor.fetchall()]
    finally:
        connection.rollback()


@cache
def _loaded(inputs: tuple[Input, ...]) -> duckdb.DuckDBPyConnection:
    """A database that holds the inputs; each answer works in a transaction that is taken back."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE watermarks (stream VARCHAR, mark TIMESTAMP)")
    connection.execute("CREATE MACRO mark(name) AS (SELECT mark FROM watermarks WHERE stream = name)")
    for entry in inputs:
        columns = ", ".join(f'"{name}" {_duckdb_type(kind)}' for name, kind in entry.columns)
        connection.execute(f"CREATE TABLE {entry.name} ({columns})")
        described = ", ".join(f"'{name}': '{_duckdb_type(kind)}'" for name, kind in entry.columns)
        for path in entry.files:
            reader = (
                f"read_json('{path}', format = 'newline_delimited', columns = {{{described}}})"
                if entry.is_stream
                else f"read_csv('{path}', header = true, columns = {{{described}}})"
            )
            if path.stat().st_size:
                connection.execute(f"INSERT INTO {entry.name} SELECT * FROM {reader}")
        if entry.is_stream:
            times = [_time(row[str(entry.event_time)]) for path in entry.files for row in rows_of(path)]
            connection.execute("INSERT INTO watermarks VALUES (?, ?)", [entry.name, _naive(watermark(times, entry.lateness))])
    return connection


def _directives(sql: str) -> Iterable[tuple[str, str, Assign]]:
    for kind, name, stream, rest in re.findall(r"^-- (windows|sessions): (\w+) = (\w+) (.*)$", sql, flags=re.MULTILINE):
        if kind == "windows":
            lengths = {word: duration(length) for word, length in re.findall(r"(size|step|offset) (\d+ \w+)", rest)}
            size, step, offset = lengths["size"], lengths.get("step", lengths["size"]), lengths.get("offset", timedelta())
            yield name, stream, _sliding(size, step, offset)
        else:
            keys, gap = re.findall(r"(?:by (.*) )?gap (\d+ \w+)", rest)[0]
            yield name, stream, _by_session(tuple(key.strip() for key in keys.split(",") if key), duration(gap))


def _sliding(size: timedelta, step: timedelta, offset: timedelta) -> Assign:
    def spans(rows: Sequence[Row], stream: Input) -> list[list[Span]]:
        times = [_time(row[str(stream.event_time)]) for row in rows]
        return [windows(at, size, step, offset) if at else [] for at in times]

    return spans


def _by_session(keys: tuple[str, ...], gap: timedelta) -> Assign:
    def spans(rows: Sequence[Row], stream: Input) -> list[list[Span]]:
        times = [_time(row[str(stream.event_time)]) for row in rows]
        of_key: dict[tuple[object, ...], list[datetime]] = {}
        for row, at in zip(rows, times, strict=True):
            if at:
                of_key.setdefault(tuple(row[key] for key in keys), []).append(at)
        found = {key: sessions(list_of_times, gap) for key, list_of_times in of_key.items()}
        return [
            [span for span in found[tuple(row[key] for key in keys)] if span[0] <= at < span[1]][-1:] if at else []
            for row, at in zip(rows, times, strict=True)
        ]

    return spans


def _add_window_table(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    stream: Input,
    spans: Assign,
) -> None:
    """The stream's rows beside their windows: found by position, so that exact duplicates stay two rows."""
    rows = [row for path in stream.files for row in rows_of(path)]
    pairs = [(place, start, end) for place, found in enumerate(spans(rows, stream)) for start, end in found]
    values = ", ".join(f"({place}, {{'start': TIMESTAMP '{_naive(start)}', 'end': TIMESTAMP '{_naive(end)}'}})" for place, start, end in pairs)
    connection.execute(f'CREATE TABLE {name}_spans AS SELECT * FROM (VALUES {values}) v(place, "window")')
    connection.execute(f'CREATE TABLE {name} AS SELECT r.*, s."window" FROM {stream.name} r JOIN {name}_spans s ON r.rowid = s.place')


def _duckdb_type(spark: str) -> str:
    text = spark.strip()
    nested = re.fullmatch(r"(ARRAY|MAP|STRUCT)<(.*)>", text)
    if nested is None:
        return _DUCKDB_TYPES.get(text, text)
    if nested[1] == "ARRAY":
        return f"{_duckdb_type(nested[2])}[]"
    parts = nested[2].split(",")
    if nested[1] == "MAP":
        return f"MAP({', '.join(map(_duckdb_type, parts))})"
    fields = (part.split(":") for part in parts)
    return f"STRUCT({', '.join(f'{name.strip()} {_duckdb_type(kind)}' for name, kind in fields)})"


def _time(value: object) -> datetime | None:
    return datetime.fromisoformat(str(value)) if value is not None else None


def _naive(at: datetime) -> datetime:
    """DuckDB's TIMESTAMP has no zone; all of ours are UTC."""
    return at.astimezone(UTC).replace(tzinfo=None)


def _plain(value: object) -> object:
    """A value as Penstock prints it: times in ISO 8601 with Z, decimals as text, structs as objects."""
    if isinstance(value, datetime):
        text = value.isoformat()
        return (text.rstrip("0") if "." in text else text) + "Z"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value
