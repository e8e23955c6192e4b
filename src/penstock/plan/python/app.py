"""An app in Python: what `CREATE STREAM`, `CREATE TABLE`, `CREATE MATERIALIZED VIEW` and `CREATE SINK` are in SQL."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.errors import OptionFault, PlanFault, UserError, Where
from penstock.plan.expression.passage import Passage
from penstock.plan.model.declare import Declaration, Emit, Secret, Sink, Stream, Table, View
from penstock.plan.model.nodes import Node, Scan
from penstock.plan.model.python_place import text_place
from penstock.plan.python.connectors import Connector, Value, option_texts
from penstock.plan.python.functions import functions_in
from penstock.plan.python.query import Asks, Query, check_text, finished, scan, user_names, user_place
from penstock.plan.sql.definition import parse_columns
from penstock.plan.sql.select import parse_select
from penstock.plan.sql.statements import Create, parse_creates, refuse_emit
from penstock.schema import Schema


class App:
    """Declarations in the order in which they were made. Nothing runs here: `asks` is whoever runs the queries that are made with them."""

    def __init__(self, name: str, asks: Asks | None = None) -> None:
        self.name = check_text(name, "name of the app", user_place(), "payments")
        self._asks = asks
        self._creates: list[Create] = []
        self._around = user_names()

    def declarations(self) -> list[Declaration]:
        """What was declared so far."""
        return [create.declaration for create in self._creates]

    def creates(self) -> list[Create]:
        """The same with OR REPLACE and IF NOT EXISTS, where `sql` was given them; and the functions of the file that made the app."""
        return [*(Create(entry, where=entry.where) for entry in functions_in(self._around)), *self._creates]

    def stream(
        self, name: str, source: Connector, columns: str = "", *, event_time: str | None = None, lateness: str | None = None, **options: Value
    ) -> Query:
        """A named, typed, unbounded table; `lateness` is how late a row may come behind the newest."""
        place = user_place()
        check_text(name, "name of the stream", place, "payments")
        for what, given, example in (("event time", event_time, "at"), ("lateness", lateness, "10 seconds")):
            if given is not None:
                check_text(given, f"{what} of `{name}`", place, example)
        if lateness is not None and event_time is None:
            raise PlanFault(
                f"`{name}` has a lateness but no event time",
                where=place,
                hint='add event_time="at", the column with the time at which a row happened',
            )
        schema = _columns(columns, place)
        self._declare(Stream(name, schema, _options(source, options, place), event_time, lateness, where=place))
        return self._scan(name, event_time, place)

    def table(self, name: str, source: Connector, columns: str = "", **options: Value) -> Query:
        """Reference data to join with; without columns, as the file or the database says."""
        place = user_place()
        check_text(name, "name of the table", place, "cards")
        schema = Schema(()) if isinstance(columns, str) and not columns.strip() else _columns(columns, place)
        self._declare(Table(name, schema, _options(source, options, place), where=place))
        return self._scan(name, None, place)

    def view(self, name: str, query: Query | str, *, emit: str = "changes", **options: Value) -> Query:
        """A continuous query, as a value or as the text of a SELECT; gives back its rows, for views over it."""
        place = user_place()
        check_text(name, "name of the view", place, "totals")
        if emit not in [kind.value for kind in Emit]:
            raise OptionFault(f"there is no emit `{emit}`", where=place, hint="one of " + ", ".join(f'"{kind.value}"' for kind in Emit))
        text = query if isinstance(query, str) else ""
        begins = text_place(text, place)
        node = _parsed(query, begins) if isinstance(query, str) else _finished(query, place)
        self._declare(View(name, node, Emit(emit), option_texts(options), text=text, where=place, begins=begins))
        return self._scan(name, None if isinstance(query, str) else query.time, place)

    def sink(self, name: str, view: Query | str, target: Connector, *, delivery: str | None = None, **options: Value) -> None:
        """Where a view's changes are delivered."""
        place = user_place()
        if isinstance(view, Query) and not isinstance(view.node, Scan):
            raise PlanFault("a sink delivers a view, not a query", where=place, hint="name it first: totals = app.view('totals', query)")
        check_text(name, "name of the sink", place, "out")
        read = view.node.name if isinstance(view, Query) and isinstance(view.node, Scan) else check_text(view, "view of the sink", place, "totals")
        self._declare(Sink(name, read, _options(target, {**options, "delivery": delivery}, place), where=place))

    def query(self, text: str) -> Query:
        """The SELECT in `text` as a value."""
        return Query(_parsed(text, _text_place(text)), asks=self._asks)

    def sql(self, text: str) -> Any:
        """Declarations in SQL: CREATE ... statements, each ended by a semicolon."""
        begins = _text_place(text)
        self._creates += parse_creates(text, begins.file, begins.line)

    def read(self, name: str) -> Query:
        """The rows of a stream, table or view that is declared elsewhere, e.g. in a .sql file of the app."""
        place = user_place()
        check_text(name, "name to read", place, "payments")
        named = [create for create in self._creates if create.declaration.name.lower() == name.lower()]
        standing = [create for create in named if not create.if_not_exists][-1:] or named[:1]
        declared = standing[0].declaration if standing else None
        return self._scan(name, declared.event_time if isinstance(declared, Stream) else None, place)

    def _declare(self, declaration: Declaration) -> None:
        self._creates.append(Create(declaration))

    def _scan(self, name: str, time: str | None, place: Where) -> Query:
        return replace(scan(name, time, place), asks=self._asks)


def _text_place(text: str) -> Where:
    """Where a text of SQL begins in the user's file."""
    place = user_place()
    return text_place(check_text(text, "SQL", place, "SELECT * FROM payments"), place)


def _columns(text: str, place: Where) -> Schema:
    if text == "":
        hint = 'name them with their types: "id STRING, at TIMESTAMP"; `penstock infer` proposes them for a file, a folder or a topic'
        raise PlanFault("the columns are missing", where=place, hint=hint)
    check_text(text, "list of columns", place, "id STRING, at TIMESTAMP")
    try:
        return parse_columns(text)
    except UserError as fault:
        raise type(fault)(fault.message, where=place, hint=fault.hint) from None


def _options(connector: object, options: dict[str, Value], place: Where) -> dict[str, str | Secret]:
    if not isinstance(connector, Connector):
        hint = 'e.g. ps.Kafka("localhost:9092", topic="payments") or ps.Files("data")'
        raise OptionFault(f"a connector is wanted, not {type(connector).__name__}", where=place, hint=hint)
    return {**connector.options, **option_texts(options)}


def _parsed(text: str, place: Where) -> Node:
    passage = Passage(text, place.file, place.line)
    high = len(passage.tokens)
    while high and passage.is_op(high - 1, high, ";"):
        high -= 1
    refuse_emit(passage, 0, high, 'it is an argument of the view: app.view(..., emit="on close"), or "changes", or "complete"')
    return parse_select(text, place.file, place.line)


def _finished(query: object, place: Where) -> Node:
    if not isinstance(query, Query):
        raise PlanFault(f"a query is wanted, not {type(query).__name__}", where=place, hint="give a query value or the text of a SELECT")
    return finished(query)
