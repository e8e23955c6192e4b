"""Conditions and measures for random patterns, each as SQL and as the Python function that means the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.testing.brute import Rows, Undecided


@dataclass(frozen=True)
class Word:
    """A function; the variables that its text names; whether it looks at other rows."""

    call: Callable[..., Any]
    needs: frozenset[str] = frozenset()
    crosses: bool = False


def _x(rows: Rows, row: int | None) -> Any:
    return rows[row]["x"] if row is not None and 0 <= row < len(rows) else None


def _of(start: int, labels: Sequence[str], *names: str) -> list[int]:
    """The rows of some variables in a mapping; of all, where none is named."""
    return [start + place for place, label in enumerate(labels) if label != "\0" and (not names or label in names)]


def _compared(left: Any, right: Any, test: Callable[[Any, Any], bool]) -> bool | None:
    return None if left is None or right is None else test(left, right)


def _here(start: int, labels: Sequence[str]) -> int:
    return start + len(labels) - 1


def _values(rows: Rows, places: Sequence[int]) -> list[Any]:
    return [value for value in (_x(rows, place) for place in places) if value is not None]


def _own(test: Callable[[int], bool]) -> Callable[[Rows, int, Sequence[str]], bool | None]:
    def asked(rows: Rows, start: int, labels: Sequence[str]) -> bool | None:
        value = _x(rows, _here(start, labels))
        return None if value is None else test(value)

    return asked


def _against(pick: Callable[[Rows, int, Sequence[str]], Any], test: Callable[[Any, Any], bool]) -> Callable[..., bool | None]:
    return lambda rows, start, labels: _compared(_x(rows, _here(start, labels)), pick(rows, start, labels), test)


def _next(rows: Rows, start: int, labels: Sequence[str]) -> Any:
    if _here(start, labels) + 1 >= len(rows):
        raise Undecided
    return _x(rows, _here(start, labels) + 1)


def _last(rows: Rows, places: Sequence[int], offset: int = 0) -> Any:
    return _x(rows, places[-1 - offset]) if len(places) > offset else None


def _first(rows: Rows, places: Sequence[int], offset: int = 0) -> Any:
    return _x(rows, places[offset]) if len(places) > offset else None


def _sum(values: Sequence[int]) -> int | None:
    return sum(values) if values else None


def _sum_below(limit: int) -> Callable[[Rows, int, Sequence[str]], bool | None]:
    return lambda rows, start, labels: _compared(_sum(_values(rows, _of(start, labels))), limit, lambda a, b: a < b)


_A, _B, _U = frozenset("A"), frozenset("B"), frozenset("U")
CONDITIONS: Mapping[str, Word] = {
    "x > 2": Word(_own(lambda x: x > 2)),
    "x < 2": Word(_own(lambda x: x < 2)),
    "x == 1": Word(_own(lambda x: x == 1)),
    "x >= 1": Word(_own(lambda x: x >= 1)),
    "x <= 3": Word(_own(lambda x: x <= 3)),
    "x > PREV(x)": Word(_against(lambda rows, start, labels: _x(rows, _here(start, labels) - 1), lambda a, b: a > b), crosses=True),
    "x > A.x": Word(
        lambda rows, start, labels: _compared(_x(rows, _here(start, labels)), _last(rows, _of(start, labels, "A")), lambda a, b: a > b), _A, True
    ),
    "x >= FIRST(x)": Word(_against(lambda rows, start, labels: _first(rows, _of(start, labels)), lambda a, b: a >= b), crosses=True),
    "COUNT(*) <= 3": Word(lambda rows, start, labels: len(_of(start, labels)) <= 3, crosses=True),
    "SUM(x) < 6": Word(_sum_below(6), crosses=True),
    "x <> LAST(x, 1)": Word(_against(lambda rows, start, labels: _last(rows, _of(start, labels), 1), lambda a, b: a != b), crosses=True),
    "LAST(B.x, 1) IS NULL AND FIRST(x) BETWEEN 1 AND x": Word(
        lambda rows, start, labels: (
            _last(rows, _of(start, labels, "B"), 1) is None
            and 1 <= (_x(rows, start) or 0) <= (-1 if _x(rows, _here(start, labels)) is None else _x(rows, _here(start, labels)))
        ),
        _B,
        True,
    ),
    "NOT x < MAX(A.x)": Word(
        lambda rows, start, labels: _compared(
            _x(rows, _here(start, labels)), max(_values(rows, _of(start, labels, "A")), default=None), lambda a, b: not a < b
        ),
        _A,
        True,
    ),
    "LAST(CLASSIFIER(), 1) = 'A'": Word(
        lambda rows, start, labels: ([label for label in labels if label != "\0"][-2:-1] or [None]) == ["A"], _A, crosses=True
    ),
}


def _so_far(function: Callable[[Rows, list[int]], Any], *names: str) -> Callable[..., Any]:
    """A running measure of the rows of some variables."""
    return lambda rows, start, labels, upto, number: function(rows, _of(start, labels[:upto], *names))


def _in_all(function: Callable[[Rows, list[int]], Any], *names: str) -> Callable[..., Any]:
    return lambda rows, start, labels, upto, number: function(rows, _of(start, labels, *names))


def _shifted(rows: Rows, places: list[int], shift: int) -> Any:
    return _x(rows, places[-1] + shift) if places else None


MEASURES: Mapping[str, Word] = {
    "FIRST(x)": Word(_so_far(_first)),
    "A.x": Word(_so_far(_last, "A"), _A),
    "FIRST(B.x, 1)": Word(_so_far(lambda rows, places: _first(rows, places, 1), "B"), _B),
    "LAST(x, 1)": Word(_so_far(lambda rows, places: _last(rows, places, 1))),
    "PREV(A.x, 2)": Word(_so_far(lambda rows, places: _shifted(rows, places, -2), "A"), _A),
    "COUNT(*)": Word(_so_far(lambda rows, places: len(places))),
    "COUNT(A.x)": Word(_so_far(lambda rows, places: len(_values(rows, places)), "A"), _A),
    "COUNT(B.*)": Word(_so_far(lambda rows, places: len(places), "B"), _B),
    "SUM(x)": Word(_so_far(lambda rows, places: _sum(_values(rows, places)))),
    "FINAL SUM(x)": Word(_in_all(lambda rows, places: _sum(_values(rows, places)))),
    "FINAL LAST(B.x)": Word(_in_all(_last, "B"), _B),
    "MAX(U.x)": Word(_so_far(lambda rows, places: max(_values(rows, places), default=None), "A", "B"), _U),
    "COLLECT_LIST(x)": Word(_so_far(lambda rows, places: _values(rows, places))),
    "CLASSIFIER()": Word(lambda rows, start, labels, upto, number: labels[upto - 1] if upto else None),
    "FIRST(CLASSIFIER())": Word(lambda rows, start, labels, upto, number: labels[0] if upto else None),
    "MATCH_NUMBER()": Word(lambda rows, start, labels, upto, number: number),
}
