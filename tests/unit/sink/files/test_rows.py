"""Rows as files: nothing of a row may be lost in any format."""

from __future__ import annotations

import csv
import io
import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow.parquet as pq

from penstock.schema import columns
from penstock.sink.files.rows import csv_bytes, json_bytes, parquet_bytes

DDL = (
    "t string, i int, l bigint, d decimal(20,2), f double, ok boolean, b binary, day date, at timestamp, local timestamp_ntz, "
    "w struct<`Start`: timestamp, n: decimal(5,1)>, tags array<string>, m map<int, double>, v variant, every interval day to second"
)
SCHEMA = columns(DDL)
FULL = json.dumps(
    {
        "t": 'O\'Hara said "hi",\n東京 🚀',
        "i": -5,
        "l": 9007199254740993,
        "d": "123456789012345678.90",
        "f": 0.1,
        "ok": True,
        "b": "AP8n",
        "day": "2024-02-29",
        "at": "2024-02-29T23:59:59.123456Z",
        "local": "2024-02-29T23:59:59",
        "w": {"Start": "2024-01-01T00:00:00Z", "n": "1.5"},
        "tags": ["a", None, ""],
        "m": {"1": "NaN", "2": None},
        "v": {"any": [1, 2.5]},
        "every": "INTERVAL '1 02:00:00' DAY TO SECOND",
    },
    ensure_ascii=False,
)
EMPTY = json.dumps(dict.fromkeys(SCHEMA.names))
ODD = json.dumps({**dict.fromkeys(SCHEMA.names), "f": "-Infinity", "t": "", "tags": [], "m": {}, "w": {"Start": None, "n": None}})


def test_parquet_has_the_types_of_the_view() -> None:
    full, empty, odd = pq.read_table(io.BytesIO(parquet_bytes(SCHEMA, [FULL, EMPTY, ODD], None))).to_pylist()
    nan = full["m"][0][1]
    assert math.isnan(nan)
    assert full == {
        "t": 'O\'Hara said "hi",\n東京 🚀',
        "i": -5,
        "l": 9007199254740993,
        "d": Decimal("123456789012345678.90"),
        "f": 0.1,
        "ok": True,
        "b": b"\x00\xff'",
        "day": date(2024, 2, 29),
        "at": datetime(2024, 2, 29, 23, 59, 59, 123456, UTC),
        "local": datetime(2024, 2, 29, 23, 59, 59),  # noqa: DTZ001  # a time without a zone is what the type says
        "w": {"Start": datetime(2024, 1, 1, tzinfo=UTC), "n": Decimal("1.5")},
        "tags": ["a", None, ""],
        "m": [(1, nan), (2, None)],
        "v": '{"any": [1, 2.5]}',
        "every": "INTERVAL '1 02:00:00' DAY TO SECOND",
    }
    assert empty == dict.fromkeys(SCHEMA.names)
    assert (odd["f"], odd["t"], odd["tags"], odd["m"], odd["w"]) == (-math.inf, "", [], [], {"Start": None, "n": None})


def test_parquet_of_no_rows_still_has_columns() -> None:
    assert pq.read_table(io.BytesIO(parquet_bytes(SCHEMA, [], []))).column_names == ["_op", *SCHEMA.names]


def test_csv_is_read_back_and_null_differs_from_an_empty_text() -> None:
    lines = csv_bytes(SCHEMA, [FULL, EMPTY, ODD], ["+", "-", "+"]).decode()
    header, full, empty, odd = list(csv.reader(io.StringIO(lines)))
    assert header == ["_op", *SCHEMA.names]
    assert full[:8] == ["+", 'O\'Hara said "hi",\n東京 🚀', "-5", "9007199254740993", "123456789012345678.90", "0.1", "true", "AP8n"]
    assert json.loads(full[12]) == ["a", None, ""]
    assert json.loads(full[14]) == {"any": [1, 2.5]}
    assert empty == ["-"] + [""] * len(SCHEMA)
    assert odd[1] == ""
    assert lines.splitlines()[-1].startswith('+,"",')


def test_json_is_the_row_itself() -> None:
    assert json_bytes(SCHEMA, [FULL, EMPTY], None).decode() == f"{FULL}\n{EMPTY}\n"
    first, second = json_bytes(SCHEMA, [FULL, "{}"], ["+", "-"]).decode().splitlines()
    assert json.loads(first) == {"_op": "+", **json.loads(FULL)}
    assert json.loads(second) == {"_op": "-"}
