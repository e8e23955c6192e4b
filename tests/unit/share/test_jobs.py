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


def test_how_a_source_is_reached_is_not_what_it_means(tmp_path: Path) -> None:
    """A new address keeps the job, a new topic does not; what it was known by before is still told."""

    def job(servers: str, topic: str) -> tuple[str, str]:
        options = f"connector = 'kafka', servers = '{servers}', topic = '{topic}', user = 'me', password = secret('{servers}')"
        text = f"CREATE STREAM s (n INT) WITH ({options}); CREATE MATERIALIZED VIEW v AS SELECT n FROM s;"
        (tmp_path / "app.sql").write_text(text, encoding="utf-8")
        (found,) = jobs(load(tmp_path / "app.sql"))
        return found.fingerprint, found.old_fingerprint

    assert job("a", "t")[0] == job("b", "t")[0]
    assert job("a", "t")[1] != job("b", "t")[1]
    assert job("a", "t")[0] != job("a", "other")[0]
