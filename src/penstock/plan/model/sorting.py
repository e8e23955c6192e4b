"""ORDER BY directly above the cut: its keys are written in terms of the kept rows, which know nothing of the block they came from.

A key that is an output column is that column. Any other is carried below the cut as a column of its own, `__o0`...; above DISTINCT,
where one more column would make more rows, it can only be written in terms of the output.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.plan.expression.mentions import exact_occurrences, near_occurrences
from penstock.plan.expression.parsed import parsed, same, substitute
from penstock.plan.expression.tokens import tokens
from penstock.plan.model import terms
from penstock.plan.model.nodes import Distinct, Item, Node, Order, quoted, walk


def output_column(text: str, items: tuple[Item, ...]) -> str | None:
    """The output column that a sort key means: by its bare name, by its place, or as the same expression."""
    found = tokens(text)
    names = [terms.item_name(item).lower() for item in items]
    if text.isdigit():
        return text
    if len(found) == 1 and found[0].is_name and found[0].value.lower() in names:
        return quoted(found[0].value)
    equal = [terms.item_name(item) for item in items if terms.item_name(item) and same(text, item.text)]
    return quoted(equal[0]) if equal and names.count(equal[0].lower()) == 1 else None


def by_output(keys: tuple[str, ...], node: Node) -> tuple[str, ...]:
    """The sort keys above a SELECT; one over a window, which Spark cannot sort by, is replaced by the column that is the same."""
    block = node.input if isinstance(node, Distinct) else node
    items: tuple[Item, ...] = getattr(block, "items", ())
    return tuple(_by_output(key, items) if parsed(key).has_window_function else key for key in keys)


def _by_output(key: str, items: tuple[Item, ...]) -> str:
    text, direction = parsed(key).direction
    return f"{output_column(text, items) or text} {direction}".strip()


class SortKeys:
    """The keys of every ORDER BY that stands directly above `lower` in a plan."""

    def __init__(self, plan: Node, lower: Node) -> None:
        self._lower = lower
        block = lower.input if isinstance(lower, Distinct) else lower
        self._items: tuple[Item, ...] = getattr(block, "items", ())
        self._carried: dict[str, str] = {}
        orders = [part for part in walk(plan) if isinstance(part, Order) and self.concern(part)]
        for order in orders:
            for text in self._to_carry(order):
                self._carried.setdefault(text, f"__o{len(self._carried)}")
        # a subquery in a key belongs to its ORDER BY and cannot be carried away from it
        self.can_be_expressed = not any(order.subs for order in orders) and all(self._in_outputs(order) for order in orders)

    def concern(self, order: Order) -> bool:
        return order.input == self._lower or (isinstance(order.input, Distinct) and order.input.input == self._lower)

    @property
    def carried(self) -> tuple[Item, ...]:
        """The columns to add below the cut; equal keys of two ORDER BYs are one."""
        return tuple(Item(text, name) for text, name in self._carried.items())

    def above_the_cut(self, order: Order) -> Order:
        """The ORDER BY in terms of the kept rows."""
        keys = [f"{self._in_kept(text, order)} {direction}".strip() for text, direction in (parsed(key).direction for key in order.keys)]
        return replace(order, keys=tuple(keys))

    def _to_carry(self, order: Order) -> Iterator[str]:
        if not isinstance(order.input, Distinct):
            texts = [parsed(key).direction[0] for key in order.keys]
            yield from (terms.unaliased(text, self._items) for text in texts if output_column(text, self._items) is None)

    def _in_kept(self, text: str, order: Order) -> str:
        shown = output_column(text, self._items)
        if shown is None and isinstance(order.input, Distinct):
            return self._lifted(text)
        return shown or self._carried[terms.unaliased(text, self._items)]

    def _lifted(self, text: str) -> str:
        spans: list[tuple[int, int, str]] = []
        for find in (exact_occurrences, near_occurrences):
            for item in self._items:
                if terms.item_name(item):
                    found = [span for span in find(text, item.text) if not any(span[0] < taken[1] and taken[0] < span[1] for taken in spans)]
                    spans += [(start, end, quoted(terms.item_name(item))) for start, end in found]
        return substitute(text, spans)

    def _in_outputs(self, order: Order) -> bool:
        """Whether keys above DISTINCT name nothing but output columns; what a star gives is known by plain names alone."""
        if not isinstance(order.input, Distinct) or not self._items:
            return True
        names = {terms.item_name(item).lower() for item in self._items}
        starred = any(parsed(item.text).star is not None for item in self._items)
        refs = [ref for key in order.keys for ref in parsed(self._in_kept(parsed(key).direction[0], order)).columns]
        return all(ref.parts[0].lower() in names or (starred and len(ref.parts) == 1) for ref in refs)
