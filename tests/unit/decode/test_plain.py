from __future__ import annotations

import pytest

from penstock.decode.plain import plainly_good
from penstock.schema import columns

GOOD = plainly_good(columns("id BIGINT, name STRING, price DECIMAL(5,2), at TIMESTAMP, ok BOOLEAN, day DATE, small TINYINT"), "at")


@pytest.mark.parametrize(
    "line",
    [
        b'{"id": 1}', b'{"id": 1, "other": [1]}', b'{"name": "x", "price": "123.45", "at": "2024-05-01T10:00:00Z"}', b'{"price": 1.5, "ok": false}',
        b'{"at": "2024-05-01 10:00:00.123", "day": "2024-05-01"}', b'{"small": -128}',
    ],
)  # fmt: skip
def test_a_plain_row_is_good_without_spark(line: bytes) -> None:
    assert GOOD(line)


@pytest.mark.parametrize(
    "line",
    [
        b"", b"x", b"[]", b"{}", b'{"id": null}', b'{"id": "1"}', b'{"id": 1.5}', b'{"id": true}', b'{"price": 1234.5}', b'{"price": 0.001}',
        b'{"small": 128}',
        b'{"at": "yesterday"}', b'{"at": "2999-01-01T00:00:00Z"}', b'{"at": "2024-02-30T00:00:00Z"}', b'{"name": "\xff"}',
        b'{"id": NaN}', b'{"id": 1} x',
    ],
)  # fmt: skip
def test_everything_else_is_for_spark_to_judge(line: bytes) -> None:
    assert not GOOD(line)
