"""Progress: a table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from penstock.cli.run.live import LineWatch, TableWatch, line, table
from penstock.observe.progress import Progress

JOB = Progress(
    job="j1",
    views=("sums", "top"),
    status="running",
    epoch=12,
    rows=3456,
    rows_per_s=1234.5,
    lag=7,
    watermark="2026-01-01T10:00:00.000Z",
    state_rows=99,
)


def printed(progress: list[Progress]) -> str:
    out = io.StringIO()
    Console(file=out, width=160).print(table(progress))
    return out.getvalue()


def test_the_table_has_a_row_for_each_view() -> None:
    text = printed([JOB])
    assert [word for word in ("sums", "top", "running", "1,234", "3,456", "12", "2026-01-01 10:00:00", "99") if word not in text] == []
    assert [
        name for name in ("status", "rows/s", "epoch", "lag", "watermark", "state rows", "late drops", "dead", "restarts") if name not in text
    ] == []


def test_what_is_not_known_is_a_dash() -> None:
    assert printed([Progress("j", ("v",))]).strip().splitlines()[-1].split() == ["v", "starting", "0", "0", "-", "-", "-", "0", "0", "0", "0"]


def test_a_failed_job_says_why_in_the_table() -> None:
    assert "the disk is full" in printed([replace(JOB, status="restarting", detail="the disk is full\nmore")])


def test_a_line_holds_the_same_figures() -> None:
    assert line(JOB) == "sums, top: running, rows/s 1,234, rows 3,456, epoch 12, lag 7, watermark 2026-01-01 10:00:00, state 99"
    assert line(replace(JOB, late=3)).endswith("state 99, late drops 3"), "what Spark dropped, which are not input rows"
    assert "lag 3 files" in line(replace(JOB, lag=3, lag_unit="files"))


def test_lines_come_every_five_seconds_where_there_is_news_and_on_events(capsys: pytest.CaptureFixture[str]) -> None:
    watch = LineWatch()
    shown = []
    for elapsed, job in [
        (0.0, JOB),
        (1.0, JOB),
        (2.0, replace(JOB, status="restarting", restarts=1)),
        (3.0, replace(JOB, status="restarting", restarts=1)),
        (6.0, replace(JOB, restarts=1)),
        (7.0, replace(JOB, restarts=1)),
        (11.5, replace(JOB, restarts=1)),
        (17.0, replace(JOB, restarts=1, epoch=99)),
    ]:
        watch.show([job], elapsed)
        shown.append(len(capsys.readouterr().err.splitlines()))
    assert shown == [1, 0, 1, 0, 1, 0, 0, 1]


def test_before_the_first_report_the_table_says_what_is_being_done() -> None:
    out = io.StringIO()
    Console(file=out, width=100).print(TableWatch("shop").drawn([], 3.0))
    assert out.getvalue().splitlines() == ["shop  3 s", "starting Spark"]


def test_where_the_log_is_json_progress_is_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    watch = LineWatch(as_json=True)
    watch.show([JOB], 0.0)
    watch.say("100% done")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(line["stage"], line.get("job")) for line in lines] == [("spark", "j1"), ("spark", None)]
    assert lines[1]["message"] == "100% done"
