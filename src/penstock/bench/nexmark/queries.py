"""The 23 queries as files: `queries/q4.sql` is one view, `streams.sql` declares what they read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).parent
NAMES = tuple(f"q{number}" for number in range(23))


def statement(name: str) -> str:
    """The CREATE MATERIALIZED VIEW of one query, with its comment."""
    return (HERE / "queries" / f"{name}.sql").read_text(encoding="utf-8")


def app(data: Path, names: Iterable[str]) -> str:
    """An app over the streams in `data` with the views `names`."""
    streams = (HERE / "streams.sql").read_text(encoding="utf-8").replace("{data}", str(data))
    return "\n".join([streams, *map(statement, names)])
