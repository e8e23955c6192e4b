"""A view's rows as of now: filtered, ordered and cut, from the results store."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from penstock.plan.expression.ordering import By, ordering
from penstock.values import Row, reader
from penstock.web.answers import Refused
from penstock.web.filter import Filter
from penstock.web.host import Host, Known

LIMIT, LIMIT_MAX = 1000, 10_000


class Reading:
    """What was asked of a view's rows; made when it is asked, so that a wrong condition or order is refused before anything is read."""

    def __init__(self, host: Host, view: str, where: str = "", order: str = "") -> None:
        self._host, self._view, self._known = host, view, ran(host, view)
        self._passes = Filter(host, view, self._known, where) if where.strip() else None
        self._wanted = ordering(order, self._known.schema) if order.strip() else []

    @property
    def asks_spark(self) -> bool:
        return self._passes is not None and self._passes.asks_spark

    def rows(self, limit: int, offset: int = 0) -> tuple[list[str], int]:
        """The rows as JSON, and the epoch as of which they are."""
        as_it_is = self._passes is None and not self._wanted
        found = self._host.store.snapshot(self._view, limit=limit, offset=offset) if as_it_is else self._host.store.snapshot(self._view)
        lines = [change.row for change in found.changes]
        if not as_it_is:
            lines = self._chosen(lines)[offset : offset + limit]
        return lines, self._host.epochs.public(self._view, found.generation, found.epoch)

    def _chosen(self, lines: list[str]) -> list[str]:
        if self._passes is not None:
            lines = [line for line, holds in zip(lines, self._passes.passing(lines), strict=True) if holds]
        if self._wanted:
            read = reader(self._known.schema)
            lines = [line for _, line in sorted(((read(line), line) for line in lines), key=_key(self._wanted))]
        return lines


def ran(host: Host, view: str) -> Known:
    """What is known of a view that has run; 503 as long as it has not."""
    known = host.known(view)
    if known is None:
        raise Refused(503, "starting", f"view `{view}` has not run yet", "ask again in a moment", {"Retry-After": "1"})
    return known


def _key(wanted: list[By]) -> Callable[[tuple[Row, str]], Any]:
    """By several columns, each with its direction and its place for NULL; equal rows stay as they are."""

    def compare(one: tuple[Row, str], other: tuple[Row, str]) -> int:
        for by in wanted:
            first, second = _at(one[0], by.path), _at(other[0], by.path)
            if first is None or second is None:
                found = 0 if first is second else (-1 if (first is None) == by.nulls_first else 1)
            else:
                found = _compared(first, second) * (-1 if by.descending else 1)
            if found:
                return found
        return 0

    return cmp_to_key(compare)


def _at(row: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        row = None if row is None else row[name]
    return row


def _compared(one: Any, other: Any) -> int:
    """As Spark orders them: parts of a struct and of an array one after the other, NULL first, NaN last."""
    if one is None or other is None:
        return (other is None) - (one is None)
    if isinstance(one, dict):
        one, other = list(one.values()), list(other.values())
    if isinstance(one, list):
        for first, second in zip(one, other, strict=False):
            if found := _compared(first, second):
                return found
        return (len(one) > len(other)) - (len(one) < len(other))
    if one != one or other != other:
        return int(one != one) - int(other != other)
    if type(one) is not type(other):  # a time that Python cannot hold stayed text
        one, other = str(one), str(other)
    return int(one > other) - int(one < other)
