"""The verb `produce`: a file or a stream's rows replayed into a Kafka topic at a chosen rate."""

from __future__ import annotations

import csv
import difflib
import itertools
import json
import re
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import LogJson, Set, State, Verbose, opened, option
from penstock.errors import AppFault, NameFault, OptionFault, Where
from penstock.schema import Column, Schema

_STREAM_ROWS = 1000
_LOOKED_AT = 100
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")  # as JSON writes it


class RecordFormat(StrEnum):
    """What the rows of a csv file are sent as."""

    csv = "csv"
    json = "json"


File = Annotated[
    Path | None, typer.Argument(metavar="FILE", help="A file to replay; without it, the rows of --app and --stream.", show_default=False)
]
AppOption = Annotated[Path | None, option("--app", metavar="APP", help="The app that declares the stream.")]
Stream = Annotated[str | None, option("--stream", metavar="NAME", help="A stream of the app; its rows are sent as JSON.")]
Topic = Annotated[str, option("--topic", metavar="TOPIC", help="The topic to write to.")]
Servers = Annotated[str, typer.Option("--servers", metavar="HOST:PORT", help="The brokers, with commas.")]
Rate = Annotated[float | None, option("--rate", metavar="N", help="Rows per second.  [default: as fast as possible]", min=0.001)]
Key = Annotated[str | None, option("--key", metavar="COLUMN", help="The column whose value is the record's key.")]
Rows = Annotated[
    int | None, option("--rows", metavar="N", help=f"So many rows at most.  [default: all of a file, {_STREAM_ROWS} of a stream]", min=1)
]
Format = Annotated[RecordFormat, typer.Option("--format", help="What rows of a csv file are sent as: csv lines, or JSON objects by its header.")]
Partitions = Annotated[int | None, option("--partitions", metavar="N", help="Make the topic with so many partitions if it is absent.", min=1)]


def produce(
    topic: Topic,
    file: File = None,
    app: AppOption = None,
    stream: Stream = None,
    servers: Servers = "localhost:9092",
    rate: Rate = None,
    key: Key = None,
    rows: Rows = None,
    format: Format = RecordFormat.csv,
    partitions: Partitions = None,
    state: State = None,
    settings: Set = None,
    log_json: LogJson = False,
    verbose: Verbose = False,
) -> None:
    """Replay a file or a stream into a Kafka topic.

    Lines of json and text files are sent as they are, even broken ones. A file may be sent again: it is added to the topic once more.
    With a file, --app and --stream say of which types the columns of a csv file are: --format json then sends numbers as numbers and empty
    fields as null. Without them every value of a csv file is text. As JSON, fields that a row lacks are null, and a row with more than the
    header is an error.
    """
    if (app is None) != (stream is None) or (file is None and app is None):
        raise OptionFault("produce wants a file, or --app and --stream, or all three", hint="e.g. penstock produce clicks.json --topic clicks")
    if file is not None and key is not None and file.suffix == ".csv" and format is RecordFormat.csv:
        raise OptionFault("a csv line has no column names, so it can have no --key", hint="send it with --format json")
    if file is not None and (not file.exists() or file.is_dir()):
        raise OptionFault(f"there is no file {file}", hint="give the file to replay, or --app and --stream")
    if app is None or stream is None:
        assert file is not None
        _send(itertools.islice(records(file, format), rows), servers, topic, rate, key, partitions)
        return
    with opened(app, state, settings, log_json, verbose) as engine:
        known = engine.stream_named(stream)
        if known is None:
            raise NameFault(f"the app has no stream `{stream}`", hint=f"it has: {', '.join(engine.declared.streams) or 'none'}")
        if file is not None:
            lines: Iterator[bytes] = itertools.islice(records(file, format, engine.declared.streams[known].schema), rows)
        else:
            lines = (line.encode() for line in engine.peek(known, rows or _STREAM_ROWS).lines)
        _send(lines, servers, topic, rate, key, partitions)


def keyed(lines: Iterator[bytes], key: str) -> Iterator[bytes]:
    """The same records; NameFault before any is sent where none of the first ones has the column."""
    first = list(itertools.islice(lines, _LOOKED_AT))
    found: dict[str, None] = {}
    for line in first:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        found.update(dict.fromkeys(record if isinstance(record, dict) else ()))
    if first and key not in found:
        near = difflib.get_close_matches(key, found, n=1)
        listed = f"they have {', '.join(found)}" if found else "they are no JSON objects"
        raise NameFault(f"--key: the records have no column `{key}`", hint=f"did you mean `{near[0]}`?" if near else listed)
    return itertools.chain(first, lines)


def _send(lines: Iterator[bytes], servers: str, topic: str, rate: float | None, key: str | None, partitions: int | None) -> None:
    from penstock.dev.produce import json_key
    from penstock.dev.produce import produce as send

    def report(sent: int) -> None:
        if sys.stderr.isatty():
            typer.echo(f"\rsent {sent:,} rows", err=True, nl=False)

    sent = send(keyed(lines, key) if key else lines, servers, topic, rate, json_key(key) if key else None, report, partitions)
    typer.echo(f"{chr(13) if sys.stderr.isatty() else ''}sent {sent:,} rows to {topic}", err=True)


def records(file: Path, format: RecordFormat, schema: Schema | None = None) -> Iterator[bytes]:
    """The records of a file as they are sent, without their line ends; `schema` says of which types a csv file's values are."""
    from penstock.dev.produce import file_records

    if file.suffix != ".csv" or format is RecordFormat.csv:
        return file_records(file)
    return _objects(file, schema)


def _objects(file: Path, schema: Schema | None) -> Iterator[bytes]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as read:
            rows = csv.DictReader(read)
            names = rows.fieldnames or ()
            twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
            if twice is not None:
                hint = "a JSON object has each name once: name the columns apart, or send csv lines"
                raise AppFault(f"two columns of the header are called `{twice}`", where=Where(str(file), 1), hint=hint)
            for row in rows:
                if None in row:  # the name under which csv puts what the header does not name
                    raise AppFault(f"a row has more fields than the {len(row) - 1} of the header", where=Where(str(file), rows.line_num))
                typed = {name: json.dumps(row[name], ensure_ascii=False) if schema is None else value(row[name], schema.find(name)) for name in row}
                yield ("{" + ", ".join(f"{json.dumps(name, ensure_ascii=False)}: {text}" for name, text in typed.items()) + "}").encode()
    except csv.Error as error:
        raise AppFault(f"this is not csv that can be read: {error}", where=Where(str(file), rows.reader.line_num)) from error
    except (OSError, UnicodeDecodeError) as error:
        raise AppFault(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from error


def value(text: str | None, column: Column | None) -> str:
    """A csv value as JSON text by its declared type; what does not fit stays text, for the stream to call it a dead letter."""
    family = column.family if column is not None else "text"
    if text is None or (text == "" and family != "text"):
        return "null"
    if family == "number" and _NUMBER.fullmatch(text.strip()):
        return text.strip()
    if family == "boolean" and text.strip().lower() in ("true", "false"):
        return text.strip().lower()
    return json.dumps(text, ensure_ascii=False)
