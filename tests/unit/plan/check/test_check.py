"""What `check` finds: each finding by its code and place, and silence for apps that are right."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import penstock as ps
from penstock.errors import OptionFault, PlanFault, PromiseFault, UserError, Where
from penstock.plan.check.app import Finding, check, check_query, raise_first
from penstock.plan.check.files import file_findings, not_there
from penstock.plan.load import load
from penstock.plan.model.declare import Declaration, Declared, Emit, Options, Sink, Stream, Table, View
from penstock.plan.sql.definition import parse_columns
from penstock.plan.sql.select import parse_select
from penstock.plan.sql.statements import parse_creates
from penstock.schema import Column, Schema

PAYMENTS = Stream(
    "payments",
    parse_columns(
        "id STRING, card STRING, amount DECIMAL(12,2), ok BOOLEAN, n INT, tags ARRAY<STRING>, "
        "place STRUCT<city: STRING, geo: STRUCT<lat: DOUBLE>>, at TIMESTAMP"
    ),
    {"connector": "kafka"},
    "at",
    "10 seconds",
    Where("app.sql", 1),
)
CLICKS = Stream("clicks", parse_columns("ad STRING, user_id BIGINT, clicked TIMESTAMP"), {}, "clicked", "1 minute", Where("app.sql", 5))
RAW = Stream("raw", parse_columns("line STRING, seen TIMESTAMP"), {}, where=Where("app.sql", 7))
CARDS = Table("cards", parse_columns("card STRING, country STRING, opened DATE"), {}, where=Where("app.sql", 9))
LOOSE = Table("loose", Schema(()), {}, where=Where("app.sql", 10))


def silent(*_: object) -> None:
    """A connector that is content with every option."""


def declared(*entries: Declaration) -> Declared:
    return Declared("app", Path("."), {entry.name: entry for entry in (PAYMENTS, CLICKS, RAW, CARDS, LOOSE, *entries)})


def view(sql: str, emit: Emit = Emit.CHANGES, name: str = "v") -> View:
    return View(name, parse_select(sql, "app.sql", 20), emit, text=sql, where=Where("app.sql", 20))


def found(*entries: Declaration) -> list[Finding]:
    return check(declared(*entries), silent, silent)


def of(sql: str, severity: str = "error", emit: Emit = Emit.CHANGES) -> list[Finding]:
    return [finding for finding in found(view(sql, emit)) if finding.severity == severity]


def pointed(finding: Finding) -> str:
    """The words that the excerpt underlines."""
    assert finding.excerpt is not None
    shown, marks = finding.excerpt.split("\n")
    return shown[marks.index("^") : marks.rindex("^") + 1]


# the query, the code, the line, the words underlined
MISTAKES = [
    ("SELECT id FROM payments\nWHERE id = 3 AND at > 5", "TypeFault", 21, "at > 5"),
    ("SELECT CASE WHEN at <= 7.5 THEN 1 END AS a FROM payments", "TypeFault", 20, "at <= 7.5"),
    ("SELECT n <> ok AS a FROM payments", "TypeFault", 20, "n <> ok"),
    ("SELECT n.cents AS a FROM payments", "NameFault", 20, "n.cents"),
    ("SELECT card,\n  amuont FROM payments", "NameFault", 21, "amuont"),
    ("SELECT card FROM payments\nWHERE amonut > 1", "NameFault", 21, "amonut"),
    ("SELECT p.card, q.amount\nFROM payments p", "NameFault", 20, "q.amount"),
    ("SELECT payments.card FROM payments AS p", "NameFault", 20, "payments.card"),
    ("SELECT place.city, place.twon FROM payments", "NameFault", 20, "place.twon"),
    ("SELECT place.geo.lon FROM payments", "NameFault", 20, "place.geo.lon"),
    ("SELECT card FROM paymens", "NameFault", 20, "paymens"),
    ("SELECT card FROM payments JOIN cardz USING (card)", "NameFault", 20, "cardz"),
    ("SELECT id FROM payments\nJOIN cards USING (id)", "NameFault", 21, "id"),
    ("SELECT id FROM payments p JOIN cards c\nON p.card = c.crad", "NameFault", 21, "c.crad"),
    ("SELECT card FROM payments p JOIN cards c ON p.card = c.card", "NameFault", 20, "card"),
    ("SELECT uper(card) AS u FROM payments", "NameFault", 20, "uper"),
    ("SELECT card, count(*) AS n FROM payments GROUP BY card HAVING m > 1", "NameFault", 20, "m"),
    ("SELECT card FROM payments ORDER BY amout", "NameFault", 20, "amout"),
    ("SELECT x.card FROM (SELECT id FROM payments) x", "NameFault", 20, "x.card"),
    ("WITH w AS (SELECT id AS i FROM payments)\nSELECT id FROM w", "NameFault", 21, "id"),
    ("SELECT tagg FROM payments LATERAL VIEW explode(tags) t AS tag", "NameFault", 20, "tagg"),
    ("SELECT tag FROM payments LATERAL VIEW explode(tag) t AS tag", "NameFault", 20, "tag"),
    ("SELECT id FROM payments p WHERE EXISTS (SELECT 1 FROM cards c WHERE c.card = p.crad)", "NameFault", 20, "p.crad"),
    ("SELECT transform(tags, x -> upper(y)) AS t FROM payments", "NameFault", 20, "y"),
    ("SELECT window, count(*) AS n FROM payments GROUP BY card", "NameFault", 20, "window"),
    ("SELECT * FROM payments JOIN clicks ON at = user_id", "TypeFault", 20, "at = user_id"),
    ("SELECT id FROM payments WHERE tags = 'x'", "TypeFault", 20, "tags = 'x'"),
    # Spark takes the column first, and refuses the types before it would look at the name in the list
    ("SELECT card, count(*) AS tags FROM payments GROUP BY card HAVING tags > 3", "TypeFault", 20, "tags > 3"),
    ("SELECT window, count(*) AS n FROM payments GROUP BY window(n, '1 hour')", "TypeFault", 20, "window(n, '1 hour')"),
    ("SELECT window, count(*) AS n FROM payments GROUP BY window(at, '1 huor')", "TypeFault", 20, "window(at, '1 huor')"),
    ("SELECT window, count(*) AS n FROM payments GROUP BY window(at, '1 month')", "TypeFault", 20, "window(at, '1 month')"),
    ("SELECT window, count(*) AS n FROM payments GROUP BY window(at, '1 hour', '2 hours')", "TypeFault", 20, "window(at, '1 hour', '2 hours')"),
    ("SELECT sum(ok) AS s FROM payments", "TypeFault", 20, "sum(ok)"),
    ("SELECT avg(opened) AS s FROM cards", "TypeFault", 20, "avg(opened)"),
    ("SELECT window, count(*) AS n FROM payments GROUP BY window(at, INTERVAL '1' HOUR)", "TypeFault", 20, "window(at, INTERVAL '1' HOUR)"),
    ("SELECT sum(tags) AS s FROM payments", "TypeFault", 20, "sum(tags)"),
    ("SELECT id, card FROM payments\nUNION ALL SELECT card FROM cards", "TypeFault", 21, "SELECT card FROM cards"),
    ("SELECT n FROM payments\nUNION ALL\nSELECT opened FROM cards", "TypeFault", 22, "SELECT opened FROM cards"),
    ("SELECT amount + true AS a FROM payments", "TypeFault", 20, "amount + true"),
    ("SELECT id, 2 * ok AS a FROM payments", "TypeFault", 20, "2 * ok"),
    ("SELECT id, p.tags - p.n AS a FROM payments p", "TypeFault", 20, "p.tags - p.n"),
    ("SELECT id FROM payments WHERE place.geo / n > 1", "TypeFault", 20, "place.geo / n"),
    ("SELECT id FROM payments WHERE amount", "TypeFault", 20, "amount"),
    ("SELECT id FROM payments\nWHERE ok AND n", "TypeFault", 21, "n"),
    ("SELECT card FROM payments WHERE sum(amount) > 1", "PlanFault", 20, "sum(amount)"),
    ("SELECT card, amount, count(*) AS n\nFROM payments GROUP BY card", "PlanFault", 20, "amount"),
    ("SELECT p.amount, count(*) AS n FROM payments p GROUP BY p.card", "PlanFault", 20, "p.amount"),
    ("SELECT card, sum(amount) AS s FROM payments", "PlanFault", 20, "card"),
    ("SELECT window, at, count(*) AS n FROM payments GROUP BY window(at, '1 hour')", "PlanFault", 20, "at"),
    ("SELECT (n) AS m, count(*) AS c FROM payments GROUP BY n % 10", "PlanFault", 20, "n"),
    ("SELECT n + amount AS m, count(*) AS c FROM payments GROUP BY n % 10", "PlanFault", 20, "amount"),
    ("SELECT place.city, count(*) AS c FROM payments GROUP BY card", "PlanFault", 20, "place.city"),
    ("SELECT card, count(*) AS c FROM payments GROUP BY (card, n)", "PlanFault", 20, "card"),
    ("SELECT id, card, id FROM payments", "PlanFault", 20, "SELECT id, card, id FROM payments"),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "code", "line", "words"), MISTAKES, ids=[sql for sql, *_ in MISTAKES])
def test_a_mistake_is_found_once_at_its_place(sql: str, code: str, line: int, words: str) -> None:
    findings = of(sql)
    assert [finding.code for finding in findings] == [code]
    assert findings[0].where == Where("app.sql", line, findings[0].where.column if findings[0].where else 0)
    assert pointed(findings[0]) == words


RIGHT = [
    "SELECT payments.n, n + 5 > id AS a, at - INTERVAL 5 DAYS > at AS b, card <> 5 AS c, n::string <> ok::string AS d FROM payments WHERE n > 2.5",
    "SELECT * FROM payments",
    "SELECT card, AMOUNT, Payments.At FROM payments",
    "SELECT card FROM payments GROUP BY card HAVING count(*)",
    "SELECT ok::int + 1 AS a, tags[0] + 1 AS b, at - at AS c, at + INTERVAL 1 DAY AS d, -n * 2 AS e, n * amount AS f FROM payments",
    "SELECT count(*) * 2 AS a, sum(n) % 3 AS b, count_if(ok) + 1 AS c, size(tags) + n AS d FROM payments GROUP BY n, tags",
    "SELECT id FROM payments WHERE ok AND NOT ok OR (ok) AND at > '2024' AND exists(tags, t -> t > 'a') AND n IN (1, 2)",
    "SELECT id FROM payments WHERE 1 = 1 AND true AND CASE WHEN ok THEN n > 1 ELSE false END",
    "SELECT transform(tags, ok -> ok + 1) AS t, aggregate(tags, 0, (tags, ok) -> tags + ok) AS s FROM payments",
    "SELECT card FROM payments WHERE ok IS UNKNOWN OR (amount > 1) IS NOT UNKNOWN",
    "SELECT card FROM PAYMENTS WHERE amount > 500 AND card LIKE '4%' AND at > current_timestamp - INTERVAL 1 HOUR",
    "SELECT amount * 2 AS double, double + 1 AS more FROM payments",
    "SELECT p.card, c.country FROM payments p JOIN cards c ON p.card = c.card WHERE c.opened < p.at",
    "SELECT card, country, payments.id FROM payments LEFT JOIN cards USING (card) WHERE cards.card IS NULL",
    "SELECT window.start AS since, card, sum(amount) AS total FROM payments GROUP BY window(at, '1 hour', '10 minutes'), card",
    "SELECT session_window.end AS until, card, count(*) AS n FROM payments GROUP BY session_window(at, '5 minutes'), card",
    "SELECT window AS w, count(*) AS n FROM payments GROUP BY window(at, '1 hour') HAVING w.start IS NOT NULL AND n > 1 ORDER BY w.end",
    "SELECT upper(card) AS c, count(*) AS n FROM payments GROUP BY upper(payments.card)",
    "SELECT lower(upper(card)) AS c, count(*) AS n FROM payments GROUP BY upper(card)",
    "SELECT n + 1 AS m, count(*) AS c FROM payments GROUP BY 1 + n",
    "SELECT n % 10 AS m, count(*) AS c FROM payments GROUP BY (n % 10)",
    "SELECT (n) % 10 AS m, count(*) AS c FROM payments GROUP BY ((n % 10))",
    "SELECT card, (ok) AS o, count(*) AS c FROM payments GROUP BY (card), (payments.ok)",
    "SELECT at::date AS day, count(*) AS c FROM payments GROUP BY CAST(at AS DATE)",
    "SELECT substr(card, 1, 4) AS s, count(*) AS c FROM payments GROUP BY substring(card, 1, 4)",
    "SELECT card != 'a' AS s, count(*) AS c FROM payments GROUP BY card <> 'a'",
    "SELECT place['city'] AS s, count(*) AS c FROM payments GROUP BY place.city",
    "SELECT place.city AS s, count(*) AS c FROM payments GROUP BY place['city']",
    "SELECT p.place.city AS s, count(*) AS c FROM payments p GROUP BY (place['city'])",
    "SELECT 2024 AS year, card, count(*) AS c FROM payments GROUP BY 1, 2",
    "SELECT card, n, count(*) AS c FROM payments GROUP BY ROLLUP ((card), (n))",
    "SELECT date_trunc('day', at) AS day, count(*) AS n FROM payments GROUP BY day",
    "SELECT card AS c, count(*) AS n FROM payments GROUP BY 1 HAVING c > 'a' AND payments.card < 'z'",
    "SELECT id FROM payments WHERE card IN ((SELECT card FROM cards) UNION ALL (SELECT country FROM cards)) AND (n) > ((SELECT 1))",
    "SELECT id FROM payments p WHERE EXISTS (((SELECT card FROM cards) UNION (SELECT 'a')) EXCEPT SELECT country FROM cards)",
    "SELECT card, country, count(*) AS n FROM payments JOIN cards USING (card) GROUP BY ROLLUP (card, country)",
    "SELECT card, count(*) AS n FROM payments GROUP BY ALL",
    "SELECT card, count(DISTINCT id) AS ids, count(*) FILTER (WHERE ok) AS oks FROM payments GROUP BY card",
    "SELECT place.city, place.geo.lat, tags[0] AS first FROM payments",
    "SELECT transform(tags, (t, i) -> concat(t, i, card)) AS t, filter(tags, t -> t <> '') AS f FROM payments",
    "SELECT tag, t.tag AS again FROM payments LATERAL VIEW OUTER explode(tags) t AS tag WHERE tag <> 'x'",
    "SELECT id, sum(n) OVER (PARTITION BY card ORDER BY amount DESC ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS r FROM payments",
    "SELECT card, sum(amount) AS s, rank() OVER (ORDER BY sum(amount) DESC) AS r FROM payments GROUP BY card",
    "SELECT * FROM (SELECT card, count(*) AS n FROM payments GROUP BY card) AS x WHERE x.n > 3 ORDER BY x.card",
    "WITH big AS (SELECT * FROM payments WHERE amount > 9), c(k, land) AS (SELECT card, country FROM cards) "
    "SELECT big.id, land FROM big JOIN c ON big.card = c.k",
    "SELECT id FROM payments p WHERE amount > (SELECT avg(amount) FROM payments q WHERE q.card = p.card)",
    "SELECT id FROM payments WHERE card IN (SELECT card FROM cards WHERE country = 'CH')",
    "SELECT id FROM payments p WHERE NOT EXISTS (SELECT 1 FROM cards WHERE cards.card = p.card)",
    "SELECT id AS x FROM payments UNION SELECT ad FROM clicks ORDER BY x",
    "SELECT card FROM payments EXCEPT SELECT card FROM cards",
    "SELECT anything, loose.whatever, some.field.deep FROM loose WHERE more = 1",
    "SELECT p.id, l.extra, extra2 FROM payments p JOIN loose l ON p.id = l.id",
    "SELECT CASE WHEN ok THEN 'yes' ELSE 'no' END AS yes, extract(HOUR FROM at) AS h, timestampadd(HOUR, 1, at) AS later FROM payments",
    "SELECT card, max_by(id, amount) AS best, percentile_approx(amount, 0.5) AS mid FROM payments GROUP BY card",
    "SELECT cast(amount AS DOUBLE) AS d, amount::int AS i, try_cast(card AS DECIMAL(10,2)) AS t FROM payments",
    "SELECT `count(1)` AS n FROM (SELECT count(*) FROM payments)",
    "SELECT struct(id, card) AS both, named_struct('a', n) AS one, map('k', n)['k'] AS k FROM payments",
    "SELECT p.id, u.x FROM payments p, LATERAL (SELECT p.n + 1 AS x) u",
    "SELECT date_format(at, 'HH') AS hour, count(*) AS n FROM payments WHERE n = '5' GROUP BY date_format(at, 'HH') ORDER BY hour DESC LIMIT 3",
    "SELECT a.card FROM payments a JOIN payments b ON a.id = b.id AND b.at BETWEEN a.at AND a.at + INTERVAL 1 HOUR",
    "SELECT id, card FROM payments ORDER BY payments.amount DESC",
    "SELECT DISTINCT card, at FROM payments ORDER BY at",
    "SELECT window_start, window_end, card, count(*) AS n FROM TUMBLE(TABLE payments, DESCRIPTOR(at), INTERVAL '10' MINUTES) "
    "GROUP BY window_start, window_end, card",
    "SELECT max(n) AS most FROM (SELECT window, card, count(*) AS n FROM payments GROUP BY window(at, '1 hour'), card) GROUP BY window",
    "SELECT avg(at) AS middle FROM payments",
    "SELECT posexplode(tags) AS (i, tag) FROM payments",
    "SELECT card, count(*) AS n FROM payments GROUP BY card, ok WITH ROLLUP",
    "SELECT listagg(id, ',') WITHIN GROUP (ORDER BY at) AS ids, first(id) IGNORE NULLS AS f, card FROM payments GROUP BY card",
    "SELECT sum(amount) OVER w AS s, id FROM payments WINDOW w AS (PARTITION BY card ORDER BY at)",
    "SELECT key, value, col FROM payments LATERAL VIEW explode(map('a', n)) m LATERAL VIEW explode(tags) q",
    "SELECT a, b FROM (SELECT upper(id), lower(id) FROM payments) AS t(a, b)",
    "SELECT window.start AS s, sum(n) AS n FROM (SELECT window AS w, count(*) AS n FROM payments GROUP BY window(at, '1 minute')) "
    "GROUP BY window(w, '1 hour')",
    "SELECT hour(at) AS h, sum(sum(n)) OVER (ORDER BY hour(at)) AS running FROM payments GROUP BY hour(at)",
    "SELECT trim(BOTH 'x' FROM card) AS t, position('a' IN card) AS p, date_diff(DAY, at, now()) AS d, n DIV 2 AS h FROM payments",
    "SELECT id FROM payments QUALIFY row_number() OVER (PARTITION BY card ORDER BY at DESC) = 1",
    "SELECT v.a FROM VALUES (1), (2) AS v(a)",
    "SELECT sum(if(ok, 1, 0)) AS good, sum(n) AS n FROM payments",
]  # fmt: skip


@pytest.mark.parametrize("sql", RIGHT)
def test_a_right_query_gives_no_error(sql: str) -> None:
    assert of(sql) == []


def test_a_right_app_of_many_views_gives_no_error_and_takes_no_time() -> None:
    views = [view(sql, name=f"v{index}") for index, sql in enumerate((RIGHT * 2)[:50])]
    begin = time.process_time()
    findings = found(*views)
    assert time.process_time() - begin < 0.5
    assert [finding for finding in findings if finding.severity == "error"] == []


UNBOUNDED = [
    ("SELECT ad, id FROM payments p\nJOIN clicks c ON p.id = c.ad", 21),
    ("SELECT ad, id FROM payments p\nJOIN clicks c ON p.id = c.ad AND clicked >= at", 21),
    ("SELECT DISTINCT card FROM payments", 20),
    ("SELECT DISTINCT card, at FROM payments", 20),
    ("SELECT id FROM payments\nUNION SELECT ad FROM clicks", 21),
    ("SELECT window, count(*) AS n FROM raw GROUP BY window(seen, '1 hour')", 20),
]


@pytest.mark.parametrize(("sql", "line"), UNBOUNDED)
def test_state_without_end_is_a_warning_with_a_remedy(sql: str, line: int) -> None:
    assert of(sql) == []
    warnings = of(sql, "warning")
    assert [finding.code for finding in warnings] == ["PlanFault"]
    assert warnings[0].where is not None
    assert warnings[0].where.line == line
    assert warnings[0].hint


BOUNDED = [
    "SELECT id, amount FROM payments WHERE amount > 1",
    "SELECT count(*) AS n FROM payments",
    "SELECT window, id, count(*) AS n FROM payments GROUP BY window(at, '1 hour'), id",
    "SELECT country, count(*) AS n FROM payments JOIN cards USING (card) GROUP BY country",
    "SELECT card, count(*) AS n FROM cards GROUP BY card",
    "SELECT id, count(*) AS n FROM payments GROUP BY id",
    "SELECT id, ad FROM payments p JOIN clicks c ON p.id = c.ad AND clicked BETWEEN at AND at + INTERVAL 1 HOUR",
]


@pytest.mark.parametrize("sql", BOUNDED)
def test_bounded_state_gives_no_warning(sql: str) -> None:
    assert of(sql, "warning") == []


RECOMPUTED = [
    ("SELECT id, rank() OVER (ORDER BY amount) AS place FROM payments", "rank() OVER (...) compares each row with others"),
    ("SELECT id FROM payments ORDER BY amount DESC", "ORDER BY ... LIMIT chooses among all rows"),
    ("SELECT session_window, count(*) AS n FROM payments GROUP BY session_window(at, '1 hour')", "a session may still be joined to another"),
    ("SELECT a.id FROM payments a JOIN payments b ON a.amount < b.amount", "its JOIN equates no column"),
]


@pytest.mark.parametrize(("sql", "why"), RECOMPUTED)
def test_a_view_that_reads_the_history_again_is_a_warning_by_name_with_cost_and_reason(sql: str, why: str) -> None:
    (warning,) = [finding for finding in of(sql, "warning") if "again in every epoch" in finding.message]
    assert warning.message.startswith("view `v` reads all rows of `payments`")
    assert why in warning.message
    assert "costs more the longer the history is" in str(warning.hint)


def test_a_misspelt_function_or_group_is_one_error_and_no_other_follows_from_it() -> None:
    assert [finding.message for finding in of("SELECT card, smu(amount) AS total FROM payments GROUP BY card")] == ["there is no function `smu`"]
    assert [finding.message for finding in of("SELECT card, count(*) AS n FROM payments GROUP BY crad")] == ["there is no column `crad` here"]


def test_every_mistake_of_a_query_is_found_at_once() -> None:
    messages = [finding.message for finding in of("SELECT cart, smu(amount) AS a, maxx(nn) AS b FROM payments WHERE idd = 'x' GROUP BY cart")]
    assert {name for message in messages for name in ("cart", "smu", "maxx", "nn", "idd") if f"`{name}`" in message} == {
        "cart",
        "smu",
        "maxx",
        "nn",
        "idd",
    }
    assert not any("neither grouped" in message for message in messages)


FLEETING = [
    ("SELECT id FROM payments\nWHERE at > current_timestamp - INTERVAL 1 HOUR AND at < now()", 21, "now()"),
    ("SELECT id FROM payments\nWHERE at > current_timestamp - INTERVAL 1 HOUR", 21, "current_timestamp"),
    ("SELECT id, current_date AS d FROM payments", 20, "current_date"),
    ("SELECT id, current_date() AS d FROM payments", 20, "current_date()"),
    ("SELECT id, unix_timestamp() AS d FROM payments", 20, "unix_timestamp()"),
    ("SELECT id, uuid() AS u, rand() AS r FROM payments", 20, "uuid()"),
    ("SELECT shuffle(tags) AS t FROM payments", 20, "shuffle(tags)"),
    ("SELECT id FROM payments WHERE card IN (SELECT card FROM cards\nWHERE opened > current_date())", 21, "current_date()"),
]


@pytest.mark.parametrize(("sql", "line", "words"), FLEETING)
def test_the_clock_and_chance_are_one_warning(sql: str, line: int, words: str) -> None:
    (warning,) = of(sql, "warning")
    assert (warning.where and warning.where.line, pointed(warning)) == (line, words)
    assert warning.hint


def test_options_are_expressions_only_where_a_generator_makes_rows_of_them() -> None:
    named = replace(RAW, name="s", schema=parse_columns("user STRING"), options={"connector": "kafka", "user": "o'brien"})
    assert found(named) == []
    made = replace(named, options={"connector": "generator", "user": "reflect('java.lang.System', 'exit')"})
    assert [finding.code for finding in found(made)] == ["ForbiddenFault"]


def test_a_column_may_be_called_as_the_clock_is() -> None:
    clocked = replace(RAW, name="c", schema=parse_columns("current_date DATE, now STRING, seen TIMESTAMP"))
    asked = view("SELECT current_date, now, c.current_date AS d, unix_timestamp(seen) AS current_time FROM c")
    assert found(clocked, asked) == []


def test_text_in_sum_is_a_warning_only() -> None:
    assert of("SELECT sum(card) AS s FROM payments") == []
    assert [finding.code for finding in of("SELECT sum(card) AS s FROM payments", "warning")] == ["TypeFault"]


def test_on_window_close_needs_a_window_and_event_time() -> None:
    closed = "SELECT window, count(*) AS n FROM {} GROUP BY window({}, '1 hour')"
    assert of(closed.format("payments", "at"), emit=Emit.ON_CLOSE) == []
    assert [finding.code for finding in of(closed.format("raw", "seen"), emit=Emit.ON_CLOSE)] == ["PlanFault"]
    assert [finding.code for finding in of("SELECT card, count(*) AS n FROM payments GROUP BY card", emit=Emit.ON_CLOSE)] == ["PlanFault"]


COUNTED = "SELECT window, card, count(*) AS n FROM payments GROUP BY window(at, '1 hour'), card"


@pytest.mark.parametrize(
    "sql",
    [
        f"{COUNTED} QUALIFY n = 1",
        f"SELECT * FROM ({COUNTED}) QUALIFY n = 1",
        f"SELECT * FROM ({COUNTED}) NATURAL JOIN cards",
        f"WITH c AS ({COUNTED}) FROM c |> WHERE n > 1",
        f"SELECT c.* FROM ({COUNTED}) c JOIN (SELECT * FROM ({COUNTED}) QUALIFY n = 1) d USING (window)",
    ],
)
def test_windows_that_cannot_be_seen_cannot_be_waited_for(sql: str) -> None:
    (finding,) = of(sql, emit=Emit.ON_CLOSE)
    assert "cannot be seen" in finding.message
    assert of(sql) == []


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT * FROM (SELECT *, rank() OVER (PARTITION BY window ORDER BY n) AS r FROM ({COUNTED})) WHERE r = 1",
        "SELECT window, count(*) AS n FROM (SELECT * FROM payments QUALIFY row_number() OVER (PARTITION BY id ORDER BY at) = 1) "
        "GROUP BY window(at, '1 hour')",
        f"SELECT card, n, v.a FROM ({COUNTED}) CROSS JOIN range(2) AS v(a)",
    ],
)
def test_windows_that_can_be_seen_beside_what_cannot_are_no_error(sql: str) -> None:
    assert of(sql, emit=Emit.ON_CLOSE) == []


@pytest.mark.parametrize(
    ("stream", "code"),
    [
        (replace(RAW, name="s", event_time="sen"), "NameFault"),
        (replace(RAW, name="s", event_time="line"), "TypeFault"),
        (replace(RAW, name="s", event_time="seen", lateness="soon"), "TypeFault"),
        (replace(RAW, name="s", schema=parse_columns("a STRIN")), "TypeFault"),
        (replace(RAW, name="s", schema=Schema((Column("a", "int"), Column("A", "string")))), "NameFault"),
        (replace(RAW, name="s", schema=parse_columns("__position STRING")), "NameFault"),
        (replace(RAW, name="__s"), "NameFault"),
        (replace(RAW, name="s__late"), "NameFault"),
    ],
)
def test_a_wrong_stream_is_found_where_it_is_declared(stream: Stream, code: str) -> None:
    findings = found(stream)
    assert [(finding.code, finding.where) for finding in findings] == [(code, stream.where)]


def test_views_that_read_each_other_are_found() -> None:
    findings = found(view("SELECT * FROM b", name="a"), view("SELECT * FROM c", name="b"), view("SELECT * FROM a", name="c"))
    assert [finding.code for finding in findings] == ["PlanFault"]


def test_a_view_over_a_view_sees_its_columns() -> None:
    totals = view("SELECT card, sum(amount) AS total FROM payments GROUP BY card", name="totals")
    right = [finding for finding in found(totals, view("SELECT card, total FROM totals", name="w")) if finding.severity == "error"]
    wrong = [finding for finding in found(totals, view("SELECT card, amount FROM totals", name="w")) if finding.severity == "error"]
    assert right == []
    assert [finding.code for finding in wrong] == ["NameFault"]


def test_a_sink_delivers_a_view_and_its_options_are_checked() -> None:
    place = Where("app.sql", 30)
    good = view("SELECT id FROM payments")

    def promise(name: str, options: Options) -> None:
        if "delivery" in options:
            raise PromiseFault(f"{name} cannot promise that")

    def source(kind: str, name: str, options: Mapping[str, object], columns: object) -> None:
        if name == "payments" and kind == "stream":
            raise OptionFault("no topic")

    findings = check(declared(good, Sink("out", "v", {}, place), Sink("lost", "w", {"delivery": "exactly-once"}, place)), source, promise)
    assert [(finding.code, finding.where) for finding in findings] == [("OptionFault", PAYMENTS.where), ("NameFault", place), ("PromiseFault", place)]


@pytest.mark.parametrize(
    "sql",
    [
        "\n\nCREATE MATERIALIZED VIEW v AS SELECT id,\n card,\n  amuont AS a\nFROM payments;",
        "\nCREATE MATERIALIZED VIEW v AS\n  SELECT id, upper(card) AS u,\n  amuont FROM payments p\n WHERE p.n > 1;",
        "CREATE MATERIALIZED VIEW v\n  AS\n  WITH w AS (\n    SELECT id,\n  amuont FROM payments)\n  SELECT * FROM w;",
    ],
)
def test_the_place_is_a_line_of_the_file_wherever_the_query_begins(sql: str) -> None:
    (create,) = parse_creates(sql, "views.sql")
    (finding,) = [finding for finding in found(create.declaration) if finding.severity == "error"]
    assert finding.where == Where("views.sql", 5 if "WITH" in sql or sql.startswith("\n\n") else 4, 3)
    assert pointed(finding) == "amuont"


def test_a_finding_in_a_python_view_points_at_the_call() -> None:
    app = ps.App("app")
    orders = app.stream("orders", ps.Files("orders"), "id STRING, total DOUBLE")
    app.view("big", orders.where("totl > 5"))
    (finding,) = check(Declared("app", Path("."), {entry.name: entry for entry in app.declarations()}), silent, silent)
    assert finding.where is not None
    assert (finding.code, finding.where.file) == ("NameFault", __file__)
    assert pointed(finding) == "totl"


def test_the_first_error_is_raised_as_its_class() -> None:
    with pytest.raises(PlanFault) as caught:
        raise_first(found(view("SELECT card FROM payments WHERE sum(amount) > 1")))
    assert caught.value.hint
    assert caught.value.excerpt
    raise_first(of("SELECT DISTINCT card FROM payments", "warning"))


FOLDERS = """
CREATE STREAM pay (id INT) WITH (connector = 'files', path = 'in', format = 'json');
CREATE STREAM other (id INT) WITH (connector = 'files', path = 'out', format = 'json');
CREATE MATERIALIZED VIEW a AS SELECT id FROM pay;
CREATE MATERIALIZED VIEW b AS SELECT id FROM a;
CREATE SINK one FROM b WITH (connector = 'files', path = '{}');
CREATE SINK two FROM b WITH (connector = 'files', path = 'two');
"""


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("./in/deep/", ["sink `one` would write where `pay` reads, and view `b` would feed itself: ./in/deep/"]),
        ("two/../two", ["sinks `one` and `two` would write to one folder: two"]),
        ("out", []),
        ("inn", []),
    ],
)
def test_a_folder_is_written_by_one_sink_and_never_read_by_its_own_view(tmp_path: Path, path: str, words: list[str]) -> None:
    (tmp_path / "app.sql").write_text(FOLDERS.format(path), encoding="utf-8")
    found = check(load(tmp_path), lambda *_: None, lambda *_: None)
    assert [finding.message for finding in found if finding.severity == "error"] == words


LOOP = """
CREATE STREAM pay (id INT) WITH (connector = 'kafka', servers = 'a:9092, Localhost:9093', topic = 'loop');
CREATE MATERIALIZED VIEW a AS SELECT id FROM pay;
CREATE MATERIALIZED VIEW b AS SELECT id FROM a;
CREATE SINK one FROM b WITH (connector = 'kafka', servers = '{}', topic = '{}');
"""


@pytest.mark.parametrize(
    ("servers", "topic", "loops"),
    [
        ("a:9092, Localhost:9093", "loop", True),
        ("127.0.0.1:9093", "loop", True),
        ("b:1,A:9092", "loop", True),
        ("a", "loop", True),
        ("a:9093", "loop", False),
        ("a:9092", "Loop", False),
    ],
)
def test_a_topic_is_never_read_by_the_view_whose_sink_writes_it(tmp_path: Path, servers: str, topic: str, loops: bool) -> None:
    (tmp_path / "app.sql").write_text(LOOP.format(servers, topic), encoding="utf-8")
    errors = [finding for finding in check(load(tmp_path), silent, silent) if finding.severity == "error"]
    assert [(error.code, error.message) for error in errors] == [
        ("OptionFault", "sink `one` would write where `pay` reads, and view `b` would feed itself: loop")
    ] * loops


def test_a_table_that_a_view_reads_and_its_sink_writes_is_warned_of(tmp_path: Path) -> None:
    place = "connector = 'postgres', host = '{}', database = 'd', user = 'u', table = '{}'"
    app = f"""
    CREATE TABLE t (id INT) WITH ({place.format("localhost", "t")});
    CREATE MATERIALIZED VIEW v AS SELECT id FROM t;
    CREATE SINK one FROM v WITH ({place.format("127.0.0.1", "public.t")}, port = '5432');
    CREATE SINK two FROM v WITH ({place.format("localhost", "t2")});
    """
    (tmp_path / "app.sql").write_text(app, encoding="utf-8")
    found = [finding for finding in check(load(tmp_path), silent, silent) if finding.code == "OptionFault"]
    assert [(finding.severity, finding.message.split(",")[0]) for finding in found] == [("warning", "sink `one` would write where `t` reads")]


@pytest.mark.parametrize(
    ("path", "word"),
    [("app.sql", "is a file"), ("app.sql/below", "is a file"), (".penstock/out", "state folder"), (".penstock", "state folder"), (".penstocks", "")],
)
def test_a_sink_writes_neither_over_a_file_nor_into_the_state_folder(tmp_path: Path, path: str, word: str) -> None:
    (tmp_path / "app.sql").write_text(FOLDERS.format(path), encoding="utf-8")
    errors = [finding.message for finding in check(load(tmp_path), silent, silent, state=tmp_path / ".penstock") if finding.severity == "error"]
    assert len(errors) == bool(word)
    assert all(word in error for error in errors)


@pytest.mark.parametrize(
    ("callback", "content", "words"),
    [
        ("alerts:send", "def send(changes, epoch): ...", None),
        ("alerts:send", "try:\n    from fast import send\nexcept ImportError:\n    send = print", None),
        ("alerts:send", "from other import *", None),
        ("alerts:sent", "def send(changes, epoch): ...", "alerts.py has no function `sent`"),
        ("alerts:inner", "def send(changes, epoch):\n    def inner(): ...", "alerts.py has no function `inner`"),
        ("alerts:send", "def send(", "alerts.py is not Python"),
        ("other:send", "", "there is no file other.py"),
        ("al-erts:send", "", "is not the name of a function"),
    ],
)
def test_a_callback_that_does_not_exist_is_found_without_running_its_file(tmp_path: Path, callback: str, content: str, words: str | None) -> None:
    (tmp_path / "app.sql").write_text(
        f"""CREATE STREAM s (id INT) WITH (connector = 'generator');
        CREATE MATERIALIZED VIEW v AS SELECT id FROM s;
        CREATE SINK c FROM v WITH (connector = 'callback', callback = '{callback}');""",
        encoding="utf-8",
    )
    app = load(tmp_path)
    (tmp_path / "alerts.py").write_text(content, encoding="utf-8")
    assert [(finding.severity, words is not None and words in finding.message) for finding in file_findings(app)] == [("error", True)] * bool(words)


@pytest.mark.parametrize(("name", "refused"), [("10:00.json", False), ("[1].json", True), ("deep/a*.json", True), (".[1].json", False)])
def test_a_file_whose_name_is_a_pattern_to_spark_is_an_error(tmp_path: Path, name: str, refused: bool) -> None:
    (tmp_path / "app.sql").write_text("CREATE STREAM s (a INT) WITH (connector = 'files', path = 'in', format = 'json');", encoding="utf-8")
    (tmp_path / "in" / name).parent.mkdir(parents=True)
    (tmp_path / "in" / name).touch()
    found = [finding.message for finding in file_findings(load(tmp_path)) if finding.severity == "error"]
    assert [str(tmp_path / "in" / name) in message for message in found] == [True] * refused


@pytest.mark.parametrize(("key", "errors"), [("nokey", 1), ("card", 0), ("CARD", 0), ("total", 0)])
def test_the_key_of_a_sink_is_a_column_of_its_view(key: str, errors: int) -> None:
    total = view("SELECT card, sum(amount) AS total FROM payments GROUP BY card")
    found_here = [finding for finding in found(total, Sink("out", "v", {"connector": "kafka", "key": key})) if finding.severity == "error"]
    assert len(found_here) == errors
    assert all("no column `nokey`" in finding.message for finding in found_here)


def test_a_key_is_not_blamed_where_columns_are_not_known() -> None:
    assert not [f for f in found(view("SELECT * FROM loose"), Sink("out", "v", {"connector": "kafka", "key": "k"})) if f.severity == "error"]


def test_a_sort_key_over_a_window_must_be_selected() -> None:
    (finding,) = of("SELECT card FROM payments WINDOW w AS (ORDER BY at) ORDER BY row_number() OVER w LIMIT 3")
    assert finding.code == "PlanFault"
    assert "ORDER BY place" in (finding.hint or "")
    assert of("SELECT card, row_number() OVER w AS place FROM payments WINDOW w AS (ORDER BY at) ORDER BY row_number() OVER w LIMIT 3") == []


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT upper(card, 1) AS c FROM payments", "`upper` takes 1 argument, not 2"),
        ("SELECT round() AS r FROM payments", "`round` takes 1 or 2 arguments, not 0"),
        ("SELECT coalesce() AS r FROM payments", "`coalesce` takes at least 1 arguments, not 0"),
        ("SELECT card FROM payments WHERE instr(card) > 0", "`instr` takes 2 to 4 arguments, not 1"),
        ("SELECT card, max(sum(amount)) AS m FROM payments GROUP BY card", "an aggregate, sum(), cannot stand inside of another, max()"),
    ],
)
def test_arguments_are_counted_and_aggregates_of_aggregates_found(sql: str, words: str) -> None:
    (finding,) = of(sql)
    assert finding.message == words
    assert finding.where is not None
    assert finding.where.line == 20


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) AS n, count(DISTINCT card, n) AS d FROM payments",
        "SELECT struct(*) AS s, coalesce(payments.*) AS c FROM payments",
        "SELECT trim(BOTH 'x' FROM card) AS t, substring(card FROM 1 FOR 2) AS u, extract(HOUR FROM at) AS h FROM payments",
        "SELECT date_add(DAY, 1, at) AS d, dateadd(HOUR, 2, at) AS e, date_diff(DAY, at, at) AS f, datediff(at, at) AS g FROM payments",
        "SELECT sum(sum(amount)) OVER () AS s FROM payments GROUP BY card",
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY n) AS m, listagg(card, ',') WITHIN GROUP (ORDER BY n) AS l FROM payments",
        "SELECT mode() WITHIN GROUP (ORDER BY n) AS o FROM payments",
        "SELECT mask(card, lowerChar => 'q') AS m FROM payments",
        "SELECT card, count(*) AS tags, rank() OVER (ORDER BY card) AS r FROM payments GROUP BY card HAVING tags > 3",
        "SELECT aggregate(tags, 0, (a, t) -> a + length(t), a -> a * 2) AS n FROM payments",
        "SELECT lag(n, 1, 0) OVER (ORDER BY at) AS before, ntile(4) OVER (ORDER BY at) AS q FROM payments",
    ],
)
def test_calls_with_a_grammar_of_their_own_are_let_pass(sql: str) -> None:
    assert of(sql) == []


def test_a_query_that_is_asked_once_is_checked_before_spark_sees_it() -> None:
    app = declared(Stream("orders", parse_columns("id STRING, amount INT"), {"connector": "files", "path": "o"}))

    def wrong(sql: str) -> list[str]:
        try:
            check_query(view(sql, name="query"), app)
        except UserError as error:
            return [one.hint or "" for one in (error, *error.others)]
        return []

    assert wrong("SELECT reason, count(*) AS n FROM orders__dead GROUP BY reason") == []
    assert wrong("SELECT id, amount + 1 FROM orders ORDER BY amount DESC LIMIT 3") == []
    assert wrong("SELECT idd, summ(amount) FROM orders") == ["did you mean `id`?", "did you mean `sum`?"]
    assert wrong("SELECT * FROM ordrs") == ["did you mean `orders`?"]


def test_a_key_that_is_written_otherwise_than_it_is_declared_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "1.json").write_text('{"Id": 1, "amount": 2, "extra": 3}\n{"Id": 1, "at": null}\n', encoding="utf-8")

    def warned(columns: str, **options: str) -> list[str]:
        orders = Stream("orders", parse_columns(columns), {"connector": "files", "path": "o", **options})
        app = Declared("app", tmp_path, {"orders": orders})
        assert [one.hint for one in not_there(app, ["orders"])] == [one.hint for one in file_findings(app)]
        return [f"{one.severity}: {one.message}; {one.hint}" for one in file_findings(app)]

    assert warned("Id BIGINT, amount INT, at TIMESTAMP, note STRING") == []
    found = warned("id BIGINT, amout INT")
    assert [("have no `id`" in one, "did you mean `Id`?" in one) for one in found[:1]] == [(True, True)]
    assert "did you mean `amount`?" in found[1]
    assert all(one.startswith("warning: ") for one in found)
    assert warned("id BIGINT", format="csv") == warned("id BIGINT", multiline="true") == []
