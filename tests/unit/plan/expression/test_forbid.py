"""No way out of the app by SQL, however it is written."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from penstock.errors import ForbiddenFault, UserError, Where
from penstock.plan.expression.forbid import forbid
from penstock.plan.model.nodes import Item, Project, Scan
from penstock.plan.sql.select import parse_select
from penstock.plan.sql.statements import parse
from penstock.spark.compile.operators import plan_frame

WAYS_OUT = [
    "SELECT TRANSFORM(a) USING 'cat' FROM t",
    "SELECT transform (a) /* x */ uSiNg /* y */ 'cat' AS (b STRING) FROM t",
    "FROM t MAP a USING 'cat'",
    "FROM t REDUCE a USING 'cat' AS b",
    "MAP a USING 'cat' FROM t",
    "SELECT TRANSFORM(a) ROW FORMAT DELIMITED USING 'cat' FROM t",
    "SELECT reflect('java.lang.Runtime', 'getRuntime')",
    "SELECT ReFlEcT /* c */ ('java.lang.System', 'getenv', 'HOME')",
    "SELECT java_method('java.lang.System', 'getProperty', 'user.home')",
    "SELECT `java_method`('java.lang.System', 'getenv', 'HOME')",
    "SELECT system.builtin.java_method('a', 'b')",
    "SELECT builtin.`reflect`('a', 'b')",
    "SELECT try_reflect('a', 'b')",
    "SELECT a FROM t WHERE b IN (SELECT reflect('a', 'b') FROM u)",
    "WITH c AS (SELECT java_method('a', 'b') AS x) SELECT * FROM c",
    "SELECT transform(xs, x -> reflect('a', 'b')) FROM t",
    "SELECT a FROM t ORDER BY reflect('a', 'b')",
    "SELECT a FROM t JOIN u ON reflect('a', 'b') = 1",
    "SELECT * FROM csv.`/etc/passwd`",
    "SELECT * FROM CSV . `/etc/passwd`",
    "SELECT * FROM `text`.`/etc/passwd`",
    "SELECT * FROM parquet.foo",
    "SELECT * FROM binaryFile.`file:///etc/shadow`",
    "SELECT * FROM json.`hdfs://x/y` AS j JOIN t ON 1 = 1",
    "SELECT * FROM t, text.`/etc/passwd`",
    "SELECT * FROM (SELECT * FROM orc.`/x`) q",
    "SELECT a FROM t QUALIFY 1 = (SELECT count(*) FROM orc.x)",
    "SELECT * FROM explode((SELECT collect_list(value) FROM text.passwd))",
    "SELECT * FROM t LATERAL VIEW explode((SELECT collect_list(value) FROM text.passwd)) e AS v",
    "VALUES ((SELECT max(value) FROM text.passwd))",
    "FROM text.passwd SELECT *",
    "FROM t |> WHERE EXISTS (SELECT 1 FROM text.passwd)",
    "TABLE text.passwd",
    "SELECT * FROM default.t",
    "SELECT * FROM spark_catalog.default.t",
    "SELECT * FROM global_temp.secrets",
    "SELECT * FROM t WITH ('path' = '/etc')",
    "SELECT * FROM read_files('/etc/passwd')",
    "SELECT * FROM python_worker_logs()",
    "SELECT * FROM my_udtf(1)",
    "SELECT * FROM my_udtf(TABLE(t))",
    "SELECT * FROM IDENTIFIER('csv.`/etc/passwd`')",
    "SELECT identifier('java_' || 'method')('a', 'b')",
    "SELECT * FROM identifier /* x */ ('t')",
    "SELECT input_file_name() FROM t",
    "SELECT from_protobuf(a, 'M', '/etc/passwd') FROM t",
    "SELECT from_xml(a, 's STRING', map('rowValidationXSDPath', '/etc/passwd')) FROM t",
    "SELECT from_xml(a, 's STRING', map(concat('rowValidation', 'XSDPath'), '/etc/passwd')) FROM t",
    "SELECT from_xml(a, 's STRING', map('rowValidation' 'XSDPath', '/etc/passwd')) FROM t",
    "SELECT from_avro(a, 's', map('avroSchemaUrl', 'file:///etc/passwd')) FROM t",
    "SELECT from_avro(a, 's', map('mode', 'x', 'avro' /* c */ \"Schema\" r'Url', 'file:///etc/passwd')) FROM t",
    "SELECT '${env:HOME}'",
    "SELECT ${spark.master}",
    "WITH c AS (SELECT 1) INSERT INTO t SELECT * FROM c",
    "FROM t INSERT OVERWRITE u SELECT *",
    "SET spark.sql.ansi.enabled = false",
    "RESET",
    "ADD JAR '/tmp/x.jar'",
    "ADD FILE x",
    "ADD ARCHIVE x",
    "CREATE FUNCTION f AS 'a.B' USING JAR 'x.jar'",
    "CREATE OR REPLACE TEMPORARY FUNCTION f AS 'a.B'",
    "CREATE TEMPORARY VIEW v AS SELECT 1",
    "CREATE GLOBAL TEMPORARY VIEW v AS SELECT 1",
    "CREATE VARIABLE v = 1",
    "DECLARE VARIABLE v INT",
    "LOAD DATA INPATH '/etc/passwd' INTO TABLE t",
    "INSERT INTO t VALUES (1)",
    "CACHE TABLE t",
    "UNCACHE TABLE t",
    "EXECUTE IMMEDIATE 'SELECT 1'",
    "CALL x()",
    "REFRESH TABLE t",
    "SHOW TABLES",
    "DESCRIBE t",
    "EXPLAIN SELECT 1",
    "USE other",
    "MERGE INTO t USING u ON 1 = 1 WHEN MATCHED THEN DELETE",
    "DELETE FROM t",
    "UPDATE t SET a = 1",
    "ALTER TABLE t ADD COLUMN a INT",
    "ANALYZE TABLE t COMPUTE STATISTICS",
    "BEGIN SELECT 1; END",
    "/* c */ sEt /* c */ x = 1",
    "DROP DATABASE d",
    "CREATE DATABASE d",
]


@pytest.mark.parametrize("text", WAYS_OUT)
def test_every_known_way_out_is_closed(text: str) -> None:
    with pytest.raises(UserError):
        parse(text, "app.sql")


@pytest.mark.parametrize("text", [way for way in WAYS_OUT if way.split()[0].upper() in ("SELECT", "WITH", "FROM", "VALUES", "SET", "ADD", "RESET")])
def test_they_are_called_forbidden(text: str) -> None:
    with pytest.raises(ForbiddenFault) as caught:
        parse(text, "app.sql")
    assert caught.value.where is not None
    assert caught.value.excerpt


@pytest.mark.parametrize("text", [way for way in WAYS_OUT if way.startswith("SELECT") and not way.endswith("'/etc')")])
def test_a_view_is_no_way_around(text: str) -> None:
    with pytest.raises(ForbiddenFault):
        parse(f"CREATE MATERIALIZED VIEW v AS {text}", "app.sql")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 'reflect(a)', \"java_method('x')\" FROM t -- reflect('a')",
        "SELECT transform(xs, x -> x + 1) FROM t JOIN u USING (a)",
        "SELECT reflect, `set`, insert, row, csv.a FROM t csv",
        "SELECT /*+ BROADCAST(t) */ a FROM t",
        "SELECT from_xml(a, 's STRING', map('timestampFormat', 'dd/MM/yyyy')) FROM t",
        "SELECT from_xml(a, 's STRING', map('timestampFormat', 'dd/MM/yyyy' ' HH:mm')) FROM t",
        "SELECT a FROM t WHERE b = '$ {x}'",
        "SELECT replace(a, 'x', 'y'), map('a', 1), json.b FROM (SELECT 1 AS json)",
        "SELECT * FROM range(10), explode(array(1))",
    ],
)
def test_what_only_looks_alike_is_allowed(text: str) -> None:
    parse_select(text)


@pytest.mark.parametrize("call", ["TUMBLE", "HOP", "SESSION"])
@pytest.mark.parametrize("escape", ["1 hour') , reflect('a','b", "1 hour' || reflect('a', 'b') || '", "1 hour\\\\", "1 hour', '1 minute"])
def test_a_duration_is_no_way_out_of_its_quotes(call: str, escape: str) -> None:
    for duration in (f'"{escape}"', f'INTERVAL "{escape}"', f'INTERVAL "{escape}" MINUTE'):
        with pytest.raises(UserError):
            parse_select(f"SELECT * FROM {call}(TABLE pay, DESCRIPTOR(at), {duration}{', INTERVAL 1 HOUR' * (call == 'HOP')})")


def test_a_plan_is_looked_at_once_more_on_its_way_to_spark() -> None:
    given: list[str] = []
    session = SimpleNamespace(sql=given.append)
    app = SimpleNamespace(declared=SimpleNamespace(functions={}, streams={}), sets_aside=True)
    plan_frame(session, app, Project(Scan("t"), (Item("upper(a)", "a"),)))  # type: ignore[arg-type]
    with pytest.raises(ForbiddenFault):
        plan_frame(session, app, Project(Scan("t"), (Item("reflect('a', 'b')", "a"),)))  # type: ignore[arg-type]
    assert len(given) == 1


def test_an_expression_can_be_asked_about() -> None:
    forbid("upper(a) || 'x'", Where("app.py", 3))
    with pytest.raises(ForbiddenFault) as caught:
        forbid("a + reflect('x', 'y')", Where("app.py", 3))
    assert str(caught.value.where) == "app.py:3"
