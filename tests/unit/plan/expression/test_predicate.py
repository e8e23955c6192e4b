"""A condition that comes at run time is an expression over columns and nothing more."""

from __future__ import annotations

import pytest

from penstock.errors import UserError
from penstock.plan.expression.predicate import predicate


@pytest.mark.parametrize("text", ["total > 100", "country IN ('PT', 'ES') AND window.start >= '2024-05-01'", "name LIKE '%--%'", "NOT flag"])
def test_conditions_are_taken_as_they_are(text: str) -> None:
    assert predicate(text) == text


def test_a_column_that_the_view_does_not_have_is_named_with_the_nearest() -> None:
    assert predicate("TOTAL > 1 AND window.start > '2024' AND exists(tags, t -> t = 'x')", ["total", "tags"])
    with pytest.raises(UserError, match="the view has no column `totl`") as raised:
        predicate("totl > 1", ["country", "total"])
    assert raised.value.hint == "did you mean `total`?"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "total > 1 -- more",
        "total /* x */ > 1",
        "total > (SELECT max(total) FROM sales)",
        "sum(total) > 1",
        "row_number() OVER (ORDER BY total) < 3",
        "total > 1; DROP VIEW x",
        "java_method('java.lang.System', 'exit', 1)",
    ],
)
def test_more_than_a_condition_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        predicate(text)
