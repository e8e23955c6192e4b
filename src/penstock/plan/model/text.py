"""A plan as one Spark SQL text: what the front ends read, put together again with the user's own words.

Nodes that stand in the order of a SELECT (from, where, group, select, distinct, order) share one SELECT, so that
qualified names keep their meaning; any other order nests.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from penstock.plan.expression.parsed import parsed, substitute
from penstock.plan.expression.tokens import tokens
from penstock.plan.model.nodes import (
    Aggregate,
    Alias,
    Distinct,
    Filter,
    Generate,
    Item,
    Join,
    Node,
    Opaque,
    Operate,
    Order,
    Project,
    Scan,
    SetOperation,
    Union,
    quoted,
)
from penstock.plan.model.pattern_text import clause as pattern_clause
from penstock.plan.model.wrong_shapes import made_right
from penstock.schema import literal

_JOIN_WORDS = {
    "inner": "JOIN",
    "left": "LEFT JOIN",
    "right": "RIGHT JOIN",
    "full": "FULL JOIN",
    "semi": "LEFT SEMI JOIN",
    "anti": "LEFT ANTI JOIN",
    "cross": "CROSS JOIN",
}


@dataclass(frozen=True)
class _Block:
    """One SELECT in the making; a slot that is filled closes all slots before it."""

    source: str | None
    where: tuple[str, ...] = ()
    group: str | None = None
    having: str | None = None
    items: tuple[Item, ...] | None = None
    distinct: bool = False
    order: tuple[str, ...] = ()
    limit: str | None = None
    offset: str | None = None

    @property
    def selected(self) -> bool:
        return self.items is not None or self.distinct or self.cut

    @property
    def cut(self) -> bool:
        return bool(self.order) or self.limit is not None or self.offset is not None

    def text(self) -> str:
        items = ", ".join(str(item) for item in self.items) if self.items else "*"
        parts = [f"SELECT {'DISTINCT ' if self.distinct else ''}{items}"]
        if self.source is not None:
            parts.append(f"FROM {self.source}")
        if self.where:
            parts.append("WHERE " + " AND ".join(f"({condition})" if len(self.where) > 1 else condition for condition in self.where))
        if self.group is not None:
            parts.append(f"GROUP BY {self.group}")
        if self.having is not None:
            parts.append(f"HAVING {self.having}")
        if self.order:
            parts.append("ORDER BY " + ", ".join(self.order))
        if self.limit is not None:
            parts.append(f"LIMIT {self.limit}")
        if self.offset is not None:
            parts.append(f"OFFSET {self.offset}")
        return "\n".join(parts)


def sql(node: Node) -> str:
    """The plan as a query that Spark runs."""
    if isinstance(node, Opaque):
        return node.sql
    if isinstance(node, Union):
        return "\nUNION ALL\n".join(_operand(entry) for entry in node.inputs)
    if isinstance(node, Distinct) and isinstance(node.input, Union):
        return "\nUNION\n".join(_operand(entry) for entry in node.input.inputs)
    if isinstance(node, SetOperation):
        return f"{_operand(node.left)}\n{node.kind}\n{_operand(node.right)}"
    return _block(node).text()


def _operand(node: Node) -> str:
    """One side of a set operation; brackets keep what belongs to the side on its side."""
    return f"({sql(node)})"


def _block(node: Node) -> _Block:
    match node:
        case Filter():
            block = _opened(node.input)
            return replace(block, where=(*block.where, _filled(_condition(node.condition), node.subs)))
        case Project():
            block = _Block(None) if node.input is None else _opened(node.input)
            return replace(block, items=tuple(_filled_item(item, node.subs) for item in node.items))
        case Aggregate():
            node = made_right(node)
            return replace(
                _opened(node.input),
                items=tuple(_filled_item(item, node.subs) for item in node.items),
                group=_filled(node.grouping or ", ".join(node.groups), node.subs) or None,
                having=None if node.having is None else _filled(node.having, node.subs),
            )
        case Distinct():
            block = _Block(_relation(node.input)) if _whole(node.input) else _block(node.input)
            return replace(block if not block.cut else _Block(f"({block.text()})"), distinct=True)
        case Order():
            block = _Block(_relation(node.input)) if _whole(node.input) else _block(node.input)
            block = _Block(f"({block.text()})") if block.cut else block
            return replace(block, order=tuple(_filled(key, node.subs) for key in node.keys), limit=node.limit, offset=node.offset)
        case Scan() | Alias() | Join() | Generate() | Union() | SetOperation() | Opaque() | Operate():
            return _Block(_relation(node))
        case _:
            assert_never(node)


def _condition(text: str) -> str:
    """Without brackets around all of it: Spark takes `FROM t WHERE (b)` for a table called `where` with a column `b`."""
    return parsed(text).unwrapped.text


def _whole(node: Node) -> bool:
    """True where the plan is a query of its own, which no clause can be added to."""
    return isinstance(node, Union | SetOperation | Opaque) or (isinstance(node, Distinct) and isinstance(node.input, Union))


def _opened(node: Node) -> _Block:
    """The block of an input that still takes a WHERE or a select list, nested if it is already complete."""
    if _whole(node):
        return _Block(_relation(node))
    block = _block(node)
    return _Block(f"({block.text()})") if block.selected else block


def _relation(node: Node) -> str:
    """The plan as it stands after FROM."""
    match node:
        case Scan():
            return quoted(node.name)
        case Alias():
            columns = f"({', '.join(quoted(name) for name in node.columns)})" if node.columns else ""
            inner = _relation(node.input)
            inner = f"(SELECT * FROM {inner})" if isinstance(node.input, Alias | Join | Generate) else inner
            return f"{inner} AS {quoted(node.name)}{columns}"
        case Join():
            return _join(node)
        case Generate():
            return f"{_relation(node.input)} {node.text}"
        case Operate():
            return operator_call(node)
        case Filter() | Project() | Aggregate() | Union() | SetOperation() | Distinct() | Order() | Opaque():
            return f"({sql(node)})"
        case _:
            assert_never(node)


def operator_call(node: Operate) -> str:
    """An operator in the words of an app; Spark never sees it, for it is applied to a DataFrame."""
    inputs = [_relation(entry) if isinstance(entry, Scan | Operate) else f"({sql(entry)})" for entry in node.inputs]
    if node.pattern is not None:
        return f"{inputs[0]} {pattern_clause(node.pattern, node.keys, node.order)}"
    clauses = [("PARTITION BY", node.keys), ("ORDER BY", node.order)]
    written = "".join(f" {word} {', '.join(map(quoted, names))}" for word, names in clauses if names)
    words = [node.function, f"returns {node.returns.ddl}", *([] if node.state is None else [f"state {node.state.ddl}"])]
    words += [f"{name} {value}".strip() for name, value in node.options]
    name = "map_with_state" if node.keys else "map_batches"
    return f"{name}({', '.join(inputs)}{written}, {', '.join(map(literal, words))})"


def _join(node: Join) -> str:
    right = _relation(node.right)
    if isinstance(node.right, Join):
        right = f"({right})"
    words = f"{_relation(node.left)} {_JOIN_WORDS[node.kind]} {'LATERAL ' if node.lateral else ''}{right}"
    if node.using:
        return f"{words} USING ({', '.join(quoted(name) for name in node.using)})"
    return words if node.on is None else f"{words} ON {_filled(node.on, node.subs)}"


def _filled(text: str, subs: tuple[Node, ...]) -> str:
    if not subs:
        return text
    plans = {f"__sub_{index}__": plan for index, plan in enumerate(subs)}
    named = [token for token in tokens(text) if token.kind == "word" and token.text in plans]
    return substitute(text, [(token.start, token.end, sql(plans[token.text])) for token in named])


def _filled_item(item: Item, subs: tuple[Node, ...]) -> Item:
    return Item(_filled(item.text, subs), item.name)
