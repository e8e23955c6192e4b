"""An app on trial: written into a folder of its own, fed file by file, run for real, and asked what it holds."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from penstock.observe.progress import Progress
from penstock.observe.request import RunRequest
from penstock.wiring import open_app

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.engine import Engine

WAIT_S = 120.0
Row = dict[str, Any]


@dataclass(frozen=True)
class Trial:
    """One app and its state folder. `settings` go to every engine that is opened."""

    folder: Path
    session: SparkSession
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def state(self) -> Path:
        return self.folder / ".penstock"

    def having(self, **settings: str) -> Trial:
        """The same app with other settings."""
        return replace(self, settings={**self.settings, **settings})

    def write(self, name: str, text: str) -> Path:
        """A file of the app; the indentation of a whole text is taken away."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return path

    def feed(self, stream: str, *rows: Row) -> Path:
        """The next file of the folder `stream`: one JSON line for each row, there as a whole or not at all."""
        return self.feed_bytes(stream, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode())

    def feed_bytes(self, stream: str, content: bytes, ending: str = "json") -> Path:
        """The next file of the folder `stream`, as it is; files are taken in the order in which they were fed."""
        folder = self.folder / stream
        folder.mkdir(exist_ok=True)
        number = sum(1 for path in folder.iterdir() if not path.name.startswith("."))
        staged = folder / f".{number:04}.{ending}"
        staged.write_bytes(content)
        moment = time.time() - 1000 + number  # files of one instant could be taken in any order
        os.utime(staged, (moment, moment))
        return staged.rename(folder / f"{number:04}.{ending}")

    @contextmanager
    def engine(self) -> Iterator[Engine]:
        engine = open_app(self.folder, state=self.state, overrides=self.settings, session=self.session)
        try:
            yield engine
        finally:
            engine.close()

    def drain(self, restarts: int = 0) -> Watched:
        """Run until every source is drained; raises what the run raises. No job may have been restarted more often than allowed."""
        watched = Watched()
        with self.engine() as engine:
            engine.run(RunRequest(drain=True, report=watched))
        assert max(progress.restarts for progress in watched.last.values()) <= restarts, watched.restarted
        return watched

    def fail(self, kind: type[Exception]) -> tuple[Any, Watched]:
        """Run until drained, which must raise `kind`; the error, and what was seen on the way."""
        watched = Watched()
        with self.engine() as engine:
            try:
                engine.run(RunRequest(drain=True, report=watched))
            except kind as error:
                return error, watched
        raise AssertionError(f"the run did not raise {kind.__name__}; {watched.last}")

    @contextmanager
    def live(self) -> Iterator[Live]:
        """The app live on a thread until the block ends; raises what the run raised."""
        with self.engine() as engine:
            running = Live(engine)
            running.thread.start()
            try:
                yield running
            finally:
                running.stop()
        if running.raised:
            raise running.raised[0]

    def rows(self, name: str) -> list[Row]:
        """What a view holds, what a stream's history is, or a stream's dead letters."""
        with self.engine() as engine:
            return [json.loads(line) for line in engine.peek(name, None).lines]

    def batch(self, view: str) -> list[Row]:
        """The view over the whole history."""
        with self.engine() as engine:
            return [json.loads(line) for line in engine.batch(view).lines]


class Watched:
    """Every report of a run."""

    def __init__(self) -> None:
        self.reports: list[list[Progress]] = []

    def __call__(self, progress: list[Progress]) -> None:
        self.reports.append(progress)

    @property
    def last(self) -> dict[str, Progress]:
        return {progress.job: progress for progress in self.reports[-1]} if self.reports else {}

    @property
    def restarted(self) -> list[str]:
        """Why jobs were restarted."""
        return [progress.detail for report in self.reports for progress in report if progress.status == "restarting"]

    def details(self, job: str, status: str) -> list[str]:
        """What `job` reported whenever it was in `status`."""
        return [progress.detail for report in self.reports for progress in report if progress.job == job and progress.status == status]


class Live(Watched):
    """A run on a thread of its own."""

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self.raised: list[Exception] = []
        self.engine = engine
        self._stop = threading.Event()
        self.thread = threading.Thread(target=self._work, name="trial")

    def _work(self) -> None:
        try:
            self.engine.run(RunRequest(stop=self._stop, report=self))
        except Exception as error:  # raised again by the test's thread
            self.raised.append(error)

    def stop(self) -> float:
        """Ask the run to stop and wait until it did; the seconds that it took."""
        began = time.monotonic()
        self._stop.set()
        self.thread.join()
        return time.monotonic() - began

    def until(self, what: Callable[[], object]) -> None:
        """Wait until `what` holds; fails when the run ends or time is over before."""
        eventually(lambda: what() or not self.thread.is_alive())
        assert what(), f"the run ended before: {self.raised or self.last}"


def eventually(what: Callable[[], object], seconds: float = WAIT_S) -> None:
    """Wait until `what` holds."""
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.05)
