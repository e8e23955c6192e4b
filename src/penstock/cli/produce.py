"""The verb `produce`: a file or a stream's rows replayed into a Kafka topic at a chosen rate."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import LogJson, Set, State, Verbose, opened, option
from penstock.errors import AppFault, NameFault, OptionFault

_STREAM_ROWS = 1000


class FileFormat(StrEnum):
    """What `produce` reads."""

    json = "json"
    csv = "csv"
    text = "text"


_BY_ENDING = {".csv": FileFormat.csv, ".json": FileFormat.json, ".jsonl": FileFormat.json, ".ndjson": FileFormat.json}

File = Annotated[Path | None, typer.Argument(metavar="FILE", help="A file to replay; without it, --app and --stream.", show_default=False)]
AppOption = Annotated[Path | None, option("--app", metavar="APP", help="The app that declares the stream.")]
Stream = Annotated[str | None, option("--stream", metavar="NAME", help="A stream of the app; its rows are sent as JSON.")]
Topic = Annotated[str, option("--topic", metavar="TOPIC", help="The topic to write to.")]
Servers = Annotated[str, typer.Option("--servers", metavar="HOST:PORT", help="The brokers, with commas.")]
Rate = Annotated[float | None, option("--rate", metavar="N", help="Rows per second.  [default: as fast as possible]", min=0.001)]
Key = Annotated[str | None, option("--key", metavar="COLUMN", help="The column whose value is the record's key.")]
Rows = Annotated[int | None, option("--rows", metavar="N", help=f"So many rows at most.  [default: all of a file, {_STREAM_ROWS} of a stream]", min=1)]
Format = Annotated[FileFormat | None, option("--format", help="What the file holds.  [default: by its ending]")]


def produce(
    topic: Topic,
    file: File = None,
    app: AppOption = None,
    stream: Stream = None,
    servers: Servers = "localhost:9092",
    rate: Rate = None,
    key: Key = None,
    rows: Rows = None,
    format: Format = None,
    state: State = None,
    settings: Set = None,
    log_json: LogJson = False,
    verbose: Verbose = False,
) -> None:
    """Replay a file or a stream into a Kafka topic.

    Lines of json and text files are sent as they are, even broken ones; rows of a csv file become JSON objects by its header.
    """
    if file is not None and app is None and stream is None:
        _send(itertools.islice(records(file, format), rows), servers, topic, rate, key)
    elif file is None and app is not None and stream is not None:
        with opened(app, state, settings, log_json, verbose) as engine:
            if stream not in engine.declared.streams:
                raise NameFault(f"the app has no stream `{stream}`", hint=f"it has: {', '.join(engine.declared.streams) or 'none'}")
            _send(engine.peek(stream, rows or _STREAM_ROWS).lines, servers, topic, rate, key)
    else:
        raise OptionFault("produce wants either a file, or --app and --stream", hint="e.g. penstock produce clicks.json --topic clicks")


def _send(lines: Iterator[str], servers: str, topic: str, rate: float | None, key: str | None) -> None:
    from penstock.spark.produce import produce as send

    sent = send(lines, servers, topic, rate=rate, key=key, report=lambda message: typer.echo(message, err=True))
    typer.echo(f"sent {sent:,} rows to {topic}", err=True)


def records(file: Path, format: FileFormat | None) -> Iterator[str]:
    """The records of a file as they are sent, without their line ends."""
    wanted = format or _BY_ENDING.get(file.suffix.lower(), FileFormat.text)
    try:
        with file.open(encoding="utf-8", newline="") as read:
            if wanted is FileFormat.csv:
                yield from (json.dumps(row, ensure_ascii=False) for row in csv.DictReader(read))
            else:
                yield from (line.rstrip("\r\n") for line in read if line.strip())
    except (OSError, UnicodeDecodeError) as error:
        raise AppFault(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from error
