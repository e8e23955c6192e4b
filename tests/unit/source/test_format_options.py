from __future__ import annotations

import pytest

from penstock.errors import OptionFault
from penstock.formats import as_read, file_options, reader_options
from penstock.schema import Column, Schema
from penstock.source.options import check_source_options

FILES = {"connector": "files", "path": "in", "format": "csv"}


@pytest.mark.parametrize(
    "options",
    [
        {"timestamp_format": "yyyy/MM/dd HH:mm:ss[.SSSSSS]"},
        {"timestamp_format": "yyyy-MM-dd'T'HH:mmXX"},
        {"timestamp_format": "epoch_millis"},
        {"date_format": "dd.MM.yyyy"},
        {"delimiter": "\t"},
        {"delimiter": "\\t"},
        {"delimiter": ";", "quote": "'", "escape": "\\", "null_value": "NA", "decimal": ",", "trim": "true"},
        {"zone": "Europe/Lisbon"},
        {"zone": "+02:00"},
        {"encoding": "windows-1252", "multiline": "true"},
    ],
)
def test_options_of_formats_are_taken(options: dict[str, str]) -> None:
    check_source_options("stream", "s", {**FILES, **options}, ["a"])


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"delimiter": ";;"}, "one character", "delimiter = ';'"),
        ({"timestamp_format": "YYYY-MM-DD HH:mm"}, "`Y` in `timestamp_format`", "did you mean 'yyyy-MM-dd HH:mm'?"),
        ({"timestamp_format": "%d/%m/%Y %H:%M"}, "no pattern of Spark", "did you mean 'dd/MM/yyyy HH:mm'?"),
        ({"timestamp_format": "epoch_milis"}, "cannot be 'epoch_milis'", "did you mean 'epoch_millis'?"),
        ({"timestamp_format": "EEE dd MMM"}, "`E` in", "yyyy year"),
        ({"timestamp_format": "hh:mm"}, "needs `a`", "HH is the hour of 24"),
        ({"timestamp_format": "yyyy'T"}, "not closed", "quotes"),
        ({"timestamp_format": "dd/mm/yyyy"}, "a day and no month", "'dd/MM/yyyy'"),
        ({"date_format": "DD/mm/YYYY"}, "means nothing", "'dd/MM/yyyy'"),
        ({"date_format": "[yyyy"}, "no pattern", "brackets"),
        ({"zone": "Lisbon"}, "no zone 'Lisbon'", "did you mean 'Europe/Lisbon'?"),
        ({"encoding": "latin-1"}, "cannot be 'latin-1'", "utf-8"),
        ({"encoding": "utf-16"}, "multiline = 'true'", "UTF-8"),
        ({"format": "json", "delimiter": ";"}, "belongs to format 'csv'", "leave it out"),
        ({"format": "text", "zone": "UTC"}, "belongs to format 'csv' or 'json'", "leave it out"),
        ({"tail": "true", "multiline": "true"}, "a followed file cannot have `multiline`", "line by line"),
        ({"timestampformat": "x"}, "no option `timestampformat`", "timestamp_format"),
    ],
)
def test_what_means_nothing_is_named_with_what_would_do(options: dict[str, str], message: str, hint: str) -> None:
    with pytest.raises(OptionFault) as raised:
        check_source_options("stream", "s", {**FILES, **options}, ["a"])
    assert message in raised.value.message
    assert hint in (raised.value.hint or "")


def test_a_topic_takes_formats_of_records_but_none_of_files() -> None:
    topic = {"connector": "kafka", "servers": "h:1", "topic": "t", "format": "csv"}
    check_source_options("stream", "s", {**topic, "delimiter": ";", "timestamp_format": "epoch_seconds"}, ["a"])
    with pytest.raises(OptionFault, match="has no option `multiline`"):
        check_source_options("stream", "s", {**topic, "multiline": "true"}, ["a"])


def test_times_as_numbers_are_read_as_numbers_wherever_they_stand() -> None:
    schema = Schema(
        (Column("timestamp", "timestamp"), Column("n", "struct<timestamp:timestamp,a:array<timestamp>>"), Column("m", "map<timestamp,int>"))
    )
    assert [column.type for column in as_read(schema, {"timestamp_format": "epoch_millis"})] == [
        "decimal(18,3)",
        "struct<timestamp:decimal(18,3),a:array<decimal(18,3)>>",
        "map<timestamp,int>",
    ]
    assert as_read(schema, {}) == schema


def test_spark_gets_what_the_options_say() -> None:
    assert reader_options({"format": "csv", "delimiter": "\\t", "decimal": ",", "zone": "UTC"}) == {
        "timeZone": "UTC",
        "sep": "\t",
        "quote": '"',
        "escape": '"',
        "locale": "en-DE",
    }
    assert file_options({"format": "json", "encoding": "iso-8859-1"}) == {"encoding": "iso-8859-1", "lineSep": "\n"}


def test_an_encoding_is_taken_wherever_records_can_be_told_apart() -> None:
    kafka, socket = {"connector": "kafka", "servers": "localhost:9092", "topic": "t"}, {"connector": "socket", "port": "9999"}
    for coded in ("windows-1252", "utf-16"):
        check_source_options("stream", "s", {**kafka, "encoding": coded}, ["a"])
    check_source_options("stream", "s", {**socket, "encoding": "windows-1252"}, ["a"])
    with pytest.raises(OptionFault, match="cannot be separated"):
        check_source_options("stream", "s", {**socket, "encoding": "utf-16"}, ["a"])
