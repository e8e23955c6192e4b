"""What waits at a source, by Spark's own record of it."""

from __future__ import annotations

import pytest

from penstock.spark.run.measure import lag_of

BEHIND = {"avgOffsetsBehindLatest": "5.0"}


@pytest.mark.parametrize(
    ("source", "lag"),
    [
        ({"endOffset": {"t": {"0": 5, "1": 7}}, "latestOffset": {"t": {"0": 15, "1": 7}}, "metrics": BEHIND}, (10, "rows")),
        ({"endOffset": '{"t":{"0":5}}', "latestOffset": '{"t":{"0":6,"1":3}}', "metrics": BEHIND}, (4, "rows")),
        ({"endOffset": {"t": {"0": 5}}, "latestOffset": {"t": {"0": 3}}, "metrics": BEHIND}, (0, "rows")),
        ({"endOffset": {"logOffset": 3}, "latestOffset": None, "metrics": {"numFilesOutstanding": "12"}}, (12, "files")),
        ({"endOffset": {"logOffset": 3}, "latestOffset": None}, (None, "rows")),
    ],
)
def test_the_lag_is_what_is_known_to_wait_and_nothing_where_it_is_not_known(source: dict[str, object], lag: tuple[int | None, str]) -> None:
    assert lag_of(source) == lag
