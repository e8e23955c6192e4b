"""A file of SQL as statements: CREATE STREAM, TABLE, MATERIALIZED VIEW, SINK and FUNCTION, DROP; and SELECT and SUBSCRIBE for the shell.

These are all the statements there are.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from penstock.errors import ForbiddenFault, SyntaxFault, UserError, Where
from penstock.option import raise_all
from penstock.plan.expression.passage import Passage
from penstock.plan.expression.words import words
from penstock.plan.model.declare import RESERVED_HINT, Declaration, Emit, Secret, Sink, Stream, Table, View, is_reserved
from penstock.plan.model.nodes import Node
from penstock.plan.sql.definition import Columns, read_columns, read_options
from penstock.plan.sql.operators import read_function
from penstock.plan.sql.other_statements import read_encoding, refuse_other_statements
from penstock.plan.sql.select import read_select
from penstock.schema import Schema

KINDS = ("stream", "table", "view", "materialized", "sink", "function")
_ELSEWHERE = words(
    """
set reset add insert load cache uncache execute declare call refresh alter merge update delete truncate analyze msck use describe desc
show explain grant revoke begin import export comment map reduce list repair temporary temp global variable database schema
catalog user role index external
"""
)


@dataclass(frozen=True)
class Create:
    """A CREATE statement; `text` is how it was written, where it was written in SQL."""

    declaration: Declaration
    or_replace: bool = False
    if_not_exists: bool = False
    text: str = field(default="", compare=False)
    where: Where | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Drop:
    """DROP; `kind` is stream, table, view, sink or function."""

    kind: str
    name: str
    if_exists: bool = False
    where: Where | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Select:
    """A bare SELECT, as the shell takes it."""

    node: Node
    text: str
    where: Where | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Subscribe:
    """SUBSCRIBE view."""

    name: str
    where: Where | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Rollback:
    """ROLLBACK VIEW name: as it was before it was last replaced."""

    name: str
    where: Where | None = field(default=None, compare=False)


Statement: TypeAlias = Create | Drop | Select | Subscribe | Rollback


def parse(text: str, file: str, first_line: int = 1) -> list[Statement]:
    """The statements of a file, in order; raises what is wrong with how they are written, all of it."""
    found = parse_for_check(text, file, first_line)
    raise_all(_kept_faults(found))
    return found


def parse_for_check(text: str, file: str, first_line: int = 1) -> list[Statement]:
    """The same, but streams and tables keep what is wrong with them, so that a check reports it beside what is wrong with their options and types."""
    passage = Passage(text, file, first_line)
    found: list[Statement] = []
    faults: list[UserError] = []
    for low, high in _split(passage):
        try:
            found.append(_statement(passage, low, high))
        except UserError as fault:
            faults += [fault, *(other for other in fault.others if isinstance(other, UserError))]
    if faults:
        raise_all([*_kept_faults(found), *faults])
    return found


def _kept_faults(statements: Iterable[Statement]) -> list[UserError]:
    declared = (statement.declaration for statement in statements if isinstance(statement, Create))
    return [fault for entry in declared if isinstance(entry, Stream | Table) for fault in entry.faults]


def parse_creates(text: str, file: str, first_line: int = 1) -> list[Create]:
    """The CREATE statements of a text that holds nothing else."""
    creates: list[Create] = []
    for statement in parse(text, file, first_line):
        if not isinstance(statement, Create):
            raise SyntaxFault(
                "only CREATE statements can stand here",
                where=statement.where,
                hint="SELECT, SUBSCRIBE and DROP belong into the shell or a file of their own",
            )
        creates.append(statement)
    return creates


def _split(passage: Passage) -> list[tuple[int, int]]:
    """The ranges between semicolons; a statement that runs into the next is a fault."""
    ranges: list[tuple[int, int]] = []
    begin, total = 0, len(passage.tokens)
    for index in range(total + 1):
        if index < total and not passage.is_op(index, total, ";"):
            if index > begin and _begins_statement(passage, index, total):
                raise passage.fault("a semicolon is missing before this statement", index, index + 2, "end each statement with ;")
            continue
        if index > begin:
            ranges.append((begin, index))
        begin = index + 1
    return ranges


def _begins_statement(passage: Passage, index: int, high: int) -> bool:
    if not passage.word(index, high, "create", "drop"):
        return False
    if passage.word(index + 1, high, "or") and passage.word(index + 2, high, "replace"):
        return True
    return passage.word(index + 1, high, *KINDS) and index + 2 < high and (passage.tokens[index + 2].is_name)


def _statement(passage: Passage, low: int, high: int) -> Statement:
    refuse_other_statements(passage, low, high)
    if passage.word(low, high, "create"):
        return _create(passage, low, high)
    if passage.word(low, high, "drop"):
        return _drop(passage, low, high)
    if passage.word(low, high, "rollback"):
        if high != low + 3 or not passage.word(low + 1, high, "view") or not passage.tokens[low + 2].is_name:
            raise passage.fault("ROLLBACK wants the name of a view", low, high, "ROLLBACK VIEW totals")
        return Rollback(passage.tokens[low + 2].value, where=passage.where(low))
    if passage.word(low, high, "subscribe"):
        if high != low + 2 or not passage.tokens[low + 1].is_name:
            raise passage.fault("SUBSCRIBE wants the name of a view", low, high, "SUBSCRIBE totals")
        return Subscribe(passage.tokens[low + 1].value, where=passage.where(low))
    if passage.word(low, high, "select", "with", "from", "values", "table") or passage.is_op(low, high, "("):
        refuse_emit(passage, low, high, "EMIT belongs into CREATE MATERIALIZED VIEW; a SELECT alone is answered once")
        selection = read_select(passage, low, high)
        return Select(selection.node, passage.slice(low, high), where=passage.where(low))
    known = ("create", "drop", "select", "with", "rollback")
    raise _unknown(passage, low, high, known, "statements are CREATE, DROP and SELECT")


def _unknown(passage: Passage, low: int, high: int, known: tuple[str, ...], hint: str) -> UserError:
    """The fault for a word that begins no statement: forbidden if it is one of Spark's, a slip of the pen otherwise."""
    if low >= high:
        return passage.fault("the statement ends too early", high - 1, high, hint)
    word = passage.tokens[low].value
    if word.lower() in _ELSEWHERE:
        return passage.fault(f"{word.upper()} is not allowed in an app", low, low + 1, hint, ForbiddenFault)
    near = difflib.get_close_matches(word.lower(), known, n=1)
    return passage.fault(f"`{word}` is not known here", low, low + 1, f"did you mean {near[0].upper()}?" if near else hint)


def _create(passage: Passage, low: int, high: int) -> Create:
    at = low + 1
    or_replace = passage.word(at, high, "or") and passage.word(at + 1, high, "replace")
    at += 2 if or_replace else 0
    kind_at = at
    if not passage.word(at, high, *KINDS):
        raise _unknown(passage, at, high, KINDS, "CREATE STREAM, TABLE, MATERIALIZED VIEW, SINK or FUNCTION")
    kind = passage.tokens[at].text.lower()
    if kind == "materialized":
        at += 1
        if not passage.word(at, high, "view"):
            raise passage.fault("MATERIALIZED is followed by VIEW", at, at + 1, "CREATE MATERIALIZED VIEW name AS SELECT ...")
    at += 1
    if_not_exists = passage.word(at, high, "if") and passage.word(at + 1, high, "not") and passage.word(at + 2, high, "exists")
    at += 3 if if_not_exists else 0
    name = _name(passage, at, high, f"CREATE {passage.slice(kind_at, at).upper()}")
    if kind in ("stream", "table"):
        declaration: Declaration = _relation(passage, kind, name, at, high)
    elif kind == "sink":
        declaration = _sink(passage, name, at, high)
    elif kind == "function":
        declaration = read_function(passage, name, at, high)
    else:
        declaration = _view(passage, name, at, high)
    return Create(declaration, or_replace, if_not_exists, passage.slice(low, high), where=passage.where(low))


def _name(passage: Passage, at: int, high: int, after: str) -> str:
    if at >= high or not passage.tokens[at].is_name or passage.word(at, high, "as", "with", "from"):
        raise passage.fault(f"a name is missing after {after}", min(at, high - 1), at + 1)
    if passage.is_op(at + 1, high, "."):
        raise passage.fault("names of streams, tables, views and sinks have one part", at, at + 3, "an app has no schemas; write the name alone")
    name = passage.tokens[at].value
    if is_reserved(name):
        raise passage.fault(f"`{name}` is a reserved name", at, at + 1, RESERVED_HINT)
    return name


def _relation(passage: Passage, kind: str, name: str, at: int, high: int) -> Stream | Table:
    found, after = Columns(Schema(())), at + 1
    if passage.is_op(after, high, "("):
        close = passage.close(after, high)
        found, after = read_columns(passage, after, close), close + 1
    elif kind == "stream":
        raise passage.fault(f"the columns of `{name}` are missing", at, at + 1, f"CREATE STREAM {name} (id STRING, at TIMESTAMP) WITH (...)")
    if passage.word(after, high, "as", "using", "location", "partitioned"):
        raise passage.fault(
            f"{passage.tokens[after].text.upper()} is not known here",
            after,
            after + 1,
            "what is computed is a view; where it lies is set in WITH (...)",
        )
    faults = list(found.faults)
    options: dict[str, str | Secret] = {}
    try:
        options = _needed_options(passage, f"{kind} `{name}`", at, after, high)
    except UserError as fault:
        raise_all([*faults, fault])
    if kind == "table" and found.event_time is None:
        return Table(name, found.schema, options, where=passage.where(at), faults=tuple(faults))
    if kind == "table":
        hint = f"rows that come by and by are a stream: CREATE STREAM {name} (...)"
        faults.insert(0, passage.fault(f"`{name}` is a table, and tables have no watermark", at, at + 1, hint))
    return Stream(name, found.schema, options, found.event_time, found.lateness, where=passage.where(at), faults=tuple(faults))


def _needed_options(passage: Passage, what: str, at: int, after: int, high: int) -> dict[str, str | Secret]:
    if after >= high or not passage.word(after, high, "with"):
        place = after if after < high else at
        raise passage.fault(f"the options of the {what} are missing", place, place + 1, "add WITH (connector = '...', ...)")
    options, end = read_options(passage, after, high)
    end = read_encoding(passage, end, high, options)
    if end < high:
        raise passage.fault(f"`{passage.tokens[end].text}` is not expected here", end, end + 1, "is a semicolon missing before it?")
    return options


def _sink(passage: Passage, name: str, at: int, high: int) -> Sink:
    if not passage.word(at + 1, high, "from"):
        raise passage.fault(f"the sink `{name}` does not say which view it delivers", at, at + 1, f"CREATE SINK {name} FROM view WITH (...)")
    if passage.is_op(at + 2, high, "("):
        raise passage.fault("a sink delivers a view, not a query", at + 2, at + 3, "create a view of it first")
    view = _name(passage, at + 2, high, "FROM")
    return Sink(name, view, _needed_options(passage, f"sink `{name}`", at, at + 3, high), where=passage.where(at))


def _view(passage: Passage, name: str, at: int, high: int) -> View:
    if passage.is_op(at + 1, high, "("):
        hint = f"name the columns in the query: CREATE MATERIALIZED VIEW {name} AS SELECT id AS a, ..."
        raise passage.fault(f"the view `{name}` takes no list of columns", at + 1, passage.close(at + 1, high) + 1, hint)
    options, after = read_options(passage, at + 1, high)
    if not passage.word(after, high, "as"):
        raise passage.fault(f"the query of `{name}` is missing", min(after, high - 1), after + 1, f"CREATE MATERIALIZED VIEW {name} AS SELECT ...")
    low, end = after + 1, high
    trailing = next((index for index in passage.top(low, high) if _trailing_options(passage, index, high)), None) if low < high else None
    if trailing is not None:
        more, _ = read_options(passage, trailing, high)
        twice = sorted(more.keys() & options.keys())
        if twice:
            raise passage.fault(f"the option `{twice[0]}` is given twice", trailing, high)
        options, end = {**options, **more}, trailing
    emit, end = _emit(passage, low, end)
    selection = read_select(passage, low, end)
    return View(
        name,
        selection.node,
        emit,
        options,
        passage.slice(low, end),
        where=passage.where(at),
        begins=passage.where(low),
        watermarks=selection.watermarks,
    )


def _trailing_options(passage: Passage, index: int, high: int) -> bool:
    return passage.word(index, high, "with") and passage.is_op(index + 1, high, "(") and passage.close(index + 1, high) == high - 1


def _emit(passage: Passage, low: int, high: int) -> tuple[Emit, int]:
    """EMIT CHANGES | ON WINDOW CLOSE | FINAL | COMPLETE at the end of a query, and where the query ends."""
    forms = {"changes": Emit.CHANGES, "on window close": Emit.ON_CLOSE, "on close": Emit.ON_CLOSE, "final": Emit.ON_CLOSE, "complete": Emit.COMPLETE}
    at = (
        next((index for index in passage.top(low, high) if passage.word(index, high, "emit") and passage.opens_clause(index)), None)
        if low < high
        else None
    )
    if at is None or at + 1 >= high or passage.tokens[at + 1].kind == "op" or passage.word(at - 1, high, "as", "from", "join"):
        return Emit.CHANGES, high
    written = " ".join(token.text.lower() for token in passage.tokens[at + 1 : high])
    if written in forms:
        return forms[written], at
    hint = "EMIT CHANGES, EMIT ON WINDOW CLOSE or EMIT COMPLETE, at the end of the query"
    early = next((form for form in forms if written.startswith(f"{form} ")), None)
    if early is not None:
        rest = passage.slice(at + 1 + len(early.split()), high)
        raise passage.fault(f"EMIT {early.upper()} stands at the end of the query", at, high, f"... {rest} EMIT {early.upper()}")
    raise passage.fault(f"EMIT {written.upper()} is not known", at, high, hint)


def refuse_emit(passage: Passage, low: int, high: int, hint: str) -> None:
    """SyntaxFault for an EMIT at the end of a query that is not a view's in SQL."""
    _, end = _emit(passage, low, high)
    if end < high:
        raise passage.fault("EMIT is not part of a SELECT", end, high, hint)


def _drop(passage: Passage, low: int, high: int) -> Drop:
    at = low + 1 + (passage.word(low + 1, high, "materialized") and passage.word(low + 2, high, "view"))
    kinds = ("stream", "table", "view", "sink", "function")
    if not passage.word(at, high, *kinds):
        raise _unknown(passage, at, high, kinds, "DROP STREAM, TABLE, VIEW, SINK or FUNCTION")
    kind = passage.tokens[at].text.lower()
    at += 1
    if_exists = passage.word(at, high, "if") and passage.word(at + 1, high, "exists")
    at += 2 if if_exists else 0
    name = _name(passage, at, high, f"DROP {kind.upper()}")
    if at + 1 < high:
        raise passage.fault(f"`{passage.tokens[at + 1].text}` is not expected here", at + 1, at + 2)
    return Drop(kind, name, if_exists, where=passage.where(low))
