"""What the editor makes of its text."""

from __future__ import annotations

import pytest

from penstock.errors import SyntaxFault
from penstock.plan.added import read_statements
from penstock.plan.model.declare import View
from penstock.plan.sql.statements import Create
from penstock.web.console.editor import as_view


def test_a_select_becomes_a_view_and_errors_keep_their_line() -> None:
    assert as_view(" sales ", "SELECT 1 AS one\n FROM t;") == "CREATE MATERIALIZED VIEW `sales` AS SELECT 1 AS one\n FROM t"
    assert as_view("sales", "SELECT 1 AS one FROM t", replaces=True) == "CREATE OR REPLACE MATERIALIZED VIEW `sales` AS SELECT 1 AS one FROM t"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1 AS one FROM t; CREATE TABLE secrets (line STRING) WITH (connector = 'files', path = '/etc')",
        "SELECT 1 AS one FROM t; DROP VIEW other",
        "",
    ],
)
def test_nothing_but_one_select_is_taken(text: str) -> None:
    with pytest.raises(SyntaxFault):
        as_view("sales", text)


def test_a_view_that_is_replaced_keeps_its_options() -> None:
    statement = as_view("loud", "SELECT 1 AS n FROM s", {"trigger": "10 seconds", "alert": "true"})
    (made,) = read_statements(statement)
    assert isinstance(made, Create)
    assert isinstance(made.declaration, View)
    assert (made.declaration.options, made.declaration.alerts) == ({"trigger": "10 seconds", "alert": "true"}, True)
    assert "WITH" not in as_view("quiet", "SELECT 1 AS n FROM s", {"alert": "false"})
