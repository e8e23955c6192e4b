"""The verb `infer`: a declaration for a file, a folder or a topic, from a look at some of its records."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.options import option
from penstock.errors import NameFault, SourceError

if TYPE_CHECKING:
    from penstock.source.infer.propose import Proposal

_RECORDS = 2000
_WAIT_S = 10.0


class Shape(StrEnum):
    """What a file or a record may hold."""

    json = "json"
    csv = "csv"
    parquet = "parquet"
    text = "text"


Place = Annotated[str, typer.Argument(metavar="FILE|FOLDER|TOPIC", help="What to look at; a topic with --servers.", show_default=False)]
Servers = Annotated[str | None, option("--servers", metavar="HOST:PORT", help="Kafka's brokers, with commas: what is named is a topic.")]
Name = Annotated[str | None, option("--name", metavar="NAME", help="The stream's name.  [default: from the file's]")]
Format = Annotated[Shape | None, option("--format", help="What it holds.  [default: as it looks]")]


def infer(place: Place, servers: Servers = None, name: Name = None, format: Format = None) -> None:
    """Propose a CREATE STREAM that reads a file, a folder or a topic.

    Columns, types, delimiter, time formats and event time come from a look at a sample; what was assumed is printed on stderr.
    """
    shape = None if format is None else format.value
    found = _of_topic(place, servers, name, shape) if servers is not None else _of_files(place, name, shape)
    typer.echo(found.sql())
    for note in found.assumed:
        typer.echo(f"assumed: {note}", err=True)


def _of_files(place: str, name: str | None, shape: str | None) -> Proposal:
    from penstock.source.infer.propose import propose_files

    if not Path(place).exists():
        raise NameFault(f"there is no file or folder {place}", hint="for a topic, name the brokers: --servers localhost:9092")
    found = propose_files(Path(place), shape, name)
    if not Path(place).is_absolute():
        typer.echo("assumed: the path is relative to the app's folder", err=True)
    return found


def _of_topic(topic: str, servers: str, name: str | None, shape: str | None) -> Proposal:
    from penstock.schema import Schema
    from penstock.source import SourceSpec
    from penstock.source.infer.propose import propose_sample, stream_name
    from penstock.source.infer.sample import sample_of
    from penstock.source.infer.topic import first_records

    if shape == "parquet":
        raise NameFault("a topic holds no parquet", hint="--format json, csv or text")
    connector = {"connector": "kafka", "servers": servers, "topic": topic}
    spec = SourceSpec(name or stream_name(Path(topic)), connector, Schema(()), Path(), Path())
    records = first_records(spec, _RECORDS, _WAIT_S)
    if not records:
        raise SourceError(f"topic `{topic}` holds no records yet", hint="try again once it does")
    found = propose_sample(spec.name, connector, sample_of(b"\n".join(records)), shape)
    return found.without("header", "multiline")
