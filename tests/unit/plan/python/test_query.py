"""The Python face: declarations as values, places in the user's file, and wrong arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

import penstock as ps
from penstock.errors import PlanFault
from penstock.plan.check.app import check
from penstock.plan.model.declare import Declared, Emit, Secret, Sink, Stream, Table, View
from penstock.plan.model.nodes import Generate, Scan, walk
from penstock.plan.model.text import sql
from penstock.schema import Column


def line() -> int:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def fraud() -> tuple[ps.App, ps.Query, ps.Query]:
    app = ps.App("fraud")
    columns = "id STRING, card STRING, amount DECIMAL(12, 2), at TIMESTAMP"
    payments = app.stream("payments", ps.Kafka("localhost:9092", topic="payments"), columns, event_time="at", lateness="10 seconds", record=True)
    return app, payments, app.table("cards", ps.Files("cards.csv", format="csv", header=True), "card STRING, country STRING")


def test_declarations_are_the_values_that_sql_gives() -> None:
    app, payments, cards = fraud()
    hourly = app.view("hourly", payments.join(cards, on="card").window("1 hour").group_by("country").agg(n="count(*)"), emit="on close", late="keep")
    app.sink("out", hourly, ps.Postgres("db", table="hourly", password=ps.secret("pg")), delivery="exactly-once")
    stream, table, view, sink = app.declarations()
    assert isinstance(stream, Stream)
    assert isinstance(table, Table)
    assert isinstance(view, View)
    assert isinstance(sink, Sink)
    assert stream.options == {"connector": "kafka", "servers": "localhost:9092", "topic": "payments", "record": "true"}
    assert stream.schema.columns[2] == Column("amount", "decimal(12,2)")
    assert (stream.event_time, stream.lateness) == ("at", "10 seconds")
    assert table.options == {"connector": "files", "path": "cards.csv", "format": "csv", "header": "true"}
    assert view.emit is Emit.ON_CLOSE
    assert view.options == {"late": "keep"}
    assert sink.view == "hourly"
    assert sink.options == {"connector": "postgres", "host": "db", "table": "hourly", "password": Secret("pg"), "delivery": "exactly-once"}


@pytest.mark.parametrize(
    "wrong",
    [
        lambda payments, cards: payments.where("amount > > 5"),
        lambda payments, cards: payments.select("card,, amount"),
        lambda payments, cards: payments.join(cards, on="payments.card = = cards.card"),
        lambda payments, cards: payments.group_by("card").agg(n="count(*"),
        lambda payments, cards: payments.order_by("card DESC DESC"),
    ],
)
def test_an_expression_that_does_not_parse_is_found_by_check_at_its_view(wrong: Callable[[ps.Query, ps.Query], ps.Query]) -> None:
    app, payments, cards = fraud()
    app.view("v", wrong(payments, cards)); here = line()  # fmt: skip # noqa: E702
    declared = Declared("fraud", Path("."), {entry.name: entry for entry in app.declarations()})
    found = [finding for finding in check(declared, lambda *_: None, lambda *_: None) if finding.code == "SyntaxFault"]
    assert len(found) == 1
    assert found[0].where is not None
    assert (found[0].where.file, found[0].where.line) == (__file__, here)


def test_a_select_cannot_be_exploded() -> None:
    _, payments, _ = fraud()
    with pytest.raises(PlanFault, match="exploded"):
        payments.explode("(SELECT collect_list(card) FROM cards)", "card")


@pytest.mark.parametrize(
    ("array", "names", "text"),
    [
        ("split(line, ' ')", ("word",), "LATERAL VIEW explode(split(line, ' ')) AS word"),
        ("posexplode(tags)", ("at", "tag"), "LATERAL VIEW posexplode(tags) AS at, tag"),
        ("inline(a) || inline(b)", ("x",), "LATERAL VIEW explode(inline(a) || inline(b)) AS x"),
        ("tags", ("a tag", "end"), "LATERAL VIEW explode(tags) AS `a tag`, `end`"),
    ],
)
def test_what_is_no_generator_is_exploded_under_names_that_sql_can_read(array: str, names: tuple[str, ...], text: str) -> None:
    _, payments, _ = fraud()
    node = payments.explode(array, *names).node
    assert isinstance(node, Generate)
    assert node.text == text


def test_every_node_knows_the_users_line() -> None:
    app, payments, _ = fraud()
    query = payments.where("amount > 1").select("card"); here = line()  # fmt: skip # noqa: E702
    app.view("v", query)
    view = app.declarations()[-1]
    assert isinstance(view, View)
    places = [node.where for node in walk(view.query) if not isinstance(node, Scan)]
    assert places
    assert all(place is not None and place.file == __file__ and place.line == here for place in places)
    assert view.where is not None
    assert view.where.line == here + 1


def test_a_constant_group_is_no_ordinal() -> None:
    _, payments, _ = fraud()
    node = payments.group_by("2024 AS year", "card").agg(n="count(*)").node
    assert sql(node).endswith("GROUP BY cast(2024 AS INT), card")


def test_a_view_may_be_read_by_another() -> None:
    app, payments, _ = fraud()
    totals = app.view("totals", payments.group_by("card").agg(total="sum(amount)"))
    app.view("best", totals.order_by("total DESC").limit(3))
    best = app.declarations()[-1]
    assert isinstance(best, View)
    assert any(isinstance(node, Scan) and node.name == "totals" for node in walk(best.query))


def test_sql_declares_into_the_same_app() -> None:
    app, _, _ = fraud()
    app.sql("CREATE MATERIALIZED VIEW big AS SELECT * FROM payments WHERE amount > 500;")
    big = app.declarations()[-1]
    assert isinstance(big, View)
    assert big.name == "big"
    assert big.where is not None
    assert big.where.file == __file__


def test_a_stream_that_sql_replaced_is_read_as_it_now_is() -> None:
    app = ps.App("shop")
    for head, time in (("STREAM", "a"), ("OR REPLACE STREAM", "b"), ("STREAM IF NOT EXISTS", "c")):
        app.sql(f"CREATE {head} s ({time} TIMESTAMP, WATERMARK FOR {time} AS {time} - INTERVAL 1 SECOND) WITH (connector = 'files', path = 'in')")
    assert app.read("S").time == "b"


def test_generator_columns_are_options() -> None:
    made = ps.Generator(seed=7, rows_per_second=10, columns={"amount": "rand() * 100"})
    assert made.options == {"connector": "generator", "seed": "7", "rows_per_second": "10", "amount": "rand() * 100"}


@pytest.mark.parametrize(
    "wrong",
    [
        lambda p, c: p.having("x > 1"),
        lambda p, c: p.group_by("card").where("amount > 1"),
        lambda p, c: p.group_by("card").select("card"),
        lambda p, c: p.select(),
        lambda p, c: p.agg(),
        lambda p, c: p.join(c),
        lambda p, c: p.join("cards", on="card"),
        lambda p, c: p.join(c, on="card", how="sideways"),
        lambda p, c: c.window("1 hour"),
        lambda p, c: p.where(3),
        lambda p, c: p.limit(-1),
        lambda p, c: p.limit("5"),
        lambda p, c: p.limit(5, "1"),
        lambda p, c: p.alias(5),
        lambda p, c: p.union(5),
        lambda p, c: p.window(10),
        lambda p, c: p.window("1 hour", 10),
        lambda p, c: p.session(10),
        lambda p, c: p.join(c, on=5),
        lambda p, c: p.join(c, on=[5]),
        lambda p, c: p.explode("tags", 5),
    ],
)
def test_a_query_that_cannot_be_is_refused_at_its_line(wrong: Callable[[ps.Query, ps.Query], ps.Query]) -> None:
    _, payments, cards = fraud()
    with pytest.raises(ps.PlanFault) as caught:
        wrong(payments, cards)
    assert caught.value.hint
    assert caught.value.where is not None
    assert caught.value.where.file == __file__


def test_wrong_declarations_are_refused() -> None:
    app, payments, _ = fraud()
    with pytest.raises(ps.OptionFault):
        app.view("v", payments, emit="sometimes")
    with pytest.raises(ps.OptionFault):
        app.stream("s", "kafka", "id STRING")  # type: ignore[arg-type]
    with pytest.raises(ps.SyntaxFault):
        app.stream("s", ps.Files("x"), "id")
    with pytest.raises(ps.PlanFault):
        app.stream("s", ps.Files("x"), "id STRING", lateness="1 second")
    with pytest.raises(ps.PlanFault):
        app.sink("out", payments.where("amount > 1"), ps.Console())
    with pytest.raises(ps.SyntaxFault):
        payments.where("card = 'open")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda app, p: app.stream("s", ps.Files("x"), "at TIMESTAMP", event_time="at", lateness=10), "the lateness of `s` is not text: 10"),
        (lambda app, p: app.stream("s", ps.Files("x"), "at TIMESTAMP", event_time=5), "the event time of `s` is not text: 5"),
        (lambda app, p: app.stream(5, ps.Files("x"), "at TIMESTAMP"), "the name of the stream is not text: 5"),
        (lambda app, p: app.stream("s", ps.Files("x"), {"at": "TIMESTAMP"}), "the list of columns is not text"),
        (lambda app, p: app.table(5, ps.Files("x")), "the name of the table is not text"),
        (lambda app, p: app.table("t", ps.Files("x"), None), "the list of columns is not text"),
        (lambda app, p: app.view(5, p), "the name of the view is not text: 5"),
        (lambda app, p: app.view("v", 5), "a query is wanted, not int"),
        (lambda app, p: app.sink(5, "v", ps.Console()), "the name of the sink is not text"),
        (lambda app, p: app.sink("s", 5, ps.Console()), "the view of the sink is not text: 5"),
        (lambda app, p: app.query(5), "the SQL is not text"),
        (lambda app, p: app.sql(None), "the SQL is not text"),
        (lambda app, p: app.read(5), "the name to read is not text"),
        (lambda app, p: type(app)(5), "the name of the app is not text"),
    ],
)
def test_an_argument_that_is_no_text_is_reported_at_its_line(wrong: Callable[[ps.App, ps.Query], object], says: str) -> None:
    app, payments, _ = fraud()
    with pytest.raises(ps.PlanFault, match=says) as caught:
        wrong(app, payments)
    assert caught.value.hint
    assert caught.value.where is not None
    assert caught.value.where.file == __file__


@pytest.mark.parametrize("ending", ["EMIT ON WINDOW CLOSE", "EMIT CHANGES;"])
def test_emit_in_the_text_of_a_view_is_reported_as_an_argument(ending: str) -> None:
    app, _, _ = fraud()
    with pytest.raises(ps.SyntaxFault, match="EMIT is not part of a SELECT") as caught:
        app.view("v", f"SELECT card FROM payments {ending}")
    assert 'emit="on close"' in (caught.value.hint or "")


def test_a_generators_columns_and_a_secrets_name_are_text() -> None:
    with pytest.raises(ps.OptionFault, match="not expressions"):
        ps.Generator(columns={"amount": 5})  # type: ignore[dict-item]
    with pytest.raises(ps.OptionFault, match="not text"):
        ps.secret(5)  # type: ignore[arg-type]


def test_aggregates_without_groups_are_one_row() -> None:
    _, payments, _ = fraud()
    assert payments.agg(n="count(*)").node == payments.agg("count(*) AS n").node


def test_a_group_is_counted_and_what_a_query_has_not_is_answered_with_what_it_has() -> None:
    _, payments, _ = fraud()
    assert payments.groupBy("card").count() == payments.group_by("card").agg(count="count(*)")
    assert payments.selectExpr("card") == payments.select("card")
    for name, words in (("withColumnRenamed", ".select("), ("writeStream", "app.view"), ("amount", 'where("amount > 10")')):
        with pytest.raises(AttributeError, match=f"no `{name}`") as missing:
            getattr(payments, name)
        assert words in str(missing.value)
    assert not hasattr(payments, "_repr_png_")
    with pytest.raises(PlanFault, match="columns to take"):
        payments["amount"]


def test_a_stream_without_columns_is_refused_with_where_they_come_from() -> None:
    with pytest.raises(PlanFault, match="columns are missing") as missing:
        ps.App("shop").stream("orders", ps.Files("orders"))
    assert "penstock infer" in str(missing.value.hint)
