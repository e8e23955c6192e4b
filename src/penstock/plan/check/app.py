"""Checks a whole app without Spark: every finding, in the order of declaration.

    declarations   names, columns, types, event time, connector options, promises of sinks
    views          what they read, cycles, then each expression in its scope, then what they keep

A false alarm is worse than a fault that Spark finds later: where something is not known, nothing is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias, assert_never

from penstock.errors import UserError
from penstock.option import raise_all
from penstock.plan.check.cycles import circles
from penstock.plan.check.groups import misplaced_aggregates, nested_aggregates, sorted_by_window, ungrouped_columns
from penstock.plan.check.keyed import keyed_findings, without_keyed
from penstock.plan.check.names import unknown_columns, unknown_functions, unknown_shared, wrong_counts
from penstock.plan.check.nondeterminism import fleeting
from penstock.plan.check.options import option_findings, setting_findings
from penstock.plan.check.places import shared_places
from penstock.plan.check.recompute import recompute_findings
from penstock.plan.check.sources import SourceCheck, source_findings
from penstock.plan.check.state import state_findings
from penstock.plan.check.types import (
    impossible_arithmetic,
    impossible_conditions,
    impossible_equalities,
    impossible_orders,
    impossible_sums,
    wrong_sides,
    wrong_windows,
)
from penstock.plan.check.user_code import function_findings, miscalled, operator_findings
from penstock.plan.check.watermarks import watermark_findings
from penstock.plan.expression.forbid import forbid
from penstock.plan.expression.foreign import refuse_foreign, require_operands
from penstock.plan.expression.grammar import validate_select
from penstock.plan.expression.passage import Passage
from penstock.plan.model.declare import (
    RESERVED_ENDINGS,
    RESERVED_HINT,
    Declaration,
    Declared,
    Function,
    Options,
    Sink,
    Stream,
    Table,
    View,
    is_reserved,
)
from penstock.plan.model.findings import ERROR, Finding, Spot, from_error, from_errors, placed
from penstock.plan.model.names import Names, schemas
from penstock.plan.model.nodes import Opaque, Scan, walk
from penstock.plan.model.resolve import Relation, closest
from penstock.plan.model.scopes import expressions
from penstock.plan.model.text import sql

SinkCheck: TypeAlias = Callable[[str, Options], object]
_EXPRESSION_CHECKS = (
    unknown_columns,
    wrong_counts,
    misplaced_aggregates,
    nested_aggregates,
    sorted_by_window,
    ungrouped_columns,
    impossible_equalities,
    impossible_orders,
    impossible_conditions,
    impossible_arithmetic,
    impossible_sums,
    wrong_windows,
)


def check(declared: Declared, check_source: SourceCheck, check_sink: SinkCheck, trigger: str = "", state: Path | None = None) -> list[Finding]:
    """Everything that is wrong or costly in an app.

    `check_source(kind, name, options, column_names)` and `check_sink(name, options)` raise OptionFault or
    PromiseFault; `kind` is `stream` or `table`. `trigger` is the setting of that name, `state` the state folder.
    """
    names = Names(schemas(declared.declarations))
    cycles = circles(declared)
    found: dict[Finding, None] = {}
    for name, entry in declared.declarations.items():
        found.update(dict.fromkeys(_reserved(name, entry)))
        match entry:
            case Stream() | Table():
                found.update(dict.fromkeys(source_findings(entry, check_source)))
            case View():
                wrong = list(_view(entry, declared, names))
                found.update(dict.fromkeys(wrong))
                if name not in cycles.leading:  # what a view keeps follows from its plan, and one that reads itself has no end
                    found.update(dict.fromkeys(_upkeep(entry, declared, trigger, sound=not any(one.severity == ERROR for one in wrong))))
            case Sink():
                found.update(dict.fromkeys(_sink(entry, declared, names, check_sink)))
            case Function():
                found.update(dict.fromkeys(function_findings(entry, declared)))
            case _:
                assert_never(entry)
    found.update(dict.fromkeys(cycles.findings))
    if not cycles.findings:
        found.update(dict.fromkeys(shared_places(declared, state)))
    found.update(dict.fromkeys(setting_findings(trigger)))
    return list(found)


def check_query(query: View, declared: Declared) -> None:
    """Raises what is wrong with a query that is asked once, of an app that was checked; it may read `STREAM__dead` and the like too."""
    names = Names(schemas(declared.declarations))
    kept = [f"{name}{ending}" for name in declared.readable for ending in RESERVED_ENDINGS]
    found = [*_unknown_relations(query, declared, kept), *_expressions(query, declared, names)]
    raise_all(fault for finding in found if isinstance(fault := finding.as_error(), UserError))


def raise_first(findings: Sequence[Finding]) -> None:
    """Raise the first error among findings, if there is one."""
    for finding in findings:
        if finding.severity == ERROR:
            raise finding.as_error()


def _reserved(name: str, entry: Declaration) -> Iterator[Finding]:
    if name.startswith(".") or any(mark in "/\\:\0\n" for mark in name):
        hint = "a name becomes a folder: letters, digits, `_`, `-` and spaces are safe"
        yield Finding(ERROR, "NameFault", f"`{name}` cannot be a name", entry.where, hint=hint)
    if is_reserved(name):
        yield Finding(ERROR, "NameFault", f"`{name}` is a reserved name", entry.where, hint=RESERVED_HINT)


def _view(view: View, declared: Declared, names: Names) -> Iterator[Finding]:
    yield from _unknown_relations(view, declared)
    yield from _unread(view)
    yield from watermark_findings(view, declared)
    yield from _expressions(view, declared, names)
    yield from fleeting(view, list(expressions(view.query, names)))
    yield from operator_findings(view, declared)
    yield from keyed_findings(view, declared)


def _expressions(view: View, declared: Declared, names: Names) -> Iterator[Finding]:
    """What is wrong with a query's expressions, each in its scope, and with the names of its result."""
    own = {name.lower() for name in declared.functions}
    for expression in expressions(view.query, names):
        yield from unknown_functions(view, expression, own)
        yield from miscalled(view, expression, declared)
        for one in _EXPRESSION_CHECKS:
            yield from one(view, expression)
    for node in walk(view.query):
        yield from unknown_shared(view, node, names)
        yield from wrong_sides(view, node, names)
    yield from _result_names(view, names)


def _upkeep(view: View, declared: Declared, trigger: str, *, sound: bool) -> Iterator[Finding]:
    kept = list(state_findings(view, declared))
    yield from kept
    if sound and not any(finding.severity == ERROR for finding in kept):
        yield from recompute_findings(view, declared)
    yield from option_findings(view, declared, trigger)


def _unread(view: View) -> Iterator[Finding]:
    """What Spark is given, not what was written: the front end has looked at its own text, but this one is printed again.

    Expressions of the Python face come here as they are, and only now as one query.
    """
    printed = Passage(sql(without_keyed(view.query)))
    try:
        forbid(printed.text, view.where)
        if not view.text:
            require_operands(printed, 0, len(printed.tokens))
            refuse_foreign(printed, 0, len(printed.tokens))
            validate_select(printed.text)
    except UserError as error:  # the lines of what is printed are none of the user's
        yield replace(from_error(error, view.where), where=view.where)


def _unknown_relations(view: View, declared: Declared, kept: Iterable[str] = ()) -> Iterator[Finding]:
    readable = {name.lower() for name in (*declared.readable, *kept)}
    for node in walk(view.query):
        read = (node.name,) if isinstance(node, Scan) else node.names if isinstance(node, Opaque) else ()
        for name in read:
            if name.lower() in readable:
                continue
            where, excerpt = placed(view, Spot(node.where, name, 0, len(name)))
            near = closest(name, declared.readable)
            hint = f"did you mean `{near}`?" if near else "declare it with CREATE STREAM, CREATE TABLE or CREATE MATERIALIZED VIEW"
            yield Finding(ERROR, "NameFault", f"there is no stream, table or view `{name}`", where, excerpt, hint)


def _result_names(view: View, names: Names) -> Iterator[Finding]:
    """A result row is one JSON object: its columns need names that differ."""
    seen: set[str] = set()
    for column in names.output(view.query).columns:
        name = column.name.lower()
        if name and name in seen:
            where, excerpt = placed(view, Spot(view.query.where))
            hint = f"name the columns apart, e.g. {column.name} AS {column.name}_2, or join USING ({column.name})"
            yield Finding(ERROR, "PlanFault", f"the result has two columns `{column.name}`", where, excerpt, hint)
            return
        if name.startswith("__"):
            where, excerpt = placed(view, Spot(view.query.where))
            hint = "names of columns that begin with __ belong to Penstock"
            yield Finding(ERROR, "NameFault", f"`{column.name}` is a reserved name", where, excerpt, hint)
        seen.add(name)


def _sink(sink: Sink, declared: Declared, names: Names, check_sink: SinkCheck) -> Iterator[Finding]:
    views = {name.lower(): view for name, view in declared.views.items()}
    view = views.get(sink.view.lower())
    if view is None:
        near = closest(sink.view, declared.views)
        other = sink.view.lower() in {name.lower() for name in declared.declarations}
        hint = f"did you mean `{near}`?" if near else "a sink delivers a view: CREATE MATERIALIZED VIEW ... AS SELECT * FROM ..." if other else None
        yield Finding(ERROR, "NameFault", f"the sink `{sink.name}` delivers `{sink.view}`, which is not a view", sink.where, hint=hint)
    try:
        check_sink(sink.name, sink.options)
    except UserError as error:
        yield from from_errors(error, sink.where)
    for option, purpose in (("key", "for its key"), ("partition_by", "to partition by")):
        named = sink.options.get(option)
        if view is not None and isinstance(named, str):
            for name in (part.strip() for part in named.split(",") if part.strip()):
                yield from _unknown_column(sink, name, purpose, names.output(view.query))


def _unknown_column(sink: Sink, name: str, purpose: str, result: Relation) -> Iterator[Finding]:
    """A name in an option that is no column of the view, as far as its columns are known without Spark."""
    if result.open or any(not column.name for column in result.columns) or result.find(name) is not None:
        return
    listed = [column.name for column in result.columns]
    near = closest(name, listed)
    hint = f"did you mean `{near}`?" if near else f"the columns of `{sink.view}` are {', '.join(listed)}"
    yield Finding(ERROR, "NameFault", f"sink `{sink.name}`: the view `{sink.view}` has no column `{name}` {purpose}", sink.where, hint=hint)


__all__ = ["Finding", "check", "raise_first"]
