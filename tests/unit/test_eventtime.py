"""Intervals and lateness: texts as Spark reads them."""

from __future__ import annotations

import random

import pytest

from penstock.errors import TypeFault
from penstock.eventtime import delay, format_interval, interval

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("10 seconds", 10 * SECOND),
        ("10 Seconds", 10 * SECOND),
        ("INTERVAL 10 SECONDS", 10 * SECOND),
        ("INTERVAL '1' HOUR", HOUR),
        ("interval '10 minutes'", 10 * MINUTE),
        ("1 hour 30 minutes", 90 * MINUTE),
        ("INTERVAL 1 HOUR 30 MINUTES", 90 * MINUTE),
        ("1 hour -10 minutes", 50 * MINUTE),
        ("1.5 seconds", 1_500_000),
        (".5 second", 500_000),
        ("+ 1 second", SECOND),
        ("-1 minute", -MINUTE),
        ("1 week", 7 * 24 * HOUR),
        ("500 milliseconds", 500_000),
        ("250 microseconds", 250),
        ("INTERVAL '1:30' HOUR TO MINUTE", 90 * MINUTE),
        ("INTERVAL '1 02:03:04.5' DAY TO SECOND", 26 * HOUR + 3 * MINUTE + 4_500_000),
        ("INTERVAL -'5' MINUTE", -5 * MINUTE),
        ("INTERVAL '-5' MINUTE", -5 * MINUTE),
    ],
)
def test_an_interval_is_read_as_spark_reads_it(text: str, micros: int) -> None:
    assert interval(text) == micros


@pytest.mark.parametrize(
    "text", ["00:10:00", "1 hour, 2 minutes", "1h", "0.5 minutes", "10", "", "soon", "1 fortnight", "INTERVAL", "INTERVAL '1' TO HOUR"]
)
def test_what_spark_cannot_read_is_refused(text: str) -> None:
    with pytest.raises(TypeFault):
        interval(text)


@pytest.mark.parametrize("text", ["1 month", "1 year 2 days", "INTERVAL '1' MONTH", "INTERVAL '1-2' YEAR TO MONTH"])
def test_a_window_cannot_be_months_long(text: str) -> None:
    with pytest.raises(TypeFault):
        interval(text)


def test_a_lateness_counts_a_month_as_31_days_and_is_never_negative() -> None:
    assert delay("1 month") == 31 * 24 * HOUR
    with pytest.raises(TypeFault):
        delay("-1 second")


def test_a_formatted_interval_reads_back_the_same() -> None:
    chance = random.Random(7)
    for _ in range(500):
        span = chance.randrange(-(10**13), 10**13)
        assert interval(format_interval(span)) == span
