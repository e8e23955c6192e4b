"""What flows along the arrows of the graph, by two looks at what was read and changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.observe.progress import Intake, Progress
from penstock.store.sqlite import SqliteStore
from penstock.web.rates import Rates


def test_streams_flow_by_rows_read_and_views_by_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("penstock.web.rates.time.monotonic", lambda: now[0])
    store = SqliteStore(tmp_path / "results.db")
    store.put_schema("sums", "n BIGINT", None)
    fence = store.take_over("job", "g").fence
    jobs = [Progress("job", ("sums",), streams=(Intake("sales", rows=10),))]
    found = Rates(store, lambda: jobs, lambda: {"sums"})
    arrows = (("sales", "sums"), ("names", "sums"), ("sums", "out"))

    def epoch(number: int, *values: int) -> None:
        with store.open_epoch("job", "g", fence, number) as writer:
            writer.append("sums", [f'{{"n":{value}}}' for value in values])

    epoch(0, 1)
    assert found.of(arrows) == [None, None, None]
    now[0] += 2
    jobs[:] = [Progress("job", ("sums",), streams=(Intake("sales", rows=30),))]
    epoch(1, 1, 2, 3, 4)
    epoch(2, 5, 6)
    assert found.of(arrows) == [10.0, None, 3.0]
    now[0] += 20
    found.of(arrows)
    now[0] += 5
    assert found.of(arrows)[0] == 0.0
    store.close()
