"""Records of JSON: found in a text, and the types that fit all of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.source.infer.sample import Sample
from penstock.source.infer.types import Kind, epoch_kind, epoch_of_texts, times_kind

_RECORDS_MAX = 20_000
_BETWEEN = re.compile(r"[\s,]*")
_BIGINT = 2**63
_KEYS_MAX = 200
_PLAIN = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class JsonRecords:
    """`documents`: a file is one text of many lines, not one record in each."""

    records: tuple[dict[str, Any], ...]
    documents: bool


def json_records(sample: Sample) -> JsonRecords | None:
    """None where the text is no JSON, or no records."""
    if sample.text.lstrip()[:1] not in ("{", "["):
        return None
    lines = [line for line in (*sample.text.splitlines(), *sample.tail.splitlines()[:-1]) if line.strip()]
    by_line = [record for record in map(_loaded, lines[:_RECORDS_MAX]) if isinstance(record, dict)]
    if by_line and len(by_line) * 2 >= len(lines[:_RECORDS_MAX]):
        return JsonRecords(tuple(by_line), documents=False)
    found = [record for record in _documents(sample.text) if isinstance(record, dict)]
    return JsonRecords(tuple(found), documents=True) if found else None


def is_other_json(sample: Sample) -> bool:
    """Whether the text, or each of its lines, is an array of JSON that holds no records."""
    if sample.text.lstrip()[:1] != "[":
        return False
    lines = [line for line in sample.text.splitlines()[:100] if line.strip()]
    return isinstance(_loaded(sample.text), list) or all(isinstance(_loaded(line), list) for line in lines)


def columns_of(records: Sequence[dict[str, Any]]) -> tuple[list[tuple[str, Kind]], list[str]]:
    """The columns in the order in which they are met, and what was assumed."""
    assumed: list[str] = []
    names: dict[str, str] = {}
    for name in (name for record in records for name in record):
        if name.startswith("__") or not name.strip():
            assumed.append(f"the key `{name}` is left out: such names belong to Penstock")
        elif names.setdefault(name.lower(), name) != name:
            assumed.append(f"the key `{name}` is left out: `{names[name.lower()]}` differs from it in case only")
    if len(records) == 1 and len(names) > 1 and _by_column(records[0]):
        assumed.append("it looks as if each column were one value, as pandas writes by itself: to_json(orient='records', lines=True) writes records")
    columns = [(name, _kind(name, [record[name] for record in records if record.get(name) is not None])) for name in names.values()]
    return columns, list(dict.fromkeys(assumed))


def _by_column(record: dict[str, Any]) -> bool:
    """Whether all values are objects with the same keys, which are numbers."""
    values = list(record.values())
    return all(isinstance(value, dict) and value and value.keys() == values[0].keys() for value in values) and all(key.isdigit() for key in values[0])


def _kind(name: str, values: Sequence[Any]) -> Kind:
    """The narrowest type that Spark reads all the values as; any value fits a text."""
    if not values:
        return Kind("STRING")
    if all(isinstance(value, bool) for value in values):
        return Kind("BOOLEAN")
    if any(isinstance(value, bool) for value in values):
        return Kind("STRING")
    if all(isinstance(value, int | float) for value in values):
        return epoch_kind(name, values) or _number(values)
    if all(isinstance(value, str) for value in values):
        texts = list(dict.fromkeys(values))
        found = epoch_of_texts(name, texts)
        return replace(found, otherwise="STRING") if found else times_kind(name, texts) or Kind("STRING")
    if all(isinstance(value, list) for value in values):
        inner = _nested(name, [one for value in values for one in value if one is not None])
        return replace(inner, type=f"ARRAY<{inner.type}>", otherwise=f"ARRAY<{inner.otherwise}>")
    if all(isinstance(value, dict) for value in values):
        return _struct(values)
    return Kind("STRING")


def _number(values: Sequence[int | float]) -> Kind:
    if all(isinstance(value, int) for value in values):
        return Kind("BIGINT" if all(-_BIGINT <= value < _BIGINT for value in values) else "DECIMAL(38,0)")
    return Kind("DOUBLE")


def _nested(name: str, values: Sequence[Any]) -> Kind:
    """A value within another: a time only where it needs no pattern, which is for all of the stream."""
    found = _kind(name, values)
    return Kind(found.otherwise) if found.pattern else found


def _struct(values: Sequence[dict[str, Any]]) -> Kind:
    names = list(dict.fromkeys(name for value in values for name in value))
    if not names or len({name.lower() for name in names}) < len(names):
        return Kind("STRING")
    if len(names) > _KEYS_MAX:
        inner = _nested("", [one for value in values for one in value.values() if one is not None])
        return Kind(f"MAP<STRING, {inner.type}>")
    fields = ((name, _nested(name, [value[name] for value in values if value.get(name) is not None])) for name in names)
    return Kind("STRUCT<" + ", ".join(f"{quoted(name)}: {kind.type}" for name, kind in fields) + ">")


def quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def _loaded(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _documents(text: str) -> Iterator[Any]:
    """Records one after another, or those of an array, as far as the text goes."""
    decoder, at = json.JSONDecoder(), _BETWEEN.match(text).end()  # type: ignore[union-attr]
    if text[at : at + 1] == "[":
        at = _BETWEEN.match(text, at + 1).end()  # type: ignore[union-attr]
    for _ in range(_RECORDS_MAX):
        try:
            record, at = decoder.raw_decode(text, at)
        except ValueError:
            return
        yield record
        at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]
