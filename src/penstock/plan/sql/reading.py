"""What a part of a query can see while it is read: the file, the WITH entries, and what has been noted so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from penstock.plan.expression.parsed import substitute
from penstock.plan.expression.passage import Passage
from penstock.plan.model.nodes import Node, names_read, quoted

SET_WORDS = ("union", "intersect", "except", "minus")


class NotUnderstood(Exception):
    """The structure is unknown here; the query around it becomes opaque. Never leaves the package. `what` is it, in the user's words."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


@dataclass(frozen=True)
class Cte:
    """An entry of WITH; every reference gets the same plan."""

    name: str
    node: Node
    columns: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        return f"({', '.join(quoted(name) for name in self.columns)})" if self.columns else ""

    def reads(self) -> tuple[str, ...]:
        return names_read(self.node)


@dataclass
class Notes:
    """Collected on the way: text to hide from the syntax check (start, end, what to put there), watermarks declared in FROM."""

    masks: list[tuple[int, int, str]] = field(default_factory=list)
    watermarks: dict[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """Passed down; `query` reads a query in brackets, so that the readers of parts need not know the reader of the whole."""

    passage: Passage
    notes: Notes
    query: Callable[[Reading, int, int], Node]
    ctes: Mapping[str, Cte] = field(default_factory=dict)

    def scalar(self, low: int, high: int, subs: list[Node]) -> str:
        """The expression between two tokens as written, its SELECTs moved to `subs` and named `__sub_n__` in the text."""
        passage = self.passage
        changes: list[tuple[int, int, str]] = []
        index = low
        while index < high:
            if self._opens_query(index, high):
                close = passage.close(index, high)
                plan = self.query(self, index + 1, close)
                if plan not in subs:
                    subs.append(plan)
                changes.append((passage.tokens[index].end, passage.tokens[close].start, f"__sub_{subs.index(plan)}__"))
                index = close
            index += 1
        origin = passage.tokens[low].start if low < high else 0
        return substitute(passage.slice(low, high), ((start - origin, end - origin, new) for start, end, new in changes))

    def _opens_query(self, index: int, high: int) -> bool:
        """Whether a bracket is that of a query: `(SELECT ...)`, or `((SELECT ...) UNION (SELECT ...))`."""
        if not self.passage.is_op(index, high, "(") or self.passage.word(index + 1, high, "select", "with", "from"):
            return self.passage.is_op(index, high, "(")
        return self._opens_query(index + 1, high) and self.passage.word(self.passage.close(index + 1, high) + 1, high, *SET_WORDS)
