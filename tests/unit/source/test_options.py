from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

import pytest

from penstock.errors import OptionFault
from penstock.source.options import CONNECTORS_OF, SOURCE_OPTIONS, check_source_options, option_value

COLUMNS = ("id", "at")


@dataclass(frozen=True)
class Reference:
    name: str


GOOD: dict[str, dict[str, object]] = {
    "kafka": {
        "servers": "h:1",
        "topic": "t",
        "user": "u",
        "password": Reference("pw"),
        "sasl": "PLAIN",
        "start": "2024-05-01T00:00:00Z",
        "max_ahead": "2 hours",
    },
    "files": {"path": "in", "format": "csv", "header": "true", "late": "drop"},
    "socket": {"port": "9", "format": "csv"},
    "generator": {"rows_per_second": "10.5", "skew": "1.1", "disorder": "5 seconds", "start": "2024-01-01", "ID": "concat('x', n)"},
}


@pytest.mark.parametrize("connector", sorted(GOOD))
def test_every_stream_connector_takes_what_it_documents(connector: str) -> None:
    check_source_options("stream", "s", {"connector": connector, **GOOD[connector]}, COLUMNS)


@pytest.mark.parametrize(
    ("kind", "options", "word", "hint"),
    [
        ("stream", {}, "connector", "kafka"),
        ("stream", {"connector": "kafak"}, "kafak", "kafka"),
        ("table", {"connector": "kafka", "servers": "h:1", "topic": "t"}, "kafka", "files"),
        ("stream", {"connector": "files"}, "path", "path"),
        ("stream", {"connector": "files", "path": "x", "fromat": "csv"}, "fromat", "format"),
        ("stream", {"connector": "files", "path": "x", "format": "jsno"}, "format", "json"),
        ("stream", {"connector": "files", "path": "x", "header": "yes"}, "header", ""),
        ("stream", {"connector": "files", "path": "x", "header": "true"}, "header", ""),
        ("stream", {"connector": "files", "path": "x", "format": "text"}, "text", "one column"),
        ("stream", {"connector": "files", "path": "x", "format": "parquet", "tail": "true"}, "parquet", ""),
        ("stream", {"connector": "files", "path": "x", "max_ahead": "soon"}, "max_ahead", ""),
        ("stream", {"connector": "files", "path": "x", "late": "keep"}, "late", "drop"),
        ("stream", {"connector": "files", "path": Reference("x")}, "path", ""),
        ("stream", {"connector": "socket", "port": "-1"}, "port", ""),
        ("stream", {"connector": "socket", "port": "99999"}, "65535", ""),
        ("stream", {"connector": "socket", "port": "0"}, "65535", ""),
        ("stream", {"connector": "generator", "rows_per_second": "0"}, "above 0", "as fast as possible"),
        ("stream", {"connector": "generator", "id": Reference("x")}, "id", "expression"),
        ("stream", {"connector": "kafka", "servers": "h:1", "topic": "t", "start": "noon"}, "start", ""),
        ("stream", {"connector": "kafka", "servers": "h:1", "topic": "t", "user": "u"}, "password", "both"),
        ("stream", {"connector": "generator", "idd": "n"}, "idd", "id"),
        ("table", {"connector": "generator"}, "end", "rows"),
        ("table", {"connector": "files", "path": "x", "tail": "true"}, "tail", ""),
    ],
)
def test_a_wrong_option_is_named_with_what_would_do(kind: str, options: dict[str, object], word: str, hint: str) -> None:
    with pytest.raises(OptionFault) as caught:
        check_source_options(kind, "s", options, COLUMNS)
    assert word in caught.value.message
    assert hint in (caught.value.hint or "")


def test_an_option_that_is_not_given_has_its_default() -> None:
    assert option_value({}, "kafka", "start") == "earliest"
    assert option_value({"start": "latest"}, "kafka", "start") == "latest"


def test_every_connector_of_a_kind_has_options() -> None:
    assert {name for names in CONNECTORS_OF.values() for name in names} == set(SOURCE_OPTIONS)


def test_options_are_known_without_spark() -> None:
    program = "import sys, penstock.source.options; print([m for m in ('pyspark', 'pyarrow', 'pandas', 'numpy') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip() == "[]"
