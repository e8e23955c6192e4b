from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from penstock.errors import NameFault, SyntaxFault
from penstock.plan.expression.judge import judge
from penstock.plan.expression.ordering import ordering
from penstock.schema import columns

SCHEMA = columns(
    "n BIGINT, price DECIMAL(12,2), rate DOUBLE, name STRING, ok BOOLEAN, at TIMESTAMP, w STRUCT<start: TIMESTAMP, n: INT>, m MAP<STRING, INT>"
)
AT = datetime(2024, 5, 1, 10, tzinfo=UTC)
ROW = {"n": 5, "price": Decimal("9.50"), "rate": 0.5, "name": "Ana", "ok": True, "at": AT, "w": {"start": AT, "n": None}, "m": {}}


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("n > 4", True),
        ("N = 5 AND name = 'Ana'", True),
        ("n > 4 AND w.n > 1", False),
        ("NOT (w.n > 1)", False),
        ("w.n IS NULL OR n = 0", True),
        ("w.n = 1 OR n = 5", True),
        ("price >= 9.5", True),
        ("price < rate", False),
        ("rate = 0.5", True),
        ("n IN (1, 2, NULL)", False),
        ("NOT n IN (1, 2, NULL)", False),
        ("n IN (1, 5, NULL)", True),
        ("n BETWEEN 5 AND 6", True),
        ("name LIKE 'A_%'", True),
        ("name NOT LIKE 'B%'", True),
        ("name LIKE '%n%a'", True),
        ("name LIKE '%n%n%a'", False),
        ("name LIKE 'A%a%a'", False),
        ("name LIKE '%'", True),
        ("name LIKE ''", False),
        ("name LIKE '_n_'", True),
        ("name LIKE '%_n%_'", True),
        ("at >= '2024-05-01'", True),
        ("at < TIMESTAMP '2024-05-01 10:00:00'", False),
        ("w.start = at", True),
        ("ok", True),
        ("n % 2 = 1", True),
        ("-n = 5", None),
        ("n = -5", False),
        ("NULL", False),
    ],
)
def test_a_plain_condition_is_judged_as_spark_does(condition: str, holds: bool | None) -> None:
    found = judge(condition, SCHEMA)
    assert (None if found is None else found(ROW)) is holds


@pytest.mark.parametrize(
    "condition", ["upper(name) = 'ANA'", "n = '5'", "name > 5", "n", "n + 1 > 2", "at > 'yesterday'", "nope = 1", r"name LIKE 'a\_'", "n = 1e3"]
)
def test_what_only_spark_can_say_is_left_to_it(condition: str) -> None:
    assert judge(condition, SCHEMA) is None


def test_nan_is_the_largest_number_and_equal_to_itself() -> None:
    for condition in ("rate > 1000", "rate = rate"):
        found = judge(condition, SCHEMA)
        assert found is not None
        assert found({**ROW, "rate": float("nan")})


def test_an_order_names_columns_and_fields() -> None:
    found = ordering("NAME desc, w.start NULLS LAST", SCHEMA)
    assert [(by.path, by.descending, by.nulls_first) for by in found] == [(("name",), True, False), (("w", "start"), False, False)]


@pytest.mark.parametrize(
    ("text", "fault"),
    [("nope", NameFault), ("w.nope", NameFault), ("n +1", SyntaxFault), ("n,", SyntaxFault), ("m", SyntaxFault), ("n --x", SyntaxFault)],
)
def test_what_is_no_order_is_refused(text: str, fault: type[Exception]) -> None:
    with pytest.raises(fault):
        ordering(text, SCHEMA)


def test_a_pattern_of_many_parts_costs_no_more_than_the_row_is_long() -> None:
    found = judge(f"name LIKE '{'%a' * 12}%b'", SCHEMA)
    assert found is not None
    assert not found({**ROW, "name": "a" * 300})  # would take years, if every place were tried for every part
