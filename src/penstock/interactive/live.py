"""An app that runs in the background of this process: asked, followed and stopped from where it was started."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self, cast

from penstock.engine import Engine
from penstock.errors import EngineError
from penstock.interactive.answers import Table, progress
from penstock.interactive.result import Result
from penstock.interactive.stored import stored_rows
from penstock.interactive.waiting import waited_for
from penstock.observe.progress import Progress
from penstock.observe.request import RunRequest
from penstock.schema import columns
from penstock.subscribe.epochs import PublicEpochs
from penstock.subscribe.subscription import Changes, Snapshot, Subscription
from penstock.values import Row, key_of, reader

_LOOK_S = 0.5
_STARTS_WITHIN_S = 120.0


class ChangesViews(Protocol):
    """An engine whose views come and go while it runs."""

    def add(self, sql: str) -> object: ...

    def drop(self, name: str) -> object: ...


@dataclass(frozen=True)
class Change:
    """One change of a view: `+` a row that is there now, `-` one that is not any more, as it was.

    `token` is the place after it, to go on from; the rows of a snapshot have none but the last.
    """

    op: str
    key: Row | None
    row: Row
    epoch: int
    token: str | None

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


class Live:
    """A running app. It stops with the `with` block that holds it, or by `stop`; `drain` lets it end by itself."""

    def __init__(self, engine: Engine, *, drain: bool = False) -> None:
        self._engine = engine
        self._drain = drain
        self._stop, self._ended = threading.Event(), threading.Event()
        self._progress: list[Progress] = []
        self._raised: list[BaseException] = []
        self._engine.results()  # opened here once, before two threads ask for it
        threading.Thread(target=self._work, name=f"penstock run {engine.declared.name}", daemon=True).start()

    def _work(self) -> None:
        try:
            self._engine.run(RunRequest(self._drain, self._stop, self._report))
        except BaseException as error:  # it is raised where the run is waited for
            self._raised.append(error)
        finally:
            self._ended.set()

    def _report(self, found: list[Progress]) -> None:
        self._progress = found

    @property
    def running(self) -> bool:
        return not self._ended.is_set()

    def wait(self, timeout: float | None = None) -> None:
        """Until the run has ended: a drain when all is taken. Raises what it failed of."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._ended.wait(_LOOK_S if deadline is None else max(0, min(_LOOK_S, deadline - time.monotonic()))):
            if deadline is not None and time.monotonic() > deadline:
                raise EngineError(f"the run has not ended within {timeout:g} s", hint="wait longer, or stop it: live.stop()")
        self._check()

    def wait_until_caught_up(self, timeout: float = 60.0) -> None:
        """Until every view has taken all that its sources hold now. EngineError when that takes longer; raises what a view failed of."""
        done = waited_for(lambda: self._has_started(timeout) and self._engine.caught_up(timeout), "catching up")
        if self.running and not done:
            raise EngineError(f"the views have not caught up within {timeout:g} s", hint="live.status() says what waits; give it more time")
        self._check()

    def _has_started(self, timeout: float) -> bool:
        """Whether the engine has started to report, in time."""
        deadline = time.monotonic() + timeout
        while self.running and not self._progress and time.monotonic() < deadline:
            time.sleep(_LOOK_S / 10)
        return time.monotonic() < deadline

    def rows(self, view: str, where: str | None = None, *, limit: int | None = None) -> Result:
        """What the view holds as of its last epoch; `where` is one condition over its columns."""
        self._opened(view)
        if where is None:
            return stored_rows(self._engine, view, None, limit)
        return waited_for(lambda: stored_rows(self._engine, view, where, limit), f"rows of {view}")

    def follow(self, view: str, resume: str | None = None) -> Iterator[Change]:
        """The view's rows as `+`, then every change as it comes, until the run ends; with `resume` the changes after that token."""
        name = self._opened(view)
        return self._follow(name, Subscription(self._engine.results(), name, resume))

    def _follow(self, view: str, subscription: Subscription) -> Iterator[Change]:
        known = self._engine.results().schema(view)
        assert known is not None
        read, key = reader(columns(known[0])), known[1]
        epochs = PublicEpochs(self._engine.results())
        while True:
            ended = not self.running
            found = subscription.next_changes(0 if ended else _LOOK_S)
            if isinstance(found, Snapshot):
                last, epoch = len(found.rows) - 1, epochs.public(view, found.generation, found.epoch)
                for place, one in enumerate(found.rows):
                    row = read(one.row)
                    yield Change("+", key_of(row, key), row, epoch, found.token if place == last else None)
            elif isinstance(found, Changes):
                epoch = epochs.public(view, found.generation, found.epoch)
                for place, one in enumerate(found.changes):
                    row = read(one.row)
                    yield Change(one.op, key_of(row, key), row, epoch, found.token(place))
            elif ended:
                self._check()
                return

    def status(self) -> Table[Progress]:
        """How every job stands now."""
        return progress(self._progress)

    def add(self, sql: str) -> object:
        """Add views while the app runs: CREATE MATERIALIZED VIEW ...; their rows over the history can be read when this returns."""
        return waited_for(lambda: cast(ChangesViews, self._engine).add(sql), "adding")

    def drop(self, name: str) -> object:
        """Drop a view while the app runs."""
        return waited_for(lambda: cast(ChangesViews, self._engine).drop(name), f"dropping {name}")

    def stop(self) -> None:
        """Finish the current epoch and stop. Raises what the run failed of."""
        self._stop.set()
        self.wait()

    def _opened(self, view: str) -> str:
        """The view's name, once it is known to the store: a run that starts needs a moment."""
        name, deadline = self._engine.view_name(view), time.monotonic() + _STARTS_WITHIN_S
        store = self._engine.results()
        while self.running and store.schema(name) is None and time.monotonic() < deadline:
            time.sleep(0.05)
        if not self.running:
            self._check()
        return name

    def _check(self) -> None:
        if self._raised:
            raise self._raised[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None and self._drain:
            self.wait()
            return
        self._stop.set()
        self._ended.wait()
        if error is None:
            self._check()

    def __repr__(self) -> str:
        return f"app `{self._engine.declared.name}` {'runs' if self.running else 'has ended'}\n{self.status()}"

    def _repr_html_(self) -> str:
        return self.status()._repr_html_()
