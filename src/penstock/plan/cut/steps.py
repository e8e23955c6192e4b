"""staged: a plan taken apart into steps, each of which follows the rows of those below it.

The rows that the plan needs are kept as they come. A step is the highest part that follows the rows below it by their changes, or by the
columns that it is local to (`cut.follow`); where a part is neither, the parts that it is made of are steps of their own, and it stands above
their rows. So each step of an epoch costs what changed in the step below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from penstock.plan.cut.correlation import names_around
from penstock.plan.cut.follow import Way, way_of
from penstock.plan.cut.inputs import Input, described, inputs_of, known_columns, mentioned
from penstock.plan.cut.joined import joins_apart
from penstock.plan.cut.members import members_once
from penstock.plan.cut.not_in import named, without_not_in
from penstock.plan.cut.partials import Moves
from penstock.plan.cut.shape import Shapes, collates
from penstock.plan.expression.parsed import parsed
from penstock.plan.model.names import Names, SchemaOf
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
    names_read,
    rebuild,
    walk,
)
from penstock.plan.model.sorting import output_column
from penstock.schema import Schema, quote

STEP = "__s"
TAG = "__in"
ROW = "__r"


@dataclass(frozen=True)
class Step:
    """A plan over `inputs`, by the name of each and whose rows those are; one that has `single` among them looks at all when that changes."""

    name: str
    plan: Node
    inputs: tuple[tuple[str, str], ...]
    way: Way
    single: tuple[str, ...] = ()


@dataclass(frozen=True)
class Staged:
    """`lower` streams the rows of every input, tagged by its number; the last of the `steps` is the plan itself."""

    lower: Node
    inputs: tuple[str, ...]
    steps: tuple[Step, ...]


class NotStaged(Exception):
    """Why a plan cannot be taken apart into such steps."""


def staged(plan: Node, shapes: Shapes, names: Names, schema_of: SchemaOf) -> Staged:
    """The plan in steps. NotStaged where one of them would need all rows of a stream at once."""
    if any(isinstance(part, Opaque) or (isinstance(part, Operate) and part.is_keyed) for part in walk(plan)):
        raise NotStaged("it holds a part that is not looked into")
    if collates(plan):
        raise NotStaged("it compares texts by a collation")
    plans, upper = inputs_of(without_not_in(plan, names, shapes.reads_stream), shapes, shared=True)
    found = described(plans, names)
    if found is None:
        raise NotStaged("the columns of its parts are known to Spark only")
    is_needed = mentioned([upper])
    needed = {name: _of_needed(entry, is_needed) for name, entry in found.items()}
    builder = _Builder({name: entry.schema for name, entry in needed.items()}, schema_of)
    builder.add(upper)
    return Staged(_lower(needed), tuple(needed), tuple(builder.steps))


def _of_needed(entry: Input, is_needed: Callable[[str], bool]) -> Input:
    columns = tuple(column for column in entry.schema if is_needed(column.name)) or entry.schema.columns[:1]
    return replace(entry, schema=Schema(columns))


def _lower(inputs: Mapping[str, Input]) -> Node:
    """Rows of all inputs, one below the other: the number of the input, and the row in the column of that."""
    tagged: list[Node] = []
    for number, entry in enumerate(inputs.values()):
        row = entry.struct(lambda column: True, "")
        rows = tuple(Item(row if other == number else "NULL", f"{ROW}{other}") for other in range(len(inputs)))
        tagged.append(Project(Alias(entry.plan, TAG), (Item(str(number), TAG), *rows)))
    return tagged[0] if len(tagged) == 1 else Union(tuple(tagged))


class _Builder:
    def __init__(self, inputs: Mapping[str, Schema], schema_of: SchemaOf) -> None:
        self._schemas = dict(inputs)
        self._adds_only = frozenset(inputs)
        self._schema_of = schema_of
        self._small: set[str] = set()
        self._single: set[str] = set()
        self._known: dict[Node, Scan] = {}
        self._apart: dict[str, str] = {}
        self._shapes = Shapes(lambda name: name in self._schemas)
        self.steps: list[Step] = []

    def add(self, plan: Node) -> Scan:
        """The rows of a plan as those of a step, and of the steps that it needs below it; a plan that occurs twice is one step."""
        if plan not in self._known:
            found = self._fitted(plan)
            columns = known_columns(found.plan, self._names)
            if columns is None:
                raise NotStaged("the columns of its parts are known to Spark only")
            self.steps.append(found)
            self._schemas[found.name] = columns
            if self._is_small(found.plan):
                self._small.add(found.name)
            if _is_single(found.plan):
                self._single.add(found.name)
            self._known[plan] = Scan(found.name)
        return self._known[plan]

    def _fitted(self, plan: Node) -> Step:
        """The plan as one step, over others where it is made of such."""
        found = self._step(plan)
        if found is not None:
            return found
        opened = self._opened(plan)
        found = self._step(opened) or self._step(members_once(opened, self._reads, self._once))
        if found is not None:
            return found
        for below, above in joins_apart(opened, self._names):
            before = (list(self.steps), dict(self._schemas), set(self._small), set(self._single), dict(self._known))
            try:
                return self._fitted(above(self.add(below)))
            except NotStaged:
                self.steps, self._schemas, self._small, self._single, self._known = before
        raise NotStaged(_reason(plan))

    @property
    def _names(self) -> Names:
        return Names(lambda name: self._schemas.get(self._apart.get(name, name)) or self._schema_of(name))

    def _step(self, plan: Node) -> Step | None:
        """The plan as one step; None where that would look at all rows of a stream."""
        together = {entry: entry for entry in self._read(plan)}
        for beside in (frozenset[str](), self._single & together.keys()):
            for variant, inputs in ((plan, together), self._told_apart(plan)):
                found = self._way(variant, {entry: table for entry, table in inputs.items() if table not in beside})
                if found is not None:
                    single = tuple(entry for entry, table in inputs.items() if table in beside)
                    return Step(f"{STEP}{len(self.steps)}", variant, tuple(inputs.items()), found, single)
        if not together.keys() <= self._small:
            return None
        return Step(f"{STEP}{len(self.steps)}", plan, tuple(together.items()), Way())

    def _way(self, plan: Node, inputs: Mapping[str, str]) -> Way | None:
        """How the plan follows these inputs alone; None where only as a whole."""
        if not inputs:
            return None
        schemas = {name: self._schemas[table] for name, table in inputs.items()}
        known = self._schemas | schemas
        moves = Moves(adds_only=all(table in self._adds_only for table in inputs.values()))
        found = way_of(plan, schemas, lambda name: known.get(name) or self._schema_of(name), moves=moves)
        return None if found.is_whole else found

    def _told_apart(self, plan: Node) -> tuple[Node, dict[str, str]]:
        """The plan with every occurrence of its inputs as an input of its own: rows that are joined with themselves by two columns."""
        tables: dict[str, str] = {}

        def swap(node: Node) -> Node:
            if isinstance(node, Scan) and node.name in self._schemas:
                name = f"{node.name}_{len(tables)}"
                tables[name] = self._apart[name] = node.name
                return replace(node, name=name)
            return rebuild(node, swap)

        return swap(plan), tables

    def _reads(self, plan: Node) -> bool:
        return bool(self._read(plan)) and self._shapes.stateless(plan)

    def _once(self, scan: Scan) -> Scan:
        """The rows of an input, each once."""
        columns = tuple(Item(quote(name), name) for name in self._schemas[scan.name].names)
        return self.add(Aggregate(scan, tuple(item.text for item in columns), columns)) if scan.name in self._adds_only else scan

    def _read(self, plan: Node) -> tuple[str, ...]:
        return tuple(name for name in names_read(plan) if name in self._schemas)

    def _opened(self, node: Node) -> Node:
        """A block of SELECT with the plans that it is made of as steps."""
        match node:
            case Order():
                return self._sorted(node)
            case Distinct():
                return replace(node, input=self._opened(node.input) if isinstance(node.input, Project | Aggregate) else self._relation(node.input))
            case Union() | SetOperation():
                return rebuild(node, self._relation)
            case _:
                subs = getattr(node, "subs", ())
                return rebuild(node, lambda child: self._sub(child) if child in subs else self._relation(child))

    def _sorted(self, node: Order) -> Node:
        """ORDER BY over rows that stand for themselves, or over a step, by columns of that."""
        if node.subs:
            raise NotStaged("it sorts by a subquery")
        if isinstance(node.input, Project):
            sorted_ = replace(node, input=self._opened(node.input))
            if self._shapes.stateless(sorted_.input) and self._step(sorted_) is not None:
                return sorted_
        select = node.input.input if isinstance(node.input, Distinct) else node.input
        items = select.items if isinstance(select, Project | Aggregate) else ()
        keys: list[str] = []
        for text, direction in (parsed(key).direction for key in node.keys):
            shown = output_column(text, items) if items else (text if len(parsed(text).column) == 1 else None)
            if shown is None:
                raise NotStaged("it is sorted by what is no column of it")
            keys.append(f"{shown} {direction}".strip())
        return replace(node, input=self.add(node.input), keys=tuple(keys))

    def _relation(self, node: Node) -> Node:
        """What stands in FROM: a plan in brackets is a step, unless its rows are those of one input, each by itself."""
        if not self._read(node) or isinstance(node, Scan):
            return node
        match node:
            case Alias():
                return replace(node, input=self._relation(node.input))
            case Join(lateral=True):
                return replace(node, left=self._relation(node.left))
            case Filter() | Join() | Generate():
                return self._opened(node)
            case _:
                return node if self._shapes.stateless(node) else self.add(node)

    def _sub(self, plan: Node) -> Node:
        """A plan inside an expression: a step as a whole where it names nothing around it, else made of steps."""
        if not self._read(plan) or self._shapes.stateless(plan):
            return plan
        if names_around(plan, self._names):
            return self._opened(plan)
        step = self.add(named(plan))
        return Project(step, tuple(Item(quote(name), name) for name in self._schemas[step.name].names))

    def _is_small(self, node: Node) -> bool:
        """Whether there are as many rows as there are groups, not as many as a stream has."""
        match node:
            case Scan():
                name = self._apart.get(node.name, node.name)
                return name in self._small or name not in self._schemas
            case Aggregate() | Distinct():
                return True
            case Alias() | Filter() | Generate():
                return self._is_small(node.input)
            case Project():
                return node.input is None or self._is_small(node.input)
            case Order():
                return node.limit is not None or self._is_small(node.input)
            case Join():
                return self._is_small(node.left) and (node.kind in ("semi", "anti") or self._is_small(node.right))
            case Union():
                return all(map(self._is_small, node.inputs))
            case SetOperation():
                return self._is_small(node.left)
            case Opaque() | Operate():
                return False


def _is_single(node: Node) -> bool:
    """Whether it has one row at most."""
    while isinstance(node, Project | Alias | Filter | Order) and node.input is not None:
        node = node.input
    return isinstance(node, Aggregate) and not node.groups and node.grouping is None


def _reason(node: Node) -> str:
    return {
        Order: "it sorts or limits all of its rows",
        Project: "its rows depend on all rows of a stream: no column is partitioned or joined by throughout",
        Aggregate: "an aggregate of it can neither be brought up to date by changes nor looked at by group",
        SetOperation: "its sides have no column in common by which their rows could be compared",
    }.get(type(node), "its rows depend on all rows of a stream")
