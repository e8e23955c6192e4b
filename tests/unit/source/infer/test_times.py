from __future__ import annotations

import pytest

from penstock.source.infer.times import Written, written_times


@pytest.mark.parametrize(
    ("texts", "pattern", "is_date"),
    [
        (["2024-05-01"], "", True),
        (["2024-05-01T10:00:00Z", "2024-05-01 10:00:00.123+0200"], "", False),
        (["2015/01/01 01:00:00"], "yyyy/MM/dd HH:mm:ss", False),
        (["2001/1/1 06:55", "2001/12/31 06:55"], "yyyy/M/d HH:mm", False),
        (["31.12.2023"], "dd.MM.yyyy", True),
        (["12/31/2024 1:05 PM", "1/2/2024 11:05 AM"], "M/d/yyyy h:mm a", False),
        (["31/12/2024 13:05:01.5", "01/02/2024 10:00:00"], "dd/MM/yyyy HH:mm:ss[.SSSSSS]", False),
        (["10/Oct/2000:13:55:36 -0700"], "dd/MMM/yyyy:HH:mm:ss XX", False),
        (["05-Nov-24"], "dd-MMM-yy", True),
        (["20240131"], "yyyyMMdd", True),
        (["20240131T101112"], "yyyyMMdd'T'HHmmss", False),
    ],
)
def test_patterns_that_read_all_of_some_texts(texts: list[str], pattern: str, is_date: bool) -> None:
    found = written_times(texts)
    assert found is not None
    assert (found.pattern, found.is_date) == (pattern, is_date)


@pytest.mark.parametrize("texts", [["1.2.3"], ["hello"], ["2024-13-01"], ["40/40/2024"], ["2024-05-01", "01.05.2024"], ["12:30"], []])
def test_no_times(texts: list[str]) -> None:
    assert written_times(texts) is None


def test_what_no_value_shows_is_reported() -> None:
    assert written_times(["01/02/2024"]) == Written("MM/dd/yyyy", is_date=True, assumed="01/02/2024 has its month first: no value shows which")
    assert written_times(["01/02/2024", "13/02/2024"]) == Written("dd/MM/yyyy", is_date=True)
