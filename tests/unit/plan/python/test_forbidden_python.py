"""The Python face and generator expressions reach no further than SQL does."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock as ps
from penstock.errors import ForbiddenFault
from penstock.plan.check.app import check, raise_first
from penstock.plan.model.declare import Declared, View
from penstock.plan.model.nodes import Item, Project, Scan


def accept(*given: object) -> None:
    """A checker of options that has no objections."""


def verdict(app: ps.App) -> None:
    declared = Declared("app", Path(), {entry.name: entry for entry in app.declarations()})
    raise_first(check(declared, accept, accept))


def payments(app: ps.App, **columns: str) -> object:
    return app.stream("payments", ps.Generator(rows=10, columns=columns), "id STRING, amount DOUBLE")


@pytest.mark.parametrize("text", ["java_method('java.lang.System', 'exit', 1)", "reflect('a', 'b')", "`java_method`('a', 'b')"])
def test_an_expression_of_the_python_face_cannot_call_java(text: str) -> None:
    app = ps.App("app")
    app.view("out", payments(app).select(x=text))  # type: ignore[attr-defined]
    with pytest.raises(ForbiddenFault):
        verdict(app)


def test_a_view_is_judged_by_the_query_that_spark_gets_whatever_its_text_says() -> None:
    forged = View("out", Project(Scan("t"), (Item("reflect('a', 'b')", "x"),)), text="SELECT x FROM t")
    with pytest.raises(ForbiddenFault):
        raise_first([finding for finding in check(Declared("app", Path(), {"out": forged}), accept, accept) if finding.code != "NameFault"])


def test_a_generated_column_cannot_call_java() -> None:
    app = ps.App("app")
    payments(app, id="java_method('java.lang.System', 'getProperty', 'user.home')")
    with pytest.raises(ForbiddenFault):
        verdict(app)


def test_an_ordinary_expression_passes() -> None:
    app = ps.App("app")
    app.view("out", payments(app, id="concat('p', n)").select("id", twice="amount * 2"))  # type: ignore[attr-defined]
    verdict(app)
