"""What a change becomes in a topic: its key and its value."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.change import Change, Epoch
from penstock.plan.sql.definition import parse_columns
from penstock.sink.kafka.records import Records
from penstock.sink.spec import SinkSpec

COLUMNS = parse_columns("item STRING, n BIGINT")


def records(key: str) -> Records:
    options = {"connector": "kafka", "topic": "out", "key": key}
    return Records(SinkSpec("out", "counts", options, COLUMNS, ("item",), append_only=False, complete=False, folder=Path(".")))


@pytest.mark.parametrize(
    ("row", "key"),
    [('{"item":"a","n":1}', "a"), ('{"item":null,"n":1}', '{"item":null}')],
    ids=["its value", "the view's own key where it is NULL"],
)
def test_a_row_that_left_is_taken_back_by_the_key_that_it_came_under(row: str, key: str) -> None:
    own = '{"item":null}' if "null" in row else '{"item":"a"}'
    changes = [Change("+", own, row), Change("-", own, row)]
    assert list(records("item").of(changes)) == [("+", key, row), ("-", key, None)]
    assert list(records("item").of_complete(Epoch("counts", "generation", 1, changes[1:]), [row])) == [("-", key, None), ("+", key, row)]
