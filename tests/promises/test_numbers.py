"""Epoch, lag and state are one figure each, wherever they are shown, also right after a restart and after a kill."""

from __future__ import annotations

import time

from penstock.observe.health import jobs_as_json
from penstock.observe.prometheus import exposition
from penstock.testing.trial import Trial

APP = """
CREATE STREAM sales (item STRING, amount INT) WITH (connector = 'files', path = 'sales', format = 'json');
CREATE MATERIALIZED VIEW totals AS SELECT item, sum(amount) AS total FROM sales GROUP BY item;
"""


def test_the_figures_agree_while_a_run_idles_after_it_and_right_after_a_restart(trial: Trial) -> None:
    """An idle look of Spark has the number of the next batch: no epoch. A second run knows all of it before its first batch."""
    trial.write("app.sql", APP)
    for number in range(3):
        trial.feed("sales", {"item": f"item {number}", "amount": 1})
    small = trial.having(batch_files_max="1")
    with small.live() as running:
        running.until(lambda: running.last and running.last["totals"].epoch >= 2)
        time.sleep(11)  # Spark tells every ten seconds that it found nothing
        shown = running.last["totals"]
        with small.engine() as engine:
            (standing,) = engine.status()
    assert (shown.epoch, shown.batches, shown.lag, shown.state_rows) == (2, 3, 0, 3)
    assert (standing.status, standing.epoch, standing.lag, standing.state_rows, standing.rows) == ("running", 2, 0, 3, 3)
    with small.live() as running:
        running.until(lambda: running.last and running.last["totals"].status == "running")
        first = next(job for report in running.reports for job in report if job.status == "running")
        running.until(lambda: running.last["totals"].lag == 0)
        exposed = exposition(list(running.last.values()), time.time()).decode()
        health = jobs_as_json(list(running.last.values()))[0]
    assert (first.epoch, first.state_rows) == (2, 3)
    assert 'penstock_epoch{job="totals"} 2' in exposed
    assert 'penstock_lag{job="totals",stream="sales",unit="files"} 0' in exposed
    assert (health["epoch"], health["lag"]) == (2, 0)
