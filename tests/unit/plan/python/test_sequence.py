"""`ps.seq(...)` means a pattern that SQL could say too."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.errors import PlanFault, Where
from penstock.plan.model.nodes import Operate
from penstock.plan.model.pattern import Pattern, Skip
from penstock.plan.model.pattern_text import term_text
from penstock.plan.model.text import sql
from penstock.plan.python.keyed import Keyed
from penstock.plan.python.query import scan
from penstock.plan.python.sequence import Seq
from penstock.plan.sql.select import parse_select

KEYED = Keyed(scan("payments", "at", Where("app.py", 1)), ("card",))


def pattern(asked: Seq, within: str | None = None, **measures: str) -> Pattern:
    node = KEYED.pattern(asked, within, timed_out=False, **measures).node
    assert isinstance(node, Operate)
    assert node.pattern is not None
    assert parse_select(f"SELECT * FROM {sql(node).partition('FROM ')[2]}").input == node  # type: ignore[union-attr]
    return node.pattern


def term(asked: Seq, within: str | None = None) -> str:
    return term_text(pattern(asked, within).term)


def test_steps_follow_each_other_closely_or_not() -> None:
    a = ps.seq("a", "x > 1")
    assert term(a.next_("b", "x > 2")) == "a b"
    found = pattern(a.then("b", "x > 2"))
    assert term_text(found.term) == "a {- gap_1*? -} b"
    assert found.condition("gap_1") == "NOT coalesce(x > 2, false)"
    found = pattern(a.then_any("b", "x > 2"))
    assert (found.every, found.skip, found.condition("gap_1")) == (True, Skip("next"), None)


def test_steps_are_repeated() -> None:
    a = ps.seq("a", "x > 1")
    assert term(a.times(3)) == "a ({- gap_1*? -} a){2}"
    assert term(a.times(3).consecutive()) == "a{3}"
    assert term(a.times(2, 4).greedy()) == "a ({- gap_1*? -} a){1,3}"
    assert term(a.one_or_more().consecutive().next_("b")) == "a+? b"
    assert term(a.next_("b").optional().next_("c")) == "a b? c"
    found = pattern(a.one_or_more().greedy().until("x > 9").then("b", "x = 0"))
    assert found.condition("a") == "(x > 1) AND NOT coalesce(x > 9, false)"
    assert found.condition("gap_1") == "NOT coalesce(x > 1, false) AND NOT coalesce(x > 9, false)"
    assert "NOT coalesce(x = 0, false)" in str(found.condition("gap_2"))


def test_a_condition_that_names_its_own_step_bars_the_rows_between_as_well() -> None:
    found = pattern(ps.seq("a", "a.x > 1").then_not("c", "`c`.x > a.x").then("b", "b.x > a.x AND b.x > prev(b.x)"))
    assert found.condition("gap_1") == "NOT coalesce(gap_1.x > a.x, false) AND NOT coalesce(gap_1.x > a.x AND gap_1.x > prev(gap_1.x), false)"
    with pytest.raises(PlanFault, match="`c` must not come"):
        pattern(ps.seq("a", "x > 1").then_not("c", "c.x > last(c.x, 1)").then("b"))


def test_rows_that_must_not_come() -> None:
    a = ps.seq("a", "x > 1")
    assert term(a.then_not("b", "x < 0"), within="10 minutes") == "a NOT b"
    assert term(a.not_next("b", "x < 0").then("c")) == "a NOT NEXT b {- gap_1*? -} c"
    found = pattern(a.then_not("b", "x < 0").then("c", "x = 5"))
    assert term_text(found.term) == "a {- gap_1*? -} c"
    assert found.condition("gap_1") == "NOT coalesce(x < 0, false) AND NOT coalesce(x = 5, false)"
    with pytest.raises(PlanFault, match="without WITHIN"):
        pattern(a.then_not("b", "x < 0"))


def test_measures_time_and_skips() -> None:
    a = ps.seq("a", "x > 1")
    found = pattern(a.then("b").within("10 minutes").skip_to_first("b"), since="first(a.at)")
    assert (found.within, found.skip, found.measures) == ("10 minutes", Skip("first", "b"), (("since", "first(a.at)"),))
    assert [name for name, _ in pattern(a).measures] == ["match_start", "match_end"]
    with pytest.raises(PlanFault, match="step `A` already"):
        a.then("A")
    with pytest.raises(PlanFault, match="not a number of times"):
        a.times(3, 2)
