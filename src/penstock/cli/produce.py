"""The verb `produce`: a file or a stream's rows replayed into a Kafka topic at a chosen rate."""

from __future__ import annotations

import csv
import itertools
import json
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import LogJson, Set, State, Verbose, opened, option
from penstock.errors import AppFault, NameFault, OptionFault

_STREAM_ROWS = 1000


class RecordFormat(StrEnum):
    """What the rows of a csv file are sent as."""

    csv = "csv"
    json = "json"


File = Annotated[Path | None, typer.Argument(metavar="FILE", help="A file to replay; without it, --app and --stream.", show_default=False)]
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
    """
    if file is not None and app is None and stream is None:
        if key is not None and file.suffix == ".csv" and format is RecordFormat.csv:
            raise OptionFault("a csv line has no column names, so it can have no --key", hint="send it with --format json")
        _send(itertools.islice(records(file, format), rows), servers, topic, rate, key, partitions)
    elif file is None and app is not None and stream is not None:
        with opened(app, state, settings, log_json, verbose) as engine:
            if stream not in engine.declared.streams:
                raise NameFault(f"the app has no stream `{stream}`", hint=f"it has: {', '.join(engine.declared.streams) or 'none'}")
            lines = (line.encode() for line in engine.peek(stream, rows or _STREAM_ROWS).lines)
            _send(lines, servers, topic, rate, key, partitions)
    else:
        raise OptionFault("produce wants either a file, or --app and --stream", hint="e.g. penstock produce clicks.json --topic clicks")


def _send(lines: Iterator[bytes], servers: str, topic: str, rate: float | None, key: str | None, partitions: int | None) -> None:
    from penstock.spark.produce import json_key
    from penstock.spark.produce import produce as send

    def report(sent: int) -> None:
        if sys.stderr.isatty():
            typer.echo(f"\rsent {sent:,} rows", err=True, nl=False)

    sent = send(lines, servers, topic, rate, json_key(key) if key else None, report, partitions)
    typer.echo(f"{chr(13) if sys.stderr.isatty() else ''}sent {sent:,} rows to {topic}", err=True)


def records(file: Path, format: RecordFormat) -> Iterator[bytes]:
    """The records of a file as they are sent, without their line ends."""
    from penstock.spark.produce import file_records

    if file.suffix != ".csv" or format is RecordFormat.csv:
        return file_records(file)
    return _objects(file)


def _objects(file: Path) -> Iterator[bytes]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as read:
            yield from (json.dumps(row, ensure_ascii=False).encode() for row in csv.DictReader(read))
    except (OSError, UnicodeDecodeError) as error:
        raise AppFault(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from error
