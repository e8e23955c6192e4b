"""Calls of the app's Python functions, so that a row for which one raises is set aside and the others go on.

SELECT id, score(amount) AS risk FROM s      SELECT * EXCEPT (__error) FROM (
                                               SELECT id, __tried_score(amount).value AS risk, __tried_score(amount).error AS __error FROM s)
                                             WHERE __error IS NULL

So it is where a row stands for itself: in what is selected of a stream, and in its conditions. Elsewhere, in an aggregate for one, a row
that is missing would change others, and the function's error stops the view.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from penstock.plan.cut.shape import Shapes
from penstock.plan.expression.parsed import substitute
from penstock.plan.expression.tokens import matching, tokens
from penstock.plan.model import terms
from penstock.plan.model.nodes import Distinct, Filter, Item, Node, Order, Project, rebuild

TRIED = "__tried_"
_ERROR = "__error"
# Compared with the number of the task's partition, which Spark moves nothing across: the function is called once for each row.
_GOOD = f"spark_partition_id() >= if({_ERROR} IS NULL, -1, 2147483647)"


def tried(plan: Node, functions: Collection[str], streams: Collection[str]) -> Node:
    """The plan with calls of `functions` (in lower case) tried wherever a row stands for itself."""
    return _Tried(frozenset(functions), Shapes(lambda name: name in streams)).of(plan) if functions else plan


class _Tried:
    def __init__(self, functions: frozenset[str], shapes: Shapes) -> None:
        self._functions, self._shapes = functions, shapes

    def of(self, node: Node) -> Node:
        if isinstance(node, Order | Distinct) and isinstance(node.input, Project):  # its keys see what the SELECT saw: one block of text
            return replace(node, input=rebuild(node.input, self.of))
        alone = self._shapes.stateless(node)
        found = rebuild(node, self.of)
        if alone and isinstance(found, Filter):
            condition, errors = self._text(found.condition)
            return found if not errors else replace(found, condition=f"{_first(errors)} IS NULL AND ({condition})")
        if alone and isinstance(found, Project):
            return self._project(found)
        return found

    def _project(self, node: Project) -> Node:
        items: list[Item] = []
        errors: list[str] = []
        for item in node.items:
            text, more = self._text(item.text)
            items.append(item if not more else Item(text, item.name or terms.item_name(item) or item.text))
            errors += more
        if not errors:
            return node
        inner = replace(node, items=(*items, Item(_first(errors), _ERROR)))
        return Project(Filter(inner, _GOOD), (Item(f"* EXCEPT ({_ERROR})"),), where=node.where)

    def _text(self, text: str) -> tuple[str, list[str]]:
        """The expression with its calls tried, and the errors that they give."""
        found = tokens(text)
        spans: list[tuple[int, int, str]] = []
        errors: list[str] = []
        at = 0
        while at < len(found):
            called = at + 1 < len(found) and found[at + 1].text == "(" and (not at or found[at - 1].text != ".")
            if not called or not found[at].is_name or found[at].value.lower() not in self._functions:
                at += 1
                continue
            close = matching(found, at + 1)
            inner, more = self._text(text[found[at + 1].end : found[close].start])
            call = f"{TRIED}{found[at].value.lower()}({inner})"
            spans.append((found[at].start, found[close].end, f"{call}.value"))
            errors += [*more, f"{call}.error"]
            at = close + 1
        return substitute(text, spans), list(dict.fromkeys(errors))


def _first(errors: list[str]) -> str:
    return errors[0] if len(errors) == 1 else f"coalesce({', '.join(errors)})"
