"""What check and explain say of a row pattern."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import UserError
from penstock.plan.check.app import check as check_with
from penstock.plan.load import load
from penstock.plan.model.findings import Finding
from penstock.plan.model.picture import picture
from penstock.plan.sql.select import parse_select
from penstock.share.explain import explain

STREAM = """CREATE STREAM payments (card STRING, amount DOUBLE, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 10 SECONDS)
WITH (connector = 'files', path = 'payments', format = 'json');
"""
VIEW = """CREATE MATERIALIZED VIEW v AS SELECT * FROM payments MATCH_RECOGNIZE (
  PARTITION BY card ORDER BY {order} MEASURES last({column}) AS x PATTERN ({pattern}) {within} {define});"""


def app(folder: Path, order: str = "at", column: str = "amount", within: str = "", pattern: str = "a b+", define: str = "") -> Path:
    (folder / "payments").mkdir(exist_ok=True)
    (folder / "app.sql").write_text(STREAM + VIEW.format(order=order, column=column, within=within, pattern=pattern, define=define))
    return folder


def check(folder: Path) -> list[Finding]:
    return list(check_with(load(folder), lambda kind, name, options, columns: None, lambda name, options: None))


def test_a_pattern_without_within_is_warned_of(tmp_path: Path) -> None:
    assert [found.message for found in check(app(tmp_path, within="WITHIN INTERVAL '1' HOUR"))] == []
    found = check(app(tmp_path))
    assert [(entry.severity, "no WITHIN" in entry.message) for entry in found] == [("warning", True)]


def test_an_unknown_column_and_an_order_without_watermark_are_found(tmp_path: Path) -> None:
    assert any("amuont" in entry.message for entry in check(app(tmp_path, column="amuont")))
    assert any("no watermark follows" in entry.message for entry in check(app(tmp_path, order="amount")))


def test_explain_prints_the_automaton_and_what_is_kept(tmp_path: Path) -> None:
    shown = str(explain(load(app(tmp_path, within="WITHIN INTERVAL '1' HOUR")))[0])
    assert "take a -> 1" in shown
    assert "the pattern runs row by row on the automaton; its automaton" in shown
    assert "bounded: rows of matches that may still be completed, for 1 hour" in shown
    assert "MATCH_RECOGNIZE (PARTITION BY card" in shown


def test_explain_and_graph_say_what_the_pattern_is_and_how_it_runs(tmp_path: Path) -> None:
    declared = load(
        app(
            tmp_path,
            within="WITHIN INTERVAL '1' HOUR",
            column="a.amount",
            pattern="a {- other*? -} b",
            define="DEFINE a AS amount < 2, b AS amount > 9",
        )
    )
    shown = str(explain(declared)[0])
    assert "the pattern runs vectorised, all keys of a bucket at once; rows that no step could take are left out before the shuffle" in shown
    (box,) = picture(declared, {"v": "incremental"}).columns[1]
    assert box.label == "incremental, a {- other*? -} b within 1 hour"


def test_a_pattern_beside_what_only_spark_reads_is_refused() -> None:
    with pytest.raises(UserError, match="do not go together in one SELECT"):
        parse_select("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES a.at AS x PATTERN (a)) SORT BY x")
