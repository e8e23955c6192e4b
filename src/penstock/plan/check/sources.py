"""Finds what is wrong with a stream or table as it is declared: names, types, computed columns, event time, options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from penstock.errors import UserError
from penstock.eventtime import delay
from penstock.plan.check.expressions import expression_findings
from penstock.plan.expression.forbid import forbid
from penstock.plan.expression.types import UNKNOWN, type_fault
from penstock.plan.model.declare import Options, Stream, Table
from penstock.plan.model.findings import ERROR, Finding, from_error, from_errors
from penstock.plan.model.resolve import closest
from penstock.schema import Column

SourceCheck: TypeAlias = Callable[[str, str, Options, Sequence[str]], Mapping[str, Sequence[str]] | None]


def source_findings(entry: Stream | Table, check_source: SourceCheck) -> Iterator[Finding]:
    """Everything that is wrong with one declaration."""
    for fault in entry.faults:
        yield from_error(fault, entry.where)
    seen: set[str] = set()
    for column in entry.schema:
        if column.name.startswith("__"):
            hint = "names of columns that begin with __ belong to Penstock"
            yield Finding(ERROR, "NameFault", f"`{entry.name}.{column.name}` is a reserved name", entry.where, hint=hint)
        if column.name.lower() in seen:
            hint = "names of columns differ in more than their case"
            yield Finding(ERROR, "NameFault", f"`{entry.name}` has two columns `{column.name}`", entry.where, hint=hint)
        seen.add(column.name.lower())
        if column.computed is not None:
            yield from _computed(entry, column, column.computed)
        wrong = None if column.type == UNKNOWN else type_fault(column.type)
        if wrong is not None:
            yield Finding(ERROR, "TypeFault", f"`{entry.name}.{column.name}`: {wrong[0]}", entry.where, hint=wrong[1])
    if isinstance(entry, Stream):
        yield from event_time_findings(entry)
    kind = "stream" if isinstance(entry, Stream) else "table"
    try:
        for name, columns in (check_source(kind, entry.name, entry.options, entry.schema.given.names) or {}).items():
            yield from expression_findings(f"`{entry.name}.{name}`", str(entry.options[name]), columns, entry.where)
        if entry.options.get("connector") == "generator":  # whose columns are expressions, which Spark gets as SQL
            for name, value in entry.options.items():
                if isinstance(value, str) and entry.schema.find(name) is not None:
                    forbid(value, entry.where)
    except UserError as error:
        yield from from_errors(error, entry.where)


def _computed(entry: Stream | Table, column: Column, expression: str) -> Iterator[Finding]:
    """A computed column is an expression over the columns that a record of a stream holds."""
    name = f"`{entry.name}.{column.name}`"
    if isinstance(entry, Table):
        hint = "compute it in the view that joins the table"
        yield Finding(ERROR, "PlanFault", f"{name}: only a stream has computed columns", entry.where, hint=hint)
        return
    if column.type == UNKNOWN:
        hint = f"write its type: {column.name} TIMESTAMP AS ({expression})"
        yield Finding(ERROR, "TypeFault", f"{name}: the type of `{expression}` is not known without running it", entry.where, hint=hint)
    yield from expression_findings(name, expression, entry.schema.given.names, entry.where)


def event_time_findings(stream: Stream) -> Iterator[Finding]:
    """An event time that is no column or no time, and a lateness that is no duration."""
    if stream.event_time is not None and len(stream.schema):
        column = stream.schema.find(stream.event_time)
        if column is None:
            near = closest(stream.event_time, stream.schema.names)
            message = f"`{stream.name}` has no column `{stream.event_time}` for its event time"
            yield Finding(ERROR, "NameFault", message, stream.where, hint=f"did you mean `{near}`?" if near else None)
        elif column.type not in ("timestamp", "timestamp_ntz"):
            message = f"the event time of `{stream.name}` is {column.type.upper()}, not TIMESTAMP"
            yield Finding(ERROR, "TypeFault", message, stream.where, hint=f"declare `{column.name} TIMESTAMP`")
    if stream.lateness is not None:
        try:
            delay(stream.lateness)
        except UserError as error:
            yield from_error(error, stream.where)
