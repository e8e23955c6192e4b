from __future__ import annotations

import pandas as pd

from penstock.bench.digest import of_frame, of_lines


def test_the_digest_forgets_the_order_and_the_form_of_rows() -> None:
    lines = ['{"dateTime": "2026-03-02T23:59:00.5Z", "price": "2.500", "n": 1}', '{"dateTime": "2026-03-02T23:59:01Z", "price": "3.000", "n": 2}']
    times = pd.to_datetime(["2026-03-02T23:59:01", "2026-03-02T23:59:00.500"], format="ISO8601")
    assert of_lines(lines) == of_lines(reversed(lines)) == of_frame(pd.DataFrame({"n": [2, 1], "price": [3.0, 2.5], "dateTime": times}))


def test_the_digest_tells_rows_apart() -> None:
    assert of_lines(['{"a": 1, "b": 2}']) != of_lines(['{"a": 2, "b": 1}'])
    assert of_lines(['{"a": 1}', '{"a": 1}']) != of_lines(['{"a": 1}'])
    assert of_lines([]) == of_frame(pd.DataFrame()) == "0 rows"


def test_a_day_is_the_same_as_a_text_and_as_a_time() -> None:
    assert of_lines(['{"day": "2026-03-02"}']) == of_frame(pd.DataFrame({"day": ["2026-03-02"]}))
