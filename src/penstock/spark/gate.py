"""The gate of a stream: a filter that lets good records pass, which Spark moves nothing across and counts by itself.

Comparing with a random number, whatever the outcome, is what keeps Spark from moving it. How many rows came to the gate
and how many passed are figures that Spark's generated code keeps anyway; they are read from the plan of the epoch that
has run, where the number that a good record is compared with tells the gates of the streams apart.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from py4j.java_gateway import JavaObject

BARRIER = "rand() >= -rand()"  # always true, and nothing is moved across it; beside a constant, Spark would drop it
_ROWS = "numOutputRows"
Path = tuple[int, ...]


@dataclass(frozen=True)
class Count:
    """What came to a stream's gates in one epoch, and how much of it was bad."""

    rows: int
    dead: int


def gate(stream: str) -> str:
    """The condition, over `__reason`: a random number is never below 0 and always below 2."""
    return f"rand() >= if(__reason IS NULL, {_number(stream)}D, 2D)"


def _number(stream: str) -> str:
    """A number below 0 that Spark prints as it is written here."""
    return f"-{1000 + zlib.crc32(stream.encode()) % 9_000_000}.0"


class Gates:
    """Finds the gates of some streams in the plan of an epoch; where they stand hardly ever changes from one to the next."""

    def __init__(self, streams: Iterable[str]) -> None:
        self._marks = {stream: f" {_number(stream)} " for stream in streams}
        self._places: list[tuple[str, Path]] = []

    def counts(self, execution: JavaObject) -> dict[str, Count]:
        """By stream; a stream that the epoch had nothing of may be absent."""
        plan = execution.executedPlan()
        found = [(stream, _down(plan, path)) for stream, path in self._places]
        if not found or any(node is None or not self._is_gate(stream, node) for stream, node in found):
            places = list(self._search(plan, ()))
            self._places = [(stream, path) for stream, path, _ in places]
            found = [(stream, node) for stream, _, node in places]
        counts: dict[str, Count] = {}
        for stream, node in found:
            assert node is not None
            came, passed = _came_to(node), _rows(node) or 0
            before = counts.get(stream, Count(0, 0))
            counts[stream] = Count(before.rows + came, before.dead + came - passed)
        return counts

    def _is_gate(self, stream: str, node: JavaObject) -> bool:
        return bool(node.nodeName() == "Filter") and self._marks[stream] in node.condition().toString()

    def _search(self, node: JavaObject, path: Path) -> Iterator[tuple[str, Path, JavaObject]]:
        if node.nodeName() == "Filter":
            condition = node.condition().toString()
            yield from ((stream, path, node) for stream, mark in self._marks.items() if mark in condition)
        children = node.children()
        for place in range(children.size()):
            yield from self._search(children.apply(place), (*path, place))


def _down(node: JavaObject, path: Path) -> JavaObject | None:
    for place in path:
        children = node.children()
        if place >= children.size():
            return None
        node = children.apply(place)
    return node


def _came_to(node: JavaObject) -> int:
    """The rows of the nearest operator below that counts them."""
    while not node.children().isEmpty():
        node = node.children().apply(0)
        rows = _rows(node)
        if rows is not None:
            return rows
    return 0


def _rows(node: JavaObject) -> int | None:
    metric = node.metrics().get(_ROWS)
    return None if metric.isEmpty() else int(metric.get().value())
