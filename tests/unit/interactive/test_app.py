"""What an app answers without Spark: declarations, checks, explanations, the graph; and what it refuses."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import penstock as ps
from penstock.errors import AppFault, NameFault, PlanFault, StateError

SQL = """
CREATE STREAM orders (id STRING, amount DOUBLE) WITH (connector = 'files', path = 'orders');
CREATE MATERIALIZED VIEW sales AS SELECT sum(amount) AS total FROM orders;
"""


def shop(tmp_path: Path) -> ps.App:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "orders").mkdir()
    (tmp_path / "shop" / "app.sql").write_text(SQL, encoding="utf-8")
    return ps.open(tmp_path / "shop")


def test_an_opened_app_is_checked_explained_and_drawn(tmp_path: Path) -> None:
    app = shop(tmp_path)
    assert app.check().ok
    assert str(app.check()) == "ok"
    assert "incremental" in str(app.explain("sales"))
    assert "<pre" in app.explain("SALES")._repr_html_()
    assert len(app.explain()) == 1  # type: ignore[arg-type]
    assert "flowchart" in str(app.graph())
    assert app.graph()._repr_html_().startswith("<svg")
    assert [(one.view, one.status) for one in app.status()] == [("sales", "not run")]
    assert "not run" in app.status()._repr_html_()
    with pytest.raises(StateError, match="has not run"):
        app.rows("sales")
    with pytest.raises(NameFault, match="did you mean"):
        app.rows("sale")
    app.close()


def test_more_can_be_declared_on_an_opened_app(tmp_path: Path) -> None:
    with shop(tmp_path) as app:
        app.view("large", app.read("orders").where("amount > 10").select("id"))
        assert "large" in str(app.graph())
        assert len(app.status()) == 2


def test_a_faulty_app_is_reported_by_check_and_refused_by_the_other_verbs() -> None:
    app = ps.App("shop")
    orders = app.stream("orders", ps.Files("orders"), "id STRING, amount DOUBLE")
    app.view("sales", orders.agg(total="sum(amuont)"))
    found = app.check()
    assert not found.ok
    assert "amuont" in str(found)
    assert "amuont" in found._repr_html_()
    with pytest.raises(NameFault, match="amuont"):
        app.explain("sales")


def test_an_app_that_is_not_there_or_declares_nothing() -> None:
    with pytest.raises(AppFault, match="there is no app"):
        ps.open("no/such/app")
    with pytest.raises(AppFault, match="declares nothing"):
        ps.App("empty").status()


def test_names_that_spark_and_pandas_people_type_give_the_same_plan() -> None:
    app = ps.App("shop")
    orders = app.stream("orders", ps.Files("orders"), "id STRING, k STRING, amount DOUBLE")
    assert orders.filter("amount > 1") == orders.where("amount > 1")
    assert orders.groupBy("k").agg(n="count(*)") == orders.group_by("k").agg(n="count(*)")
    assert orders.orderBy("amount DESC").limit(3) == orders.sort("amount DESC").limit(3) == orders.order_by("amount DESC").limit(3)
    assert orders.withColumn("double", "amount * 2") == orders.select("*", double="amount * 2")
    assert orders.dropDuplicates() == orders.distinct()


def test_a_query_without_an_app_says_that_it_cannot_run() -> None:
    from penstock.errors import Where
    from penstock.plan.python.query import scan

    with pytest.raises(PlanFault, match="no app"):
        scan("orders", None, Where("x", 1)).batch()


def test_a_cell_that_is_run_again_declares_again() -> None:
    cell = """
orders = app.stream("orders", ps.Files("orders"), "id STRING, amount DOUBLE")
app.view("sales", orders.agg(total="{0}(amount)"))
"""
    names = {"app": ps.App("shop"), "ps": ps}
    for function in ("sum", "max"):
        exec(compile(cell.format(function), "<cell>", "exec"), names)
    app = names["app"]
    assert isinstance(app, ps.App)
    assert "max(amount)" in str(app.explain("sales"))
    assert len(app.status()) == 1


def test_neither_import_nor_declaring_nor_checking_reads_spark_or_pandas() -> None:
    code = """
import sys
import penstock as ps
app = ps.App("shop")
orders = app.stream("orders", ps.Files("orders"), "id STRING, amount DOUBLE")
app.view("sales", orders.agg(total="sum(amount)"))
assert app.check().ok
assert not {"pyspark", "pandas", "pyarrow"} & set(sys.modules), set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_notebook_shows_what_is_wrong_and_not_the_way_through_penstock(capsys: pytest.CaptureFixture[str]) -> None:
    shell: Any = InteractiveShell()  # type: ignore[no-untyped-call]
    shell.run_cell("import penstock as ps\napp = ps.App('shop')\norders = app.stream('orders', ps.Memory([{'id': 1}]))")
    shell.run_cell("cheap = orders.where('id < 5')\ncheap")
    assert "Query(SELECT * FROM `orders` WHERE id < 5)" in capsys.readouterr().out
    shell.run_cell("one = 1\napp.view('v', orders.select('idd'))\napp.batch('v')")
    shown = re.sub(r"\x1b\[[0-9;]*m", "", "".join(capsys.readouterr()))
    assert "line 3: app.batch('v')\nNameFault: " in shown
    assert "there is no column `idd`" in shown
    assert "Traceback" not in shown
    assert "engine.py" not in shown
