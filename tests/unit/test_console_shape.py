"""Which chart fits which columns."""

from __future__ import annotations

import pytest

from penstock.schema import columns
from penstock.web.console.chart import options
from penstock.web.console.shape import shape_of


@pytest.mark.parametrize(
    ("ddl", "key", "kind"),
    [
        ("hour TIMESTAMP, total DOUBLE", ("hour",), "line"),
        ("day DATE, page STRING, views BIGINT", ("day", "page"), "line"),
        ("country STRING, total DECIMAL(12,2)", ("country",), "bars"),
        ("region STRING, country STRING, n INT", ("region", "country"), "bars"),
        ("n BIGINT, total DOUBLE", (), "numbers"),
        ("n BIGINT, total DOUBLE", None, "table"),
        ("visitor STRING, since TIMESTAMP, until TIMESTAMP, clicks BIGINT", None, "table"),
        ("name STRING", ("name",), "table"),
    ],
)
def test_the_kind_follows_the_columns(ddl: str, key: tuple[str, ...] | None, kind: str) -> None:
    found = shape_of(columns(ddl), key)
    assert found.kind == kind
    assert kind in found.kinds


def test_a_line_has_a_series_for_each_text_in_order_of_time() -> None:
    shape = shape_of(columns("at TIMESTAMP, page STRING, n BIGINT"), None)
    rows = [{"at": f"2026-01-05T0{hour}:00:00Z", "page": page, "n": hour} for hour in (2, 1) for page in ("a", "b")]
    series = options(shape, "line", "n", rows)["series"]
    assert [(one["name"], [value for _, value in one["data"]]) for one in series] == [("a", [1, 2]), ("b", [1, 2])]


def test_bars_leave_out_what_is_no_number_and_put_the_largest_first() -> None:
    shape = shape_of(columns("name STRING, total DECIMAL(12,2)"), ("name",))
    drawn = options(shape, "bars", "total", [{"name": "a", "total": "1.50"}, {"name": "b", "total": None}, {"name": "c", "total": "20.00"}])
    assert drawn["yAxis"]["data"] == ["c", "a"]
    assert drawn["series"][0]["data"] == [20.0, 1.5]
