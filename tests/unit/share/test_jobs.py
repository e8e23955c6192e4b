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
    """A new address keeps the job, a new topic does not."""

    def job(servers: str, topic: str) -> str:
        options = f"connector = 'kafka', servers = '{servers}', topic = '{topic}', user = 'me', password = secret('{servers}')"
        text = f"CREATE STREAM s (n INT) WITH ({options}); CREATE MATERIALIZED VIEW v AS SELECT n FROM s;"
        (tmp_path / "app.sql").write_text(text, encoding="utf-8")
        (found,) = jobs(load(tmp_path / "app.sql"))
        return found.fingerprint

    assert job("a", "t") == job("b", "t")
    assert job("a", "t") != job("a", "other")


FOLLOWED = """
CREATE STREAM pay (card STRING, amount INT) WITH (connector = 'files', path = 'pay', format = 'json');
CREATE MATERIALIZED VIEW totals AS SELECT card, sum(amount) AS total FROM pay GROUP BY card ORDER BY total DESC LIMIT {top};
CREATE MATERIALIZED VIEW large AS SELECT card FROM totals WHERE total > {least};
CREATE MATERIALIZED VIEW number AS SELECT count(*) AS n FROM large;
"""


def fingerprints(folder: Path, **given: int) -> dict[str, str]:
    (folder / "app.sql").write_text(FOLLOWED.format(**{"top": 3, "least": 10, **given}), encoding="utf-8")
    (job,) = jobs(load(folder / "app.sql"))
    return {"job": job.fingerprint, **{member.name: member.fingerprint for member in job.members}}


def test_what_is_above_stored_rows_has_a_fingerprint_of_its_own(tmp_path: Path) -> None:
    """A follower that changes leaves what it reads as it is, and takes along what reads it; the checkpoint is for what streams alone."""

    def changed(**given: int) -> set[str]:
        first, second = fingerprints(tmp_path), fingerprints(tmp_path, **given)
        return {name for name in first if first[name] != second[name]}

    assert changed() == set()
    assert changed(least=20) == {"large", "number"}
    assert changed(top=4) == {"totals", "large", "number"}


def test_a_long_chain_of_views_is_one_job(tmp_path: Path) -> None:
    """Each is decided once: were the view below asked about twice, this would not end."""
    views = [f"CREATE MATERIALIZED VIEW v{at} AS SELECT k, n + 1 AS n FROM v{at - 1} WHERE n > 0;" for at in range(1, 30)]
    head = """CREATE STREAM s (k BIGINT) WITH (connector = 'files', path = 's', format = 'json');
    CREATE MATERIALIZED VIEW v0 AS SELECT k, count(*) AS n FROM s GROUP BY k;"""
    (tmp_path / "app.sql").write_text("\n".join([head, *views]), encoding="utf-8")
    (job,) = jobs(load(tmp_path / "app.sql"))
    assert [member.name for member in job.members] == [f"v{at}" for at in range(30)]
