"""What waits at a broker while a batch is at work."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from penstock.errors import SourceError
from penstock.observe.progress import Intake, Progress
from penstock.schema import Schema
from penstock.source import SourceSpec
from penstock.source.kafka.topic import Topic
from penstock.spark.run import backlog
from penstock.spark.run.backlog import Backlog, waiting
from penstock.spark.run.job import JobRun

SPEC = SourceSpec("clicks", {"servers": "x:1", "topic": "t"}, Schema(()), Path("."), Path("."))


def run(checkpoint: Path, end: dict[str, int]) -> JobRun:
    """A job whose offset log says that epoch 3 ends there."""
    (checkpoint / "offsets").mkdir(exist_ok=True)
    clock = json.dumps({"batchTimestampMs": 0, "batchWatermarkMs": 0})
    (checkpoint / "offsets" / "3").write_text(f"v1\n{clock}\n{json.dumps({'t': end})}", encoding="utf-8")
    return cast(JobRun, SimpleNamespace(query=object(), occurrences=("clicks",), checkpoint=checkpoint))


class Broker:
    """A broker whose topic grows, or which does not answer."""

    ends = (100, 40)
    away = False
    opened = 0

    def __init__(self, spec: SourceSpec, answer_s: float) -> None:
        Broker.opened += 1

    def topic(self) -> Topic:
        if self.away:
            raise SourceError("nobody answers")
        return Topic("t", "id", {number: (0, end) for number, end in enumerate(self.ends)})


def test_the_lag_is_what_the_topic_holds_less_what_finished_batches_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "Admin", Broker)
    monkeypatch.setattr(backlog, "_ASK_EVERY_S", -1.0)
    asked = Backlog({"clicks": SPEC})
    done = Progress("v", ("v",), "running", epoch=3, lag=0, streams=(Intake("clicks", 90, 0, 0),))
    shown = asked.shown(done, run(tmp_path, {"0": 70, "1": 20}))
    assert (shown.lag, shown.streams[0].lag) == (50, 50)
    monkeypatch.setattr(Broker, "ends", (150, 40, 7))
    assert asked.shown(done, run(tmp_path, {"0": 70, "1": 20})).lag == 107
    monkeypatch.setattr(Broker, "away", True)
    assert asked.shown(done, run(tmp_path, {"0": 70, "1": 20})).lag == 107, "what was known last, while the broker is silent"
    assert Broker.opened == 1, "a client has threads and connections of its own"


def test_a_job_without_a_broker_or_a_batch_is_left_as_it_is(tmp_path: Path) -> None:
    progress = Progress("v", ("v",), streams=(Intake("files", 3),))
    assert Backlog({}).shown(progress, run(tmp_path, {})) is progress
    assert Backlog({"clicks": SPEC}).shown(Progress("v", ("v",)), run(tmp_path, {})).lag is None


def test_what_was_read_beyond_the_end_is_no_debt() -> None:
    assert waiting({0: 10, 1: 5}, {0: 12, 1: 1}) == 4
