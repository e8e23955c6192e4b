"""What waits at a broker while a batch is at work."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.errors import SourceError
from penstock.schema import Schema
from penstock.share.progress import Intake, Progress
from penstock.source import SourceSpec
from penstock.source.kafka_topic import Topic
from penstock.spark import backlog
from penstock.spark.backlog import Backlog, waiting
from penstock.spark.job import JobRun

SPEC = SourceSpec("clicks", {"servers": "x:1", "topic": "t"}, Schema(()), Path("."), Path("."))


def run(end: dict[str, int]) -> JobRun:
    record: dict[str, Any] = {"sources": [{"endOffset": {"t": end}}]}
    return cast(JobRun, SimpleNamespace(query=SimpleNamespace(lastProgress=record), occurrences=("clicks",)))


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


def test_the_lag_is_what_the_topic_holds_less_what_finished_batches_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "Admin", Broker)
    monkeypatch.setattr(backlog, "_ASK_EVERY_S", -1.0)
    asked = Backlog({"clicks": SPEC})
    done = Progress("v", ("v",), "running", epoch=3, lag=0, streams=(Intake("clicks", 90, 0, 0),))
    shown = asked.shown(done, run({"0": 70, "1": 20}))
    assert (shown.lag, shown.streams[0].lag) == (50, 50)
    monkeypatch.setattr(Broker, "ends", (150, 40, 7))
    assert asked.shown(done, run({"0": 70, "1": 20})).lag == 107
    monkeypatch.setattr(Broker, "away", True)
    assert asked.shown(done, run({"0": 70, "1": 20})).lag == 107, "what was known last, while the broker is silent"
    assert Broker.opened == 1, "a client has threads and connections of its own"


def test_a_job_without_a_broker_or_a_batch_is_left_as_it_is() -> None:
    progress = Progress("v", ("v",), streams=(Intake("files", 3),))
    assert Backlog({}).shown(progress, run({})) is progress
    assert Backlog({"clicks": SPEC}).shown(Progress("v", ("v",)), run({})).lag is None


def test_what_was_read_beyond_the_end_is_no_debt() -> None:
    assert waiting({0: 10, 1: 5}, {0: 12, 1: 1}) == 4
