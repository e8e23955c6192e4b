"""Which rows a condition lets pass: judged in Python where that means the same as in Spark, else by Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from penstock.errors import PlanFault
from penstock.plan.expression.judge import Judge, Opaque, judge
from penstock.plan.expression.predicate import predicate
from penstock.values import reader
from penstock.web.host import Host, Known

_HINT = "give one condition over the view's columns, e.g. total > 100 AND country = 'PT'"


class Filter:
    """One condition over one view; what can be known without Spark to be wrong is refused when it is made, the rest by `check`."""

    def __init__(self, host: Host, view: str, known: Known, condition: str) -> None:
        if len(condition) > 10_000:
            raise PlanFault("the condition is too long", hint=_HINT)
        self._host, self._view = host, view
        self._condition = predicate(condition, known.schema.names)
        self._judge: Judge | None = judge(self._condition, known.schema)
        self._read: Callable[[str], dict[str, object]] = reader(known.schema)

    @property
    def asks_spark(self) -> bool:
        """Whether judging takes Spark: a while, in which nobody else should have to wait."""
        return self._judge is None

    def check(self) -> None:
        """Lets Spark say what is wrong with it."""
        if self._judge is None:
            self._by_spark(())

    def judged(self, lines: Sequence[str]) -> list[bool]:
        """The same without Spark; Opaque where that is not possible, and from then on Spark is asked: there may be more such rows."""
        if self._judge is None:
            raise Opaque
        try:
            return [self._judge(self._read(line)) for line in lines]
        except Opaque:
            self._judge = None
            raise

    def passing(self, lines: Sequence[str]) -> list[bool]:
        """For each row whether it passes."""
        if self._judge is not None:
            with suppress(Opaque):
                return self.judged(lines)
        kept = self._by_spark(list(dict.fromkeys(lines)))
        return [line in kept for line in lines]

    def _by_spark(self, lines: Sequence[str]) -> frozenset[str]:
        return frozenset(self._host.engine.filtered(self._view, lines, self._condition).lines)
