"""The inputs of a plan above a streaming query: its highest parts that need no state, and which of their columns it needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from penstock.plan.cut.local_keys import Sources
from penstock.plan.cut.shape import Shapes
from penstock.plan.expression.parsed import parsed
from penstock.plan.expression.types import UNKNOWN
from penstock.plan.model.keys import called
from penstock.plan.model.names import Names
from penstock.plan.model.nodes import Aggregate, Alias, Distinct, Node, Operate, Order, Project, Scan, Union, rebuild, walk
from penstock.plan.model.text import sql
from penstock.schema import Schema, literal, quote

INPUT = "__g"
_WHOLE_NUMBERS = ("tinyint", "smallint", "int", "bigint", "byte", "short", "integer", "long")
_WITH_FLOATING = re.compile(r"<.*\b(double|float)\b")
_ALL_COLUMNS = re.compile(r"\bselect\s+(distinct\s+)?(\S+\.)?\*")
_COUNT = re.compile(r"\bcount\s*\(\s*\*\s*\)", re.IGNORECASE)


@dataclass(frozen=True)
class Input:
    """A part of a plan whose rows are kept, with its columns."""

    plan: Node
    schema: Schema

    def struct(self, is_needed: Callable[[str], bool], at_least: str) -> str:
        """A row as one value of the columns that are needed, or of one where none is."""
        needed = [column for column in self.schema.names if is_needed(column)] or [at_least]
        return f"named_struct({', '.join(f'{literal(column)}, {quote(column)}' for column in needed)})"


def inputs_of(plan: Node, shapes: Shapes, *, shared: bool) -> tuple[list[Node], Node]:
    """The highest parts that need no state, and the plan over what was kept of them; `shared`: one that is read twice is one input."""
    inputs: list[Node] = []

    def swap(node: Node, inside: bool = False) -> Node:
        """`inside` a subquery a condition may name columns of the rows around it, so only what is read there is an input."""
        if not shapes.reads_stream(node):
            return node
        name, subs = called(node), getattr(node, "subs", ())
        takes = isinstance(node, Scan) or (isinstance(node, Alias) and isinstance(node.input, Scan)) if inside else True
        if takes and shapes.stateless(node) and (name is not None or isinstance(node, Project | Union | Operate)):
            rows = node.input if isinstance(node, Alias) and not node.columns else node
            at = inputs.index(rows) if shared and rows in inputs else len(inputs)
            inputs.extend([rows] if at == len(inputs) else [])
            scan = Scan(f"{INPUT}{at}")
            return scan if name is None else Alias(scan, name)
        if isinstance(node, Order | Distinct) and isinstance(node.input, Project | Distinct):  # its keys see what the SELECT saw
            return rebuild(node, lambda child: rebuild(child, swap) if child == node.input else swap(child, inside or child in subs))
        return rebuild(node, lambda child: swap(child, inside or child in subs))

    upper = swap(plan)
    return inputs, upper


def described(plans: list[Node], names: Names) -> dict[str, Input] | None:
    """The inputs with their columns; None where those of one are not known, or not all by names of their own."""
    inputs: dict[str, Input] = {}
    for number, plan in enumerate(plans):
        schema = known_columns(plan, names)
        if schema is None:
            return None
        inputs[f"{INPUT}{number}"] = Input(plan, schema)
    return inputs


def known_columns(plan: Node, names: Names) -> Schema | None:
    """The columns of a plan; None where they are not known, or not all by names of their own."""
    output = names.output(plan)
    columns = tuple(column.name or "" for column in output.columns)
    if output.open or not all(columns) or len({name.lower() for name in columns}) < len(columns):
        return None
    return Schema(output.columns)


def comparable(sources: Sources, schemas: Mapping[str, Schema]) -> bool:
    """Whether equal values of these columns are equal in one common type too: 1 and 1, but not 1 and '01'; and in their text: not floating parts."""
    found = [schemas[name].find(column) for name, column in sources]
    types = {UNKNOWN if column is None else column.type.lower() for column in found}
    if any(_WITH_FLOATING.search(kind) for kind in types):
        return False
    return (len(types) == 1 and (len(sources) == 1 or UNKNOWN not in types)) or all(kind in _WHOLE_NUMBERS for kind in types)


def mentioned(plans: Sequence[Node]) -> Callable[[str], bool]:
    """Whether a column may be named in one of the plans; a star names all of them."""
    items = (item for plan in plans for part in walk(plan) if isinstance(part, Project | Aggregate) for item in part.items)
    texts = (_COUNT.sub("count(1)", item.text) for item in items)
    text = "\n".join(sql(plan) for plan in plans).lower()
    starred = _ALL_COLUMNS.search(text) is not None or any(parsed(text).has_star for text in texts)
    return lambda name: starred or re.search(rf"(?<!\w){re.escape(name.lower())}(?!\w)", text) is not None
