"""What a name means at each place of a plan: scopes, output columns, and how a reference is resolved.

Where the columns of a relation are not all known it is *open*: any name may be one of its columns, and nobody complains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias, assert_never

from penstock.plan.expression.infer import generated_types, type_of, window_type
from penstock.plan.expression.navigation import LABEL, Navigation, Primitive
from penstock.plan.expression.parsed import Star, parsed
from penstock.plan.expression.spread import lateral_view, spread
from penstock.plan.expression.types import UNKNOWN, comparable, fields_of
from penstock.plan.expression.words import words
from penstock.plan.model.declare import Declaration, Stream, Table, View
from penstock.plan.model.matching import ALL, ANSWER, shown_first, taken_apart
from penstock.plan.model.nodes import (
    Aggregate,
    Alias,
    Distinct,
    Filter,
    Generate,
    Join,
    Node,
    Opaque,
    Operate,
    Order,
    Project,
    Scan,
    SetOperation,
    Union,
)
from penstock.plan.model.pattern import Pattern
from penstock.plan.model.resolve import Relation, Scope
from penstock.schema import Column, Schema

SchemaOf: TypeAlias = Callable[[str], Schema | None]
_MANY_COLUMNS = words("inline inline_outer json_tuple stack posexplode posexplode_outer explode explode_outer variant_explode")


class Names:
    """Scopes and output columns of plans, each worked out once."""

    def __init__(self, schema_of: SchemaOf) -> None:
        self._schema_of = schema_of
        self._outputs: dict[int, tuple[Node, Relation]] = {}

    def output(self, node: Node) -> Relation:
        """The columns that a plan gives, without a qualifier."""
        known = self._outputs.get(id(node))
        if known is None:
            known = (node, replace(self._output(node), name=None))
            self._outputs[id(node)] = known
        return known[1]

    def _output(self, node: Node) -> Relation:
        match node:
            case Scan():
                schema = self._schema_of(node.name)
                return Relation(None, () if schema is None else schema.columns, schema is None)
            case Alias():
                return _renamed(self.output(node.input), node.columns)
            case Filter() | Order() | Distinct():
                return self.output(node.input)
            case Generate():
                below = self.output(node.input)
                made = self._generated(node)
                return Relation(None, below.columns + made.columns, below.open or made.open)
            case Join():
                return self._joined(node)
            case Union():
                return _united([self.output(entry) for entry in node.inputs])
            case SetOperation():
                return self.output(node.left)
            case Project() | Aggregate():
                return self._selected(node)
            case Operate(pattern=pattern) if pattern is not None:
                return self._matched(node, pattern)
            case Operate():
                return Relation(None, node.returns.columns)
            case Opaque():
                return Relation(None, (), True)
            case _:
                assert_never(node)

    def visible(self, node: Node, outer: Scope | None = None) -> Scope:
        """What an expression directly above `node` may name."""
        match node:
            case Scan():
                return Scope((replace(self.output(node), name=node.name),), outer=outer)
            case Alias():
                return Scope((replace(self.output(node), name=node.name),), outer=outer)
            case Filter():
                return self.visible(node.input, outer)
            case Generate():
                below = self.visible(node.input, outer)
                return replace(below, relations=(*below.relations, self._generated(node)))
            case Join():
                return self.both_sides(node, outer) if node.kind not in ("semi", "anti") else self.visible(node.left, outer)
            case Project() | Aggregate() | Union() | SetOperation() | Distinct() | Order() | Opaque() | Operate():
                return Scope((self.output(node),), outer=outer)
            case _:
                assert_never(node)

    def both_sides(self, node: Join, outer: Scope | None = None) -> Scope:
        """What the condition of a join may name."""
        left, right = self.visible(node.left, outer), self.visible(node.right, outer)
        shared = left.shared | right.shared | {name.lower() for name in node.using}
        return Scope(left.relations + right.relations, outer=outer, shared=shared)

    def items_scope(self, node: Project | Aggregate, outer: Scope | None = None) -> Scope:
        """What the select list may name, but for names given earlier in the list."""
        scope = Scope(outer=outer) if node.input is None else self.visible(node.input, outer)
        if isinstance(node, Aggregate):
            windows = [window for text in _group_texts(node) if (window := parsed(text).window) is not None]
            scope = scope.with_given([Column(window.column, window_type(type_of(window.time, scope.look))) for window in windows])
        return scope

    def given(self, node: Project | Aggregate, upto: int | None = None) -> tuple[Column, ...]:
        """The names that the select list gives, with their types."""
        scope = self.items_scope(node)
        found: list[Column] = []
        for item in node.items[:upto]:
            if item.name is not None:
                found.append(Column(item.name, type_of(item.text, scope.with_given(found).look)))
        return tuple(found)

    def order_scope(self, node: Order, outer: Scope | None = None) -> Scope:
        """ORDER BY sees the result, and below it what the SELECT saw."""
        below = node.input.input if isinstance(node.input, Distinct) else node.input
        result = Scope((self.output(node.input),), outer=outer)
        seen = self.items_scope(below, outer) if isinstance(below, Project | Aggregate) else self.visible(below, outer)
        return Scope(result.relations + seen.relations, seen.given, outer)

    def _selected(self, node: Project | Aggregate) -> Relation:
        scope = self.items_scope(node)
        columns: list[Column] = []
        is_open = False
        for item in node.items:
            starred = parsed(item.text).star if item.name is None else None
            if starred is not None:
                found = self._expanded(starred, node.input, scope)
                is_open = is_open or found is None
                columns += found or ()
            elif spread(item.text)[1]:
                columns += [Column(name, UNKNOWN) for name in spread(item.text)[1]]
            elif item.name is None and any(call.name in _MANY_COLUMNS for call in parsed(item.text).calls):
                is_open = True
            else:
                named = Scope(scope.relations, (*scope.given, *(column for column in columns if column.name)), scope.outer)
                columns.append(Column(item.name or parsed(item.text).output_name or "", type_of(item.text, named.look)))
        return Relation(None, tuple(columns), is_open)

    def _expanded(self, star: Star, below: Node | None, scope: Scope) -> tuple[Column, ...] | None:
        """The columns of `*` or `t.*`; None where they are not known."""
        if star.qualifier is None:
            all_of = self.output(below) if below is not None else Relation(None, ())
            return None if all_of.open else tuple(column for column in all_of.columns if column.name.lower() not in star.left_out)
        if star.left_out:
            return None
        named = (relation for relation in scope.relations if relation.name is not None and relation.name.lower() == star.qualifier)
        relation = next(named, None)
        if relation is not None:
            return None if relation.open else relation.columns
        fields = fields_of(scope.look((star.qualifier,)))
        return None if fields is None else fields.columns

    def _joined(self, node: Join) -> Relation:
        left, right = self.output(node.left), self.output(node.right)
        if node.kind in ("semi", "anti"):
            return left
        is_open = left.open or right.open
        if not node.using:
            return Relation(None, left.columns + right.columns, is_open)
        shared = {name.lower() for name in node.using}
        side = right if node.kind == "right" else left
        keys = tuple(side.find(name) or Column(name, UNKNOWN) for name in node.using)
        rest = tuple(column for column in left.columns + right.columns if column.name.lower() not in shared)
        return Relation(None, keys + rest, is_open)

    def _matched(self, node: Operate, pattern: Pattern) -> Relation:
        """What a row pattern shows: what it is partitioned by and its measures; with ALL ROWS PER MATCH its order and all other columns too."""
        below, look = self.output(node.inputs[0]), self.visible(node.inputs[0]).look
        matching = taken_apart(pattern)
        values = {f"{ANSWER}{place}": _value_of(entry) for place, entry in enumerate(matching.answers)}
        measures = tuple(Column(name, type_of(values.get(text) or "", look)) for name, text in matching.measures)
        shown = shown_first(node, pattern)
        first = tuple(below.find(name) or Column(name, UNKNOWN) for name in shown)
        if not pattern.all_rows:
            return Relation(None, first + measures)
        rest = tuple(column for column in below.columns if column.name.lower() not in {ALL, *(name.lower() for name in shown)})
        return Relation(None, first + measures + rest, below.open)

    def _generated(self, node: Generate) -> Relation:
        view = lateral_view(node.text)
        types = generated_types(view.call, self.visible(node.input).look)
        if not view.columns:
            return Relation(view.table, (), True)
        known = types if types is not None and len(types) == len(view.columns) else (UNKNOWN,) * len(view.columns)
        return Relation(view.table, tuple(Column(name, kind) for name, kind in zip(view.columns, known, strict=True)))


def columns_of(node: Node, schema_of: SchemaOf) -> Schema | None:
    """The columns of a plan's result, a type `unknown` where it is not known; None where a name is not known."""
    relation = Names(schema_of).output(node)
    return None if relation.open or not all(column.name for column in relation.columns) else Schema(relation.columns)


def schemas(declarations: Mapping[str, Declaration]) -> SchemaOf:
    """The columns of every declared name, as far as they can be known without Spark; case does not matter."""
    by_name = {name.lower(): entry for name, entry in declarations.items()}
    found: dict[str, Schema | None] = {}

    def schema_of(name: str) -> Schema | None:
        wanted = name.lower()
        if wanted not in found:
            found[wanted] = None  # a view that reads itself ends here; the cycle is reported elsewhere
            entry = by_name.get(wanted)
            if isinstance(entry, Stream | Table):
                found[wanted] = entry.schema if len(entry.schema) else None
            elif isinstance(entry, View):
                found[wanted] = columns_of(entry.query, schema_of)
        return found[wanted]

    return schema_of


def _renamed(relation: Relation, names: tuple[str, ...]) -> Relation:
    if not names:
        return relation
    if relation.open or len(names) != len(relation.columns):
        return Relation(None, tuple(Column(name, UNKNOWN) for name in names))
    return Relation(None, tuple(Column(name, column.type) for name, column in zip(names, relation.columns, strict=True)))


def _united(sides: list[Relation]) -> Relation:
    """Names of the first side; a type only where all sides agree on it."""
    first = sides[0]
    if any(side.open or len(side.columns) != len(first.columns) for side in sides):
        return first
    kinds = [{side.columns[index].type for side in sides} for index in range(len(first.columns))]
    return Relation(
        None, tuple(column if len(kind) == 1 else Column(column.name, UNKNOWN) for column, kind in zip(first.columns, kinds, strict=True))
    )


def mismatch(left: Relation, right: Relation) -> tuple[Column, Column] | None:
    """The first pair of columns, by position, that a set operation cannot bring together."""
    pairs = zip(left.columns, right.columns, strict=False)
    return next((pair for pair in pairs if not comparable(pair[0].type, pair[1].type)), None)


def _value_of(asked: Primitive) -> str | None:
    """The expression whose type a measure has that is one navigation alone."""
    return asked.value if isinstance(asked, Navigation) and asked.value != LABEL else None


def _group_texts(node: Aggregate) -> tuple[str, ...]:
    return (*node.groups, *((node.grouping,) if node.grouping else ()))
