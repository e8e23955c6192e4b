"""`run --metrics` beside a real run, asked by a real HTTP client."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

from penstock.testing.trial import eventually

QUICK = {"PENSTOCK_MASTER": "local[2]", "PENSTOCK_DRIVER_MEMORY": "1g", "PENSTOCK_SHUFFLE_PARTITIONS": "2", "PENSTOCK_FAST_START": "true"}
APP = """
CREATE STREAM ticks (k BIGINT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 1 SECOND)
  WITH (connector = 'generator', rows_per_second = '100', keys = '5', k = 'key');
CREATE STREAM notes (n INT) WITH (connector = 'files', path = 'notes', format = 'json');
CREATE MATERIALIZED VIEW counted AS
  SELECT window(at, '1 second') AS w, k, count(*) AS n FROM ticks GROUP BY window(at, '1 second'), k EMIT ON WINDOW CLOSE;
CREATE MATERIALIZED VIEW noted AS SELECT 10 / n AS tenth FROM notes;
"""


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read().decode()


def values(text: str, name: str) -> dict[str, float]:
    """The samples of a metric by their labels."""
    return {labels: float(value) for labels, value in re.findall(rf"^penstock_{name}\{{(.*)\}} (\S+)$", text, re.MULTILINE)}


def test_a_run_tells_its_figures_and_its_health_and_stops_listening_when_it_ends(tmp_path: Path) -> None:
    """Well while both views run; after a row that one of them cannot take, failing with the reason."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "app.sql").write_text(APP, encoding="utf-8")
    (tmp_path / "notes" / "0.json").write_text('{"n": 5}\n{"n": "many"}\n', encoding="utf-8")
    command = [sys.executable, "-m", "penstock", "run", str(tmp_path), "--metrics", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | QUICK) as process:
        assert process.stderr is not None
        url = next(found[1] for line in process.stderr if (found := re.search(r"metrics at (http://127\.0\.0\.1:\d+)/metrics", line)))
        assert get(f"{url}/health")[0] == 503
        eventually(lambda: all(values(get(f"{url}/metrics")[1], "epoch").get(f'job="{job}"', -1) >= 0 for job in ("counted", "noted")))
        eventually(lambda: values(get(f"{url}/metrics")[1], "watermark_delay_seconds"))
        status, body = get(f"{url}/health")
        assert status == 200, body
        exposed = get(f"{url}/metrics")[1]
        assert values(exposed, "stream_rows_total")['job="counted",stream="ticks"'] > 0
        assert values(exposed, "dead_letters_total")['job="noted",stream="notes"'] == 1
        assert values(exposed, "recovery_seconds")['job="counted"'] > 0
        assert values(exposed, "state_bytes")['job="counted"'] > 0
        phases = {labels.rpartition("=")[2].strip('"') for labels in values(exposed, "batch_phase_seconds_total")}
        assert {"addBatch", "walCommit", "queryPlanning", "latestOffset", "getBatch", "commitOffsets"} <= phases
        (tmp_path / "notes" / "1.json").write_text('{"n": 0}\n', encoding="utf-8")
        eventually(lambda: get(f"{url}/health")[0] == 503)
        failing = json.loads(get(f"{url}/health")[1])
        assert failing["status"] == "failing"
        assert re.search(r"job noted has failed: .*[Dd]ivision by zero", failing["reasons"][0])
        assert {job["job"]: job["status"] for job in failing["jobs"]} == {"counted": "running", "noted": "failed"}
        assert values(get(f"{url}/metrics")[1], "job_status")['job="noted",status="failed"'] == 1
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait(60) == 2, rest
    assert "Traceback" not in rest
    with socket.socket() as again:
        assert again.connect_ex(("127.0.0.1", int(url.rpartition(":")[2]))) != 0
