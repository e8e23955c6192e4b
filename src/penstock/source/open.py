"""Choosing the connector that a stream or table names."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame, SparkSession

from penstock.errors import OptionFault
from penstock.formats import file_options, holds_documents, reader_options
from penstock.option import STREAM, TABLE
from penstock.source import Source, SourceSpec, Span
from penstock.source.files.source import Files
from penstock.source.files.tail import Tail
from penstock.source.generator import Generator
from penstock.source.http import Http
from penstock.source.kafka.source import Kafka
from penstock.source.options import CONNECTORS_OF, option_value
from penstock.source.postgres import table_rows
from penstock.source.socket import Socket

_SOURCES: Mapping[str, Callable[[SourceSpec], Source]] = {"kafka": Kafka, "files": Files, "socket": Socket, "http": Http, "generator": Generator}


def open_source(spec: SourceSpec) -> Source:
    """The source behind a stream whose options were checked."""
    connector = spec.options["connector"]
    if connector == "files" and option_value(spec.options, "files", "tail") == "true":
        return Tail(spec)
    if connector not in _SOURCES:
        raise OptionFault(f"stream `{spec.name}`: no connector `{connector}` for a stream", hint=f"one of: {', '.join(CONNECTORS_OF[STREAM])}")
    return _SOURCES[connector](spec)


def table_frame(spark: SparkSession, spec: SourceSpec) -> DataFrame:
    """The rows of a table as they are now, with the declared columns or, where none are declared, those that are found.

    Where columns are declared for files it is their records instead, each with its `__position`, to be decoded as a stream's are.
    """
    connector = spec.options["connector"]
    if connector == "postgres":
        return table_rows(spark, spec)
    if connector == "generator":
        return Generator(spec).history(spark, Span()).drop("__position")
    if connector == "files":
        return _file_table(spark, spec)
    raise OptionFault(f"table `{spec.name}`: no connector `{connector}` for a table", hint=f"one of: {', '.join(CONNECTORS_OF[TABLE])}")


def _file_table(spark: SparkSession, spec: SourceSpec) -> DataFrame:
    files = Files(spec)
    present = files.present()
    if not present:
        raise OptionFault(f"table `{spec.name}`: there is no file at {spec.options['path']}", hint=f"it was looked for at {files.path}")
    if len(spec.schema):
        return files.history(spark, Span())
    files.check(present)
    shape = option_value(spec.options, "files", "format") or "json"
    header = option_value(spec.options, "files", "header") or "false"
    csv = {"header": header, "inferSchema": "true"} if shape == "csv" else {}
    written = {**reader_options(spec.options), **file_options(spec.options)} if shape in ("csv", "json") else {}
    more_lines = {"multiLine": "true"} if holds_documents(spec.options) else {}
    return spark.read.format(shape).options(**csv, **written, **more_lines).load(files.path)
