"""Input that is faster than the engine: bounded batches, lag that is shown and worked off, and a trigger that cannot be kept."""

from __future__ import annotations

import json
import logging
from uuid import uuid4

import pytest

from penstock.catalog import Catalog
from penstock.dev.produce import produce
from penstock.spark.checkpoint.offset_log import last_epoch, read_epoch
from penstock.testing.trial import Trial

SLOW = """
import time

def take(changes, epoch):
    time.sleep(0.5)
"""


def test_a_backlog_is_taken_in_bounded_batches_while_its_size_is_reported(trial: Trial, kafka: str) -> None:
    """Ten times what a batch may take waits at the broker: no batch takes more, the lag goes down to nothing, every row counts once."""
    topic = f"fast-{uuid4().hex[:8]}"
    stream = f"CREATE STREAM fast (n INT) WITH (connector = 'kafka', servers = '{kafka}', topic = '{topic}');"
    trial.write("app.sql", f"{stream}\nCREATE MATERIALIZED VIEW total AS SELECT count(*) AS n, sum(n) AS s FROM fast;")
    produce((json.dumps({"n": number}).encode() for number in range(1000)), kafka, topic, partitions=1)
    with trial.having(batch_rows_max="100").live() as running:
        running.until(lambda: running.last and running.last["total"].lag == 0)
        produce((json.dumps({"n": number}).encode() for number in range(50)), kafka, topic)
        running.until(lambda: running.last["total"].rows == 1050)
    lags = [progress.lag for report in running.reports for progress in report if progress.lag is not None]
    assert max(lags) > 100
    assert lags[-1] == 0
    assert (running.last["total"].streams[0].stream, running.last["total"].streams[0].rows) == ("fast", 1050)
    found = Catalog(trial.state).current("total")
    assert found is not None
    ends = [json.loads(read_epoch(found[1], epoch).ends[0] or "")[topic]["0"] for epoch in range(last_epoch(found[1] / "offsets") + 1)]
    assert max(end - begin for begin, end in zip([0, *ends], ends, strict=False)) == 100
    assert trial.rows("total") == [{"n": 1050, "s": sum(range(1000)) + sum(range(50))}]


def test_a_trigger_that_cannot_be_kept_is_reported_with_one_that_could(trial: Trial, caplog: pytest.LogCaptureFixture) -> None:
    trial.write(
        "app.sql",
        """
        CREATE STREAM ticks (k BIGINT) WITH (connector = 'generator', rows_per_second = '100', k = 'n');
        CREATE MATERIALIZED VIEW copy WITH (trigger = '100 milliseconds') AS SELECT k FROM ticks;
        CREATE SINK out FROM copy WITH (connector = 'callback', callback = 'slow:take');
        """,
    )
    trial.write("slow.py", SLOW)
    with trial.live() as running:
        running.until(lambda: running.last and running.last["copy"].behind is not None)
        behind = running.last["copy"].behind
    assert behind is not None
    assert behind.asked_s == 0.1
    assert behind.could_s > behind.taken_s >= 0.5
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING and "cannot be kept" in record.getMessage()]
    assert len(warnings) == 1, "once in a while, not with every batch"
    assert "a trigger of 100 milliseconds cannot be kept, '" in warnings[0]
    assert any("cannot be kept" in detail for detail in running.details("copy", "running"))
