"""The states and timers of one key, as a process function sees them."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, TypeAlias

from penstock.eventtime import interval
from penstock.spark.keyed.bucket import Clock
from penstock.spark.keyed.pythonic import Unfit

Cells: TypeAlias = dict[str, tuple[Any, int, int | None]]
"""What is kept of a key by name: the value, when it was last set, and for how long it lasts (microseconds; None: for ever)."""
Times: TypeAlias = list[int]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class KeyContext:
    """A `Context` of the Python face."""

    def __init__(
        self,
        key: dict[str, Any],
        cells: Cells,
        timers: Times,
        wakes: Times,
        clock: Clock,
        side: Callable[[str, Mapping[str, Any]], None],
        *,
        has_time: bool,
    ) -> None:
        self.key, self.cells, self.timers, self.wakes = key, cells, timers, wakes
        self.side, self._has_time, self._clock = side, has_time, clock
        self.watermark, self.time = moment(clock.watermark), moment(None)
        self.processing_time = _EPOCH + timedelta(microseconds=clock.processing_time)
        self.now = clock.processing_time

    def at(self, time: int | None) -> None:
        """Stand at an event time; None: there is none, and the clock counts."""
        self.time, self.now = moment(time), self._clock.processing_time if time is None else time

    def value(self, name: str, default: Any = None, ttl: str | None = None) -> _Value:
        return _Value(self, f"value {name}", _span(ttl), default)

    def list(self, name: str, ttl: str | None = None) -> _List:
        return _List(self, f"list {name}", _span(ttl))

    def map(self, name: str, ttl: str | None = None) -> _Map:
        return _Map(self, f"map {name}", _span(ttl))

    def timer(self, at: datetime) -> None:
        if not self._has_time:
            raise Unfit("sets a timer in event time, but its rows are taken as they come: order them by the event time, or use processing_timer")
        _add(self.timers, since_epoch(at))

    def delete_timer(self, at: datetime) -> None:
        self.timers[:] = [time for time in self.timers if time != since_epoch(at)]

    def processing_timer(self, at: datetime) -> None:
        _add(self.wakes, since_epoch(at))

    def is_empty(self) -> bool:
        """Whether nothing of the key has to be kept."""
        return not (self.cells or self.timers or self.wakes)

    def expires(self) -> int | None:
        """When nothing of the key is asked for any more; None: never."""
        ends = [None if ttl is None else touched + ttl for _, touched, ttl in self.cells.values()]
        if self.timers or self.wakes or not ends or None in ends:
            return None
        return max(end for end in ends if end is not None)


@dataclass(frozen=True)
class _Cell:
    context: KeyContext
    name: str
    ttl: int | None

    def _read(self, otherwise: Any) -> Any:
        found = self.context.cells.get(self.name)
        if found is None or (found[2] is not None and self.context.now - found[1] >= found[2]):
            return otherwise
        return found[0]

    def _write(self, value: Any) -> None:
        self.context.cells[self.name] = (value, self.context.now, self.ttl)

    def clear(self) -> None:
        self.context.cells.pop(self.name, None)


@dataclass(frozen=True)
class _Value(_Cell):
    default: Any = None

    def get(self) -> Any:
        return self._read(self.default)

    def set(self, value: Any) -> None:
        self._write(value)


class _List(_Cell):
    def get(self) -> list[Any]:
        return list(self._read(()))

    def add(self, *values: Any) -> None:
        self._write([*self._read(()), *values])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.get())

    def __len__(self) -> int:
        return len(self._read(()))


class _Map(_Cell):
    def get(self, name: Any, default: Any = None) -> Any:
        return self._read({}).get(name, default)

    def put(self, name: Any, value: Any) -> None:
        self._write({**self._read({}), name: value})

    def remove(self, name: Any) -> None:
        self._write({kept: value for kept, value in self._read({}).items() if kept != name})

    def items(self) -> Iterable[tuple[Any, Any]]:
        return list(self._read({}).items())

    def __contains__(self, name: Any) -> bool:
        return name in self._read({})

    def __len__(self) -> int:
        return len(self._read({}))


def moment(time: int | None) -> datetime | None:
    """Microseconds since 1970 as a time in UTC."""
    return None if time is None else _EPOCH + timedelta(microseconds=time)


def since_epoch(at: datetime) -> int:
    """A time as microseconds since 1970; one without a zone is UTC."""
    return ((at if at.tzinfo is not None else at.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)


def _add(times: Times, time: int) -> None:
    """Put a timer in its place; one that is there already counts once."""
    if time not in times:
        insort(times, time)


@cache
def _span(ttl: str | None) -> int | None:
    return None if ttl is None else interval(ttl)
