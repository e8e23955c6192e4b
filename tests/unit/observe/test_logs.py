"""Structured logs: whose record, of which stage, when."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.cli import trouble
from penstock.observe import logs


@pytest.fixture(autouse=True)
def logger_as_before() -> Iterator[None]:
    yield
    root = logging.getLogger("penstock")
    for handler in list(root.handlers):
        root.removeHandler(handler)
        handler.close()
    root.propagate = True
    root.setLevel(logging.NOTSET)


def test_json_lines_say_time_level_stage_job_and_message(capsys: pytest.CaptureFixture[str]) -> None:
    logs.to_stderr(as_json=True, verbose=False)
    logging.getLogger("penstock.source.kafka.source").warning("lost %d rows", 3, extra={"job": "clicks", "view": "top"})
    line = json.loads(capsys.readouterr().err)
    assert line.pop("time").endswith("Z")
    assert line == {"level": "WARNING", "stage": "source", "job": "clicks", "view": "top", "message": "lost 3 rows"}


def test_people_see_warnings_and_with_verbose_more(capsys: pytest.CaptureFixture[str]) -> None:
    logs.to_stderr(as_json=False, verbose=False)
    logging.getLogger("penstock.sink").info("delivered")
    assert capsys.readouterr().err == ""
    logs.to_stderr(as_json=False, verbose=True)
    logging.getLogger("penstock.sink").info("delivered", extra={"view": "top"})
    assert capsys.readouterr().err.endswith(" info sink top: delivered\n")


@pytest.mark.parametrize(
    ("name", "stage"), [("penstock.decode.json", "decode"), ("penstock.catalog", "plan"), ("penstock.engine", "spark"), ("penstock", "spark")]
)
def test_every_record_belongs_to_one_of_the_eight_stages(name: str, stage: str) -> None:
    record = logging.LogRecord(name, logging.INFO, "", 0, "", None, None)
    assert logs.stage_of(record) == stage
    assert stage in logs.STAGES


def test_the_state_folder_keeps_what_the_terminal_does_not_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs.to_stderr(as_json=False, verbose=False)
    path = logs.to_folder(tmp_path, "info")
    logging.getLogger("penstock.share").info("two views share a job")
    logging.getLogger("penstock.share").debug("not asked for")
    assert capsys.readouterr().err == ""
    assert [json.loads(line)["message"] for line in path.read_text().splitlines()] == ["two views share a job"]


def test_the_trace_of_an_internal_error_is_in_the_log_and_not_on_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs.to_stderr(as_json=False, verbose=False)
    path = logs.to_folder(tmp_path, "error")
    error = ValueError("boom\nsecond line")
    trouble.record(error, path)
    trouble.show_internal(error)
    assert capsys.readouterr().err == f"internal error: ValueError: boom (the trace is in {path})\n"
    assert "ValueError: boom" in json.loads(path.read_text())["trace"]
