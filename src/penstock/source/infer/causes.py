"""What a declaration that reads nothing most likely lacks: found by looking at its records as if there were none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from penstock.errors import PenstockError
from penstock.source import SourceSpec
from penstock.source.infer.propose import Proposal, differences, propose_files, propose_sample, sql_text
from penstock.source.infer.sample import sample_of

_TIMES = {"timestamp_format": "timestamp", "date_format": "date"}
_OF_FILES = ("header", "multiline")


def remedy(spec: SourceSpec, records: Sequence[bytes], file: str | None) -> str:
    """What to do, in one sentence: the options that would read the records, where the look at them shows."""
    connector = spec.options.get("connector", "files")
    try:
        found = propose_files(Path(file)) if file is not None and connector == "files" else _of_records(records)
    except (PenstockError, OSError):
        return "change its declaration so that it fits"
    lacking = [(name, value) for name, value in differences(found, spec.options) if _concerns(spec, name)]
    if connector != "files":
        lacking = [(name, value) for name, value in lacking if name not in _OF_FILES]
    where = f"; `penstock infer {file}` proposes a whole declaration" if file is not None else ""
    if lacking:
        return f"its records look as if it needs {', '.join(f'{name} = {sql_text(value)}' for name, value in lacking)}{where}"
    return f"{_types(spec, found)}{where}"


def _of_records(records: Sequence[bytes]) -> Proposal:
    return propose_sample("records", {}, sample_of(b"\n".join(records)))


def _concerns(spec: SourceSpec, name: str) -> bool:
    """Whether the declaration has columns to which an option for times or dates matters."""
    wanted = _TIMES.get(name)
    return wanted is None or any(column.type.startswith(wanted) for column in spec.schema)


def _types(spec: SourceSpec, found: Proposal) -> str:
    by_name = {name.lower(): kind for name, kind in found.columns}
    known = [column for column in spec.schema if column.name.lower() in by_name]
    if not known:
        return f"its records hold other columns: {', '.join(name for name, _ in found.columns[:10])}"
    other = [f"{column.name} {by_name[column.name.lower()]}" for column in known if not _same(column.type, by_name[column.name.lower()])]
    return f"its records look as if they were {', '.join(other[:5])}" if other else "change the types of its columns so that they fit"


def _same(declared: str, seen: str) -> bool:
    numbers = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
    return declared.lower() == seen.lower() or (declared.startswith(numbers) and seen.lower().startswith(numbers)) or declared == "string"
