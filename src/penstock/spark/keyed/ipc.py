"""Arrow tables as bytes: how the rows of a bucket travel, and how its state is kept."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa


def to_bytes(table: pa.Table) -> bytes:
    """The table, its columns included, as one value."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue().to_pybytes())


def from_bytes(value: bytes) -> pa.Table:
    """What `to_bytes` was given."""
    return pa.ipc.open_stream(value).read_all()


def joined(values: Iterable[bytes], otherwise: pa.Table | None) -> pa.Table | None:
    """Several tables of the same columns as one; `otherwise` stands before them, and alone where none has rows."""
    found = [table for table in map(from_bytes, values) if table.num_rows]
    if otherwise is not None and (otherwise.num_rows or not found):
        found.insert(0, otherwise)
    return pa.concat_tables(found) if found else None
