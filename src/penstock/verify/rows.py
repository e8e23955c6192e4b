"""Rows as values that can be compared, whatever form they were read in: JSON, csv, parquet or a database's own types."""

from __future__ import annotations

import base64
import json
import math
import struct
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from penstock.schema import Schema, Type, parse_type

Values = tuple[Hashable, ...]
CLOSE, LOOSE = 1e-12, 1e-9
_ZERO = 1e-12  # relative to zero nothing is close, and what all but cancels leaves such digits behind


@dataclass(frozen=True)
class Row:
    """A row as somebody gives it. `text` is its JSON; `place` says where a stranger found it; `epoch`, where that is known."""

    text: str
    place: str = ""
    epoch: int | None = None


class Reader:
    """Reads rows of one view: their values, and the part of them that is the key.

    A sink may not be able to hold every row as it is: `as_held` is the text of a row in such a sink.
    """

    def __init__(self, schema: Schema, key: Sequence[str] | None, *, as_held: Callable[[str], str] = str) -> None:
        self.schema = schema
        self._as_held = as_held
        self.kinds = tuple(parse_type(column.type) for column in schema)
        self._kinds = tuple(zip(schema.names, self.kinds, strict=True))
        self.key = None if key is None else tuple(schema.names.index(found.name) for name in key if (found := schema.find(name)) is not None)

    def values(self, row: str | Mapping[str, Any]) -> Values:
        """The values in the order of the view's columns; a column that is not there is null, one too many is a value of its own."""
        read = json.loads(self._as_held(row)) if isinstance(row, str) else row
        if not isinstance(read, dict):
            return ("not a row", json.dumps(read))
        known = tuple(value_of(kind, read.get(name)) for name, kind in self._kinds)
        others = sorted(name for name in read if self.schema.find(name) is None)
        return (*known, *((name, json.dumps(read[name], default=str)) for name in others))

    def key_of(self, values: Values) -> Values | None:
        return None if self.key is None or len(values) < len(self._kinds) else tuple(values[place] for place in self.key)

    def text(self, row: Mapping[str, Any]) -> str:
        """A row that was not read as JSON, printed as a row of the view is."""
        return json.dumps({name: _printed(value_of(kind, row.get(name)), kind) for name, kind in self._kinds}, ensure_ascii=False)


def rounding(additions: int) -> float:
    """How far, relatively, two sums of the same doubles may be apart because batch and live add them in another order.

    Every addition rounds by 2^-53 at most, in one sum as in the other. What is `CLOSE` is always equal, for a mean or a product rounds
    once more; what is not even `LOOSE` never, for in very many additions the roundings all but cancel.
    """
    return min(max(CLOSE, additions * sys.float_info.epsilon), LOOSE)


def close(one: object, other: object, tolerance: float) -> bool:
    """Equal but for the last digits of floating-point numbers."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(close(left, right, tolerance) for left, right in zip(one, other, strict=True))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=tolerance, abs_tol=_ZERO)
    return one == other


def has_floats(schema: Schema) -> bool:
    return any("float" in column.type.lower() or "double" in column.type.lower() for column in schema)


def value_of(kind: Type, value: Any) -> Hashable:
    """A value of a Spark type from any form in which a sink holds it; one that does not fit is kept as what it is."""
    if value is None:
        return None
    try:
        return _READ.get(kind.name, _other)(kind, value)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, InvalidOperation, OverflowError, struct.error):
        return ("not a", kind.name, str(value))


def _whole(kind: Type, value: Any) -> Hashable:
    read = Decimal(str(value))
    if read != int(read):
        raise ValueError(value)
    return int(read)


def _single(kind: Type, value: Any) -> Hashable:
    read = float(value)
    return "NaN" if math.isnan(read) else struct.unpack("f", struct.pack("f", read))[0] if math.isfinite(read) else read


def _double(kind: Type, value: Any) -> Hashable:
    read = float(value)
    return "NaN" if math.isnan(read) else read


def _decimal(kind: Type, value: Any) -> Hashable:
    return Decimal(str(value))


def _boolean(kind: Type, value: Any) -> Hashable:
    return {"true": True, "false": False, "t": True, "f": False, "1": True, "0": False}[str(value).lower()]


def _bytes(kind: Type, value: Any) -> Hashable:
    return base64.b64decode(value) if isinstance(value, str) else bytes(value)


def _date(kind: Type, value: Any) -> Hashable:
    return value.isoformat() if isinstance(value, date) else str(value)


def _moment(kind: Type, value: Any) -> Hashable:
    read = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    if kind.name == "timestamp":
        read = read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    return read.isoformat()


def _struct(kind: Type, value: Any) -> Hashable:
    read = _loaded(value)
    return tuple(value_of(part, read.get(name)) for name, part in kind.fields)


def _array(kind: Type, value: Any) -> Hashable:
    return tuple(value_of(kind.fields[0][1], part) for part in _loaded(value))


def _map(kind: Type, value: Any) -> Hashable:
    read = _loaded(value)
    pairs = read.items() if isinstance(read, Mapping) else read
    (_, key), (_, inner) = kind.fields
    return ("map", tuple(sorted(((value_of(key, name), value_of(inner, part)) for name, part in pairs), key=lambda pair: repr(pair[0]))))


def _other(kind: Type, value: Any) -> Hashable:
    return json.dumps(_loaded(value), sort_keys=True) if kind.name == "variant" else str(value)


def _loaded(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


_READ: Mapping[str, Callable[[Type, Any], Hashable]] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), _whole),
    "float": _single,
    "double": _double,
    "decimal": _decimal,
    "boolean": _boolean,
    "binary": _bytes,
    "date": _date,
    "timestamp": _moment,
    "timestamp_ntz": _moment,
    "struct": _struct,
    "array": _array,
    "map": _map,
}


def _printed(value: Any, kind: Type) -> Any:
    """A value as the JSON of a row has it, near enough to be recognised."""
    if value is None:
        return None
    match kind.name:
        case "struct" if isinstance(value, tuple) and len(value) == len(kind.fields):
            return {name: _printed(part, inner) for (name, inner), part in zip(kind.fields, value, strict=True)}
        case "array":
            return [_printed(part, kind.fields[0][1]) for part in value]
        case "map" if isinstance(value, tuple) and value[0] == "map":
            return {str(_printed(name, kind.fields[0][1])): _printed(part, kind.fields[1][1]) for name, part in value[1]}
        case "timestamp":
            return str(value).replace("+00:00", "Z")
        case "binary" if isinstance(value, bytes):
            return base64.b64encode(value).decode()
        case _:
            return value if isinstance(value, bool | int | float) else str(value)
