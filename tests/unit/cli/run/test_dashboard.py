"""The small charts of the demo."""

from __future__ import annotations

from penstock.cli.run.dashboard import bar, best_products, moving_average, sales_by_country, sparkline, turnover


def test_a_sparkline_spans_from_the_least_to_the_most() -> None:
    assert sparkline([1, 2, 3]) == "▁▅█"
    assert sparkline([5, 5]) == "▄▄"
    assert sparkline([]) == ""


def test_a_bar_is_as_long_as_its_share_of_the_most() -> None:
    assert bar(5, 10, width=10) == "█████"
    assert bar(0, 0) == ""


def test_countries_are_sorted_by_total() -> None:
    text = sales_by_country([{"country": "Italy", "total": "10.00"}, {"country": "France", "total": "1200.50"}])
    assert [line.split()[0] for line in text.splitlines()] == ["France", "Italy"]
    assert "1,200.50" in text


def test_products_stand_by_category_and_rank() -> None:
    rows = [{"category": "music", "rank": 1, "product": "disc-1", "total": "5"}, {"category": "books", "rank": 1, "product": "book-2", "total": "3"}]
    assert [line.split()[0] for line in best_products(rows).splitlines()] == ["books", "music"]


def test_averages_are_in_the_order_of_time_and_the_newest_are_last() -> None:
    rows = [{"hour_to": f"2026-01-01T1{n}:00:00.000Z", "average": str(n)} for n in (3, 1, 2)]
    assert moving_average(rows).splitlines() == ["▁▅█", "2026-01-01T11:00:00Z  1.00", "2026-01-01T12:00:00Z  2.00", "2026-01-01T13:00:00Z  3.00"]


def test_nothing_is_shown_of_a_total_that_is_not_there_yet() -> None:
    assert turnover([]) == ""
    assert turnover([{"payments": 1234, "total": "5.50"}]) == "1,234 payments, 5.50 in all"
