"""Rows of JSON as the bytes of one file: json lines, csv or parquet."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence

from penstock.schema import Schema

Encode = Callable[[Schema, Sequence[str], Sequence[str] | None], bytes]


def json_bytes(schema: Schema, rows: Sequence[str], ops: Sequence[str] | None) -> bytes:
    """The rows as they are, one per line."""
    lines = rows if ops is None else [f'{{"_op":"{op}"{"," if len(row) > 2 else ""}{row[1:]}' for op, row in zip(ops, rows, strict=True)]
    return "".join(f"{line}\n" for line in lines).encode()


def csv_bytes(schema: Schema, rows: Sequence[str], ops: Sequence[str] | None) -> bytes:
    """A header, then the rows; null is nothing at all and an empty text is `""`, nested values are JSON."""
    out = io.StringIO()
    out.write(",".join(_field(name) for name in (*(("_op",) if ops is not None else ()), *schema.names)) + "\n")
    for number, row in enumerate(rows):
        values = json.loads(row)
        cells = [_field(values.get(name)) for name in schema.names]
        out.write(",".join(cells if ops is None else [ops[number], *cells]) + "\n")
    return out.getvalue().encode()


def parquet_bytes(schema: Schema, rows: Sequence[str], ops: Sequence[str] | None) -> bytes:
    """The rows with the view's own types."""
    import pyarrow.parquet as pq

    from penstock.sink.arrow_rows import arrow_table

    out = io.BytesIO()
    pq.write_table(arrow_table(schema, rows, ops), out, compression="zstd")
    return out.getvalue()


ENCODERS: Mapping[str, Encode] = {"json": json_bytes, "csv": csv_bytes, "parquet": parquet_bytes}


def _field(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if text == "" or any(mark in text for mark in ',"\n\r') or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text
