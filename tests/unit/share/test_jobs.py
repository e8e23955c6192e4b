from __future__ import annotations

from pathlib import Path

from penstock.plan.load import load
from penstock.share.jobs import jobs

APP = """
CREATE STREAM pay (ms BIGINT, amount INT, at AS {computed}, WATERMARK FOR at AS at - INTERVAL 1 MINUTE)
  WITH (connector = 'files', path = 'pay', format = 'json');
CREATE MATERIALIZED VIEW hourly AS SELECT window, sum(amount) AS total FROM pay GROUP BY window(at, '1 hour');
"""


def fingerprint(folder: Path, computed: str) -> str:
    (folder / "app.sql").write_text(APP.format(computed=computed), encoding="utf-8")
    (job,) = jobs(load(folder / "app.sql"))
    return job.fingerprint


def test_a_column_that_is_computed_otherwise_makes_another_job(tmp_path: Path) -> None:
    assert fingerprint(tmp_path, "timestamp_millis(ms)") == fingerprint(tmp_path, "timestamp_millis(ms)")
    assert fingerprint(tmp_path, "timestamp_millis(ms)") != fingerprint(tmp_path, "timestamp_seconds(ms)")
