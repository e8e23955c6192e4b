"""ORDER BY ... LIMIT over rows that change, from candidates: the rows that come first, some more than are asked for.

Rows that come are placed among the candidates; what comes after the last of them is none. Only when so many of them have gone that fewer are
left than are asked for are all rows looked at again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.plan.cut.delta import carried
from penstock.plan.cut.shape import Shapes, collates
from penstock.plan.expression.parsed import parsed
from penstock.plan.model.nodes import Alias, Filter, Node, Order, Project, Scan, names_read, walk

LINE = "__line"
_SPARE = 100


@dataclass(frozen=True)
class First:
    """`ranked` gives the candidates in order, each by its LINE; of them the first `asked` are the result, and `kept` are candidates."""

    ranked: Node
    asked: int

    @property
    def kept(self) -> int:
        return 2 * self.asked + _SPARE


def first_of(plan: Node, input_: str) -> First | None:
    """The candidates of a plan that sorts and limits rows of `input_`, each of them by itself."""
    if not isinstance(plan, Order) or not plan.keys or plan.subs or plan.limit is None or set(names_read(plan)) != {input_}:
        return None
    if not plan.limit.isdigit() or not (plan.offset or "0").isdigit() or collates(plan):
        return None
    alone = Shapes(lambda name: name == input_).stateless(plan.input) and all(map(_keeps_rows_apart, walk(plan.input)))
    rows = carried(plan.input, Scan(input_), (LINE,), Scan(input_)) if alone else None
    asked = int(plan.limit) + int(plan.offset or 0)
    return None if rows is None else First(replace(plan, input=rows, limit=None, offset=None), asked)


def _keeps_rows_apart(node: Node) -> bool:
    """Whether a row gives one row at most: a candidate counts once."""
    return isinstance(node, Scan | Alias | Filter) or (isinstance(node, Project) and not any(parsed(item.text).makes_rows for item in node.items))


def still_first(ranked: Sequence[str], gone: Sequence[str], last: str | None, found: First) -> tuple[list[str], bool] | None:
    """The candidates, and whether they are all rows, after the rows of `gone` went from those that are `ranked`; None: too few are left.

    `last` was the last of the candidates where there were more rows than those: of rows behind it nothing is known.
    """
    known = ranked if last is None else ranked[: _last_place(ranked, last) + 1]
    taken = Counter(gone)
    left: list[str] = []
    for line in known:
        if taken[line]:
            taken[line] -= 1
        else:
            left.append(line)
    if last is not None and len(left) < found.asked:
        return None
    return left[: found.kept], last is None and len(left) <= found.kept


def _last_place(lines: Sequence[str], line: str) -> int:
    return len(lines) - 1 - lines[::-1].index(line)
