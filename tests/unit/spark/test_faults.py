"""What is left of Spark's words when they reach a user."""

from __future__ import annotations

import pytest

from penstock.errors import NameFault, PlanFault, TypeFault, Where
from penstock.plan.declare import View
from penstock.plan.nodes import Scan
from penstock.spark.faults import in_users_words

ZERO = (
    "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead. "
    'If necessary set "spark.sql.ansi.enabled" to "false" to bypass this error. SQLSTATE: 22012'
)
OVERFLOW = (
    '[CAST_OVERFLOW] The value 300 of the type "INT" cannot be cast to "TINYINT" due to an overflow. Use `try_cast` to tolerate overflow and '
    'return NULL instead. If necessary set "spark.sql.ansi.enabled" to "false" to bypass this error. SQLSTATE: 22003'
)


@pytest.mark.parametrize("text", [ZERO, OVERFLOW])
def test_nobody_is_told_to_change_a_setting_that_they_cannot(text: str) -> None:
    told = in_users_words(Exception(text), None)
    assert "spark." not in str(told)
    assert "try_" in told.message
    assert isinstance(told, PlanFault | TypeFault)


def test_a_select_that_is_asked_once_is_underlined_as_a_view_is() -> None:
    text = "SELECT customr\nFROM orders"
    view = View("query", Scan("orders", where=Where("SQL", 2, 6)), text=text, where=Where("SQL", 1))
    error = Exception(
        "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name `customr` cannot be resolved. SQLSTATE: 42703"
    )
    told = in_users_words(error, view)
    assert isinstance(told, NameFault)
    assert told.where == Where("SQL", 1)
    assert told.excerpt == "    1 | SELECT customr\n               ^^^^^^^"
    assert "view `query`" not in told.message
