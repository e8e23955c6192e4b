"""Rows as a bag: the same rows the same number of times, whatever their order and whoever printed them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

_DIGITS = 10


def bag(rows: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Each row as one text: a number is a number (`1`, `1.0`, `'1.00'` of a decimal), floats to ten digits, times in UTC."""
    return Counter(json.dumps({name: _plain(value) for name, value in row.items()}, ensure_ascii=False) for row in rows)


def difference(expected: Counter[str], got: Counter[str], shown: int = 10) -> str:
    """Empty when both are the same; else what is missing and what is too much."""
    missing, extra = expected - got, got - expected
    if not missing and not extra:
        return ""
    lines = [f"{(expected & got).total()} rows are equal, {missing.total()} missing, {extra.total()} too many"]
    for label, rows in (("missing ", missing), ("too many", extra)):
        lines += [f"  {label}  {row}" for row in sorted(rows.elements())[:shown]]
    return "\n".join(lines)


def _plain(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float | Decimal):
        return _number(value)
    if isinstance(value, datetime):
        at = value if value.tzinfo else value.replace(tzinfo=UTC)
        return at.astimezone(UTC).isoformat(timespec="microseconds")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return _from_text(str(value))


def _number(value: float | Decimal) -> str:
    exact = Decimal(f"{value:.{_DIGITS}g}") if isinstance(value, float) else Decimal(value)
    return f"{exact.normalize():f}"


def _from_text(text: str) -> str:
    """Times and decimals are texts where rows are JSON; a text column that holds digits is treated alike on both sides."""
    if text[:1] in "-0123456789" and len(text) < 40:
        try:
            return f"{Decimal(text).normalize():f}"
        except ArithmeticError:
            pass
        if text.endswith("Z") and len(text) >= 20:
            return datetime.fromisoformat(text).isoformat(timespec="microseconds")
    return text
