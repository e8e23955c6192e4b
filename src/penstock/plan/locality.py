"""Which rows an upper plan must look at again: if its rows for one value of a column come from kept rows with that value alone,
only the values that changed need to be evaluated.

`ORDER BY n DESC` within each window, a second GROUP BY on some of the keys, an aggregate joined with itself on the
window: all of these are local to a column. A LIMIT over everything is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.plan import scalar, terms
from penstock.plan.grammar import matching, tokens
from penstock.plan.nodes import Aggregate, Alias, Distinct, Filter, Item, Join, Node, Order, Project, Scan, names_read

# Sides whose columns hold their own values in the result of a join, not NULL for want of a partner.
_PRESERVED = {
    "inner": (True, True),
    "cross": (True, True),
    "left": (True, False),
    "right": (False, True),
    "semi": (True, False),
    "anti": (True, False),
}


@dataclass(frozen=True)
class _Passed:
    """A column that comes unchanged from the kept rows' column `source`."""

    qualifier: str | None
    name: str
    source: str


def local_columns(plan: Node, kept: str, columns: Sequence[str]) -> dict[str, str]:
    """Output column -> column of `kept`; empty where the plan is not local to any of `columns`."""
    found = _Locality(kept, columns).of(plan) or ()
    by_source: dict[str, str] = {}
    for column in found:
        by_source.setdefault(column.source, column.name)
    return {name: source for source, name in by_source.items()}


class _Locality:
    def __init__(self, kept: str, columns: Sequence[str]) -> None:
        self._kept, self._columns = kept, columns

    def of(self, node: Node) -> tuple[_Passed, ...] | None:
        """The columns to which `node` is local; None where it does not read the kept rows."""
        if self._kept not in names_read(node):
            return None
        match node:
            case Scan():
                return tuple(_Passed(node.name, name, name) for name in self._columns)
            case Alias(columns=()):
                return tuple(replace(column, qualifier=node.name) for column in self.of(node.input) or ())
            case Filter() if not self._reads_in_subs(node.subs):
                return self.of(node.input)
            case Distinct():
                return self.of(node.input)
            case Order(limit=None, offset=None) if not self._reads_in_subs(node.subs):
                return self.of(node.input)
            case Project(input=input_) if input_ is not None and not self._reads_in_subs(node.subs):
                return self._select(node.items, self.of(input_) or ())
            case Aggregate(grouping=None) if not self._reads_in_subs(node.subs):
                below = self.of(node.input) or ()
                groups = {column.source for group in node.groups for column in [_find(group, below)] if column is not None}
                return self._select(node.items, tuple(column for column in below if column.source in groups))
            case Join() if not node.lateral and not self._reads_in_subs(node.subs):
                return self._join(node)
            case _:
                return ()

    def _reads_in_subs(self, subs: tuple[Node, ...]) -> bool:
        return any(self._kept in names_read(plan) for plan in subs)

    def _select(self, items: tuple[Item, ...], below: tuple[_Passed, ...]) -> tuple[_Passed, ...]:
        """The columns that a select list passes on; its window functions look at all rows of their partition."""
        for item in items:
            for partition in _partitions(item.text):
                sources = {column.source for text in partition for column in [_find(text, below)] if column is not None}
                below = tuple(column for column in below if column.source in sources)
        return self._items(items, below)

    def _items(self, items: tuple[Item, ...], below: tuple[_Passed, ...]) -> tuple[_Passed, ...]:
        passed: list[_Passed] = []
        for item in items:
            star = terms.star(item)
            if star is not None:
                kept = [column for column in below if star.qualifier in (None, (column.qualifier or "").lower())]
                passed += [replace(column, qualifier=None) for column in kept if column.name.lower() not in star.left_out]
                continue
            column = _find(item.text, below)
            name = item.name or (column.name if column is not None else "")
            passed = [entry for entry in passed if entry.name.lower() != name.lower()]
            if column is not None:
                passed.append(_Passed(None, name, column.source))
        return tuple(passed)

    def _join(self, node: Join) -> tuple[_Passed, ...]:
        left, right = self.of(node.left), self.of(node.right)
        keeps_left, keeps_right = _PRESERVED.get(node.kind, (False, False))
        if left is None or right is None:
            return (left or ()) if right is None and keeps_left else (right or ()) if left is None and keeps_right else ()
        equal = {column.source for column in left if any(self._equated(node, column, other) for other in right)}
        sides = (left if keeps_left else ()) + (right if keeps_right else ())
        return tuple(column for column in sides if column.source in equal)

    def _equated(self, node: Join, left: _Passed, right: _Passed) -> bool:
        if left.source != right.source:
            return False
        if any(name.lower() == left.name.lower() == right.name.lower() for name in node.using):
            return True
        for conjunct in terms.conjuncts(node.on) if node.on else []:
            sides = terms.equality(conjunct)
            if sides is not None and any(_find(one, (left,)) and _find(other, (right,)) for one, other in (sides, sides[::-1])):
                return True
        return False


def _find(text: str, columns: tuple[_Passed, ...]) -> _Passed | None:
    """The column that `text` names, where it names just one."""
    if scalar.output_name(text) is None:
        return None
    parts = [part.strip().strip("`").lower() for part in text.split(".")]
    if len(parts) > 2:
        return None
    qualifier = parts[0] if len(parts) == 2 else None
    found = [column for column in columns if column.name.lower() == parts[-1] and qualifier in (None, (column.qualifier or "").lower())]
    return found[0] if len({column.source for column in found}) == 1 else None


def _partitions(text: str) -> list[list[str]]:
    """The PARTITION BY lists of the window functions in `text`; a window that has none gives an empty list."""
    found = tokens(text)
    lists: list[list[str]] = []
    for index, token in enumerate(found[:-1]):
        if not token.is_word("over"):
            continue
        if found[index + 1].text != "(":
            lists.append([])
            continue
        close = matching(found, index + 1)
        inside = found[index + 2 : close]
        stop = next((part.start for part in inside if part.is_word("order", "rows", "range", "sort")), found[close].start)
        starts = [part.end for part in inside if part.is_word("by") and part.start < stop]
        lists.append([part.strip() for part in scalar.split_top(text[starts[0] : stop], ",")] if starts else [])
    return lists
