"""The logical plan: frozen nodes, scalar expressions as Spark SQL text.

A node says what is wanted, never how it runs. Two plans are equal when they mean the same text,
whatever file they were written in: `where` takes no part in comparison.

A SELECT inside an expression (`x > (SELECT ...)`, `IN (SELECT ...)`, `EXISTS (...)`) is a plan too. It stands in
the node's `subs`, and the text names it `__sub_0__`, `__sub_1__`... without its brackets' content:
`x > (__sub_0__)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import TypeAlias

from penstock.errors import Where
from penstock.plan.model.pattern import Pattern
from penstock.schema import Schema, quote


@dataclass(frozen=True)
class Item:
    """One entry of a select list: text, and the name it is given (None: Spark names it). `*` is an item."""

    text: str
    name: str | None = None

    def __str__(self) -> str:
        return self.text if self.name is None else f"{self.text} AS {quoted(self.name)}"


@dataclass(frozen=True)
class Scan:
    """The rows of a stream, table or view."""

    name: str
    where: Where | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Alias:
    """`input AS name`: the name by which expressions above may qualify columns."""

    input: Node
    name: str
    columns: tuple[str, ...] = ()
    where: Where | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Filter:
    """WHERE."""

    input: Node
    condition: str
    subs: tuple[Node, ...] = ()
    where: Where | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Project:
    """SELECT without aggregates; items may hold window functions (`... OVER (...)`)."""

    input: Node | None
    items: tuple[Item, ...]
    subs: tuple[Node, ...] = ()
    where: Where | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Join:
    """`kind` is inner, left, right, full, semi, anti or cross; `lateral` marks a right side that sees the left."""

    left: Node
    right: Node
    kind: str = "inner"
    on: str | None = None
    using: tuple[str, ...] = ()
    subs: tuple[Node, ...] = ()
    lateral: bool = False
    where: Where | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Generate:
    """`LATERAL VIEW [OUTER] explode(...) t AS a, b`, kept as the user wrote it."""

    input: Node
    text: str
    where: Where | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Aggregate:
    """GROUP BY with its select list. `groups` is empty for a global aggregate.

    `grouping` is the text after GROUP BY where it is more than a list (ROLLUP, CUBE, GROUPING SETS, ALL).
    A time window is a group whose text calls window() or session_window(); see `window_of`. `written` are groups and grouping
    before names of the select list were replaced in them; see `aliases`.
    """

    input: Node
    groups: tuple[str, ...]
    items: tuple[Item, ...]
    having: str | None = None
    grouping: str | None = None
    subs: tuple[Node, ...] = ()
    where: Where | None = field(default=None, compare=False)
    written: tuple[tuple[str, ...], str | None] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Union:
    """UNION ALL by position; UNION is a Distinct above it."""

    inputs: tuple[Node, ...]
    where: Where | None = field(default=None, compare=False)


@dataclass(frozen=True)
class SetOperation:
    """`kind` is `INTERSECT`, `EXCEPT`, `INTERSECT ALL` or `EXCEPT ALL`."""

    left: Node
    right: Node
    kind: str
    where: Where | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Distinct:
    """SELECT DISTINCT."""

    input: Node
    where: Where | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Order:
    """ORDER BY, LIMIT, OFFSET: any of the three."""

    input: Node
    keys: tuple[str, ...] = ()
    limit: str | None = None
    offset: str | None = None
    subs: tuple[Node, ...] = ()
    where: Where | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Opaque:
    """SQL that Penstock does not look into; `names` are the streams, tables and views it reads."""

    sql: str
    names: tuple[str, ...]
    where: Where | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Operate:
    """Rows made by a Python function of the app, `module:name`, over Arrow batches; its columns are `returns`, whatever the inputs hold.

    Without `keys` the function sees the rows as they come, some at a time, and keeps nothing (`map_batches`). With `keys` the rows of a
    key come one after the other by `order`, or by their event time; `state` are the columns that are kept of each key from one epoch to the
    next (`map_with_state`). `options` are more words on it, by name: vectorized, arrival, ttl, output.

    A row pattern is such a function too: with a `pattern`, `function` is MATCH, and what is returned is worked out by `names`.
    """

    inputs: tuple[Node, ...]
    function: str
    returns: Schema
    keys: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    state: Schema | None = None
    options: tuple[tuple[str, str], ...] = ()
    pattern: Pattern | None = None
    where: Where | None = field(default=None, compare=False)

    def option(self, name: str) -> str | None:
        """What was given by that name; empty for a word that stands alone."""
        return dict(self.options).get(name)

    @property
    def is_keyed(self) -> bool:
        """Whether the rows of a key come in order, with what is kept of it."""
        return bool(self.keys)

    @property
    def is_stateless(self) -> bool:
        """Whether each row gives its output rows alone."""
        return not self.keys and self.state is None and self.pattern is None and len(self.inputs) == 1


Node: TypeAlias = Scan | Alias | Filter | Project | Join | Generate | Aggregate | Union | SetOperation | Distinct | Order | Opaque | Operate


MATCH = "match_recognize"
"""The function of an operator that matches a row pattern."""

quoted = quote


def children(node: Node) -> tuple[Node, ...]:
    """The plans directly below a node: inputs first, then those inside its expressions."""
    found: list[Node] = []
    for spec in fields(node):
        value = getattr(node, spec.name)
        if isinstance(value, Node):
            found.append(value)
        elif isinstance(value, tuple):
            found.extend(entry for entry in value if isinstance(entry, Node))
    return tuple(found)


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, top first."""
    yield node
    for child in children(node):
        yield from walk(child)


def rebuild(node: Node, change: Callable[[Node], Node]) -> Node:
    """The same node with `change` applied to each plan directly below it."""
    altered: dict[str, object] = {}
    for spec in fields(node):
        value = getattr(node, spec.name)
        if isinstance(value, Node):
            altered[spec.name] = change(value)
        elif isinstance(value, tuple) and any(isinstance(entry, Node) for entry in value):
            altered[spec.name] = tuple(change(entry) if isinstance(entry, Node) else entry for entry in value)
    return replace(node, **altered) if altered else node  # type: ignore[arg-type]


def names_read(node: Node) -> tuple[str, ...]:
    """Every stream, table and view the plan reads, each once, in order of appearance."""
    found: dict[str, None] = {}
    for part in walk(node):
        if isinstance(part, Scan):
            found.setdefault(part.name)
        elif isinstance(part, Opaque):
            found.update(dict.fromkeys(part.names))
    return tuple(found)
