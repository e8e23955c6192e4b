"""The class that a function with several states, timers and side outputs is written as."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Protocol, TypeAlias

Outputs: TypeAlias = Mapping[str, Any] | Iterable[Mapping[str, Any]] | None


class ValueState(Protocol):
    """One value of a key."""

    def get(self) -> Any: ...
    def set(self, value: Any) -> None: ...
    def clear(self) -> None: ...


class ListState(Protocol):
    """Values of a key, in the order in which they were added."""

    def get(self) -> list[Any]: ...
    def add(self, *values: Any) -> None: ...
    def clear(self) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...


class MapState(Protocol):
    """Values of a key by names of their own."""

    def get(self, name: Any, default: Any = None) -> Any: ...
    def put(self, name: Any, value: Any) -> None: ...
    def remove(self, name: Any) -> None: ...
    def items(self) -> Iterable[tuple[Any, Any]]: ...
    def clear(self) -> None: ...
    def __contains__(self, name: Any) -> bool: ...
    def __len__(self) -> int: ...


class Context(Protocol):
    """What a process function may ask and do for the key of the row or timer that it is called for.

    `time` is the event time of the row, or that of the timer; None where rows are taken as they come. `ttl` ("1 hour") is how long a state lasts
    after it was last set, in event time, or in processing time where there is none.
    """

    key: dict[str, Any]
    time: datetime | None
    watermark: datetime | None
    processing_time: datetime

    def value(self, name: str, default: Any = None, ttl: str | None = None) -> ValueState: ...
    def list(self, name: str, ttl: str | None = None) -> ListState: ...
    def map(self, name: str, ttl: str | None = None) -> MapState: ...

    def timer(self, at: datetime) -> None:
        """Call `on_timer` when the watermark has passed `at`, after the rows of the key up to that time."""

    def delete_timer(self, at: datetime) -> None: ...

    def processing_timer(self, at: datetime) -> None:
        """Call `on_timer` in the first epoch after `at` on the clock."""

    def side(self, output: str, row: Mapping[str, Any]) -> None:
        """A row of another output, which a view reads by that name."""


class ProcessFunction:
    """A function of a key's rows, in order. One object serves all keys: what belongs to a key is in the states of the context."""

    def process(self, row: dict[str, Any], ctx: Context) -> Outputs:
        """The output rows for a row: None, a dict or several."""
        raise TypeError(f"{type(self).__name__} has no method `process(self, row, ctx)`")

    def on_timer(self, ctx: Context) -> Outputs:
        """The output rows for a timer; its time is `ctx.time`, or `ctx.processing_time` of one on the clock."""
        return None
