"""Event-time arithmetic: texts as Spark reads them, and properties that hold for every window."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from penstock.errors import TypeFault
from penstock.eventtime import delay, format_interval, interval, sessions, slice_size, slices_of, watermark, window_starts

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


def test_every_window_holds_its_event_and_no_window_is_missed() -> None:
    chance = random.Random(11)
    for _ in range(500):
        slide = chance.randrange(1, 50)
        size = chance.randrange(slide, 400)
        offset = chance.randrange(0, slide)
        time = chance.randrange(-1000, 1000)
        starts = window_starts(time, size, slide, offset)
        every = [start for start in range(offset - 3000 * slide, offset + 3000 * slide, slide) if start <= time < start + size]
        assert starts == every


def test_an_event_on_a_border_opens_the_next_window() -> None:
    assert window_starts(HOUR, HOUR) == [HOUR]
    assert window_starts(HOUR - 1, HOUR) == [0]


def test_a_step_longer_than_the_window_is_refused() -> None:
    with pytest.raises(TypeFault):
        window_starts(0, 10, 11)


def test_slices_tile_every_window() -> None:
    chance = random.Random(13)
    for _ in range(200):
        slide = chance.randrange(1, 60)
        size = chance.randrange(slide, 300)
        width = slice_size(size, slide)
        time = chance.randrange(0, 1000)
        own = time - time % width
        for start in window_starts(time, size, slide):
            tiles = slices_of(start, size, slide)
            assert own in tiles
            assert tiles[0] == start
            assert tiles[-1] + width == start + size


def test_touching_sessions_are_one() -> None:
    assert sessions([0, 10, 21], gap=10) == [(0, 20, 2), (21, 31, 1)]


def test_sessions_do_not_depend_on_arrival_order_and_keep_every_event() -> None:
    chance = random.Random(17)
    for _ in range(100):
        times = [chance.randrange(0, 500) for _ in range(40)]
        found = sessions(times, gap=9)
        assert sessions(reversed(times), gap=9) == found
        assert sum(events for _, _, events in found) == len(times)
        assert all(earlier[1] < later[0] for earlier, later in pairwise(found))


def test_the_watermark_is_in_whole_milliseconds_and_never_before_1970() -> None:
    assert watermark(10_999_999, 2 * SECOND) == 8_999_000
    assert watermark(500, HOUR) == 0
