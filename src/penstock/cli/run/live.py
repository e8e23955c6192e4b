"""The progress of a running app: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Self

from penstock.observe.logs import JsonLines

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live
    from rich.table import Table

    from penstock.cli.run import Watch
    from penstock.observe.progress import Progress

_LINES_EVERY_S = 5.0
_COLOURS = {
    "running": "green",
    "starting": "cyan",
    "idle": "green",
    "waiting": "green",
    "outage": "yellow",
    "restarting": "yellow",
    "failed": "red",
    "stopped": "dim",
    "done": "dim",
}


def watch(title: str, log_json: bool) -> Watch:
    """A watch for this process's stderr: a table on a terminal, lines elsewhere, JSON lines where the log is JSON."""
    return TableWatch(title) if sys.stderr.isatty() and not log_json else LineWatch(as_json=log_json)


class LineWatch:
    """One line per job with news every five seconds, and at once when its status changes or it is restarted."""

    def __init__(self, as_json: bool = False) -> None:
        self._as_json = as_json
        self._shown_s = 0.0
        self._known: dict[str, Progress] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def say(self, message: str) -> None:
        self._write(message, {})

    def show(self, progress: list[Progress], elapsed_s: float) -> None:
        due = elapsed_s - self._shown_s >= _LINES_EVERY_S
        for job in progress:
            before = self._known.get(job.job)
            changed = before is None or (before.status, before.restarts) != (job.status, job.restarts)
            if changed or (due and before != job):
                self._known[job.job] = job
                self._write(line(job), {"job": job.job, "view": ", ".join(job.views)})
        if due:
            self._shown_s = elapsed_s

    def _write(self, message: str, whose: dict[str, str]) -> None:
        record = {"name": "penstock.spark", "levelno": logging.INFO, "levelname": "INFO", "msg": message, **whose}
        text = JsonLines().format(logging.makeLogRecord(record)) if self._as_json else f"{_clock()} {message}"
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


class TableWatch:
    """A table of views that is drawn again in place; log lines and the rows of a console sink scroll above it."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._note = ""
        self._live: Live | None = None

    def __enter__(self) -> Self:
        from rich.console import Console
        from rich.live import Live

        self._live = Live(console=Console(stderr=True), auto_refresh=False, redirect_stdout=sys.stdout.isatty(), redirect_stderr=True)
        self._live.__enter__()
        self.show([], 0.0)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._live is not None:
            self._live.__exit__(kind, error, trace)

    def say(self, message: str) -> None:
        self._note = message

    def show(self, progress: list[Progress], elapsed_s: float) -> None:
        if self._live is not None:
            self._live.update(self.drawn(progress, elapsed_s), refresh=True)

    def drawn(self, progress: list[Progress], elapsed_s: float) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        head = Text.assemble((self._title, "bold"), (f"  {elapsed_s:.0f} s", "dim"))
        foot = Text(self._note or ("starting Spark" if not progress else "Ctrl-C stops"), style="dim")
        return Group(head, table(progress), foot) if progress else Group(head, foot)


def table(progress: list[Progress]) -> Table:
    """One row per view."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("view", "status"):
        shown.add_column(name)
    for name in ("rows/s", "rows", "epoch", "lag", "watermark", "state rows", "late drops", "dead", "restarts"):
        shown.add_column(name, justify="right")
    for job in progress:
        for view in job.views or (job.job,):
            shown.add_row(Text(view), Text(job.status, style=_COLOURS.get(job.status, "")), *figures(job))
        if job.detail:
            shown.add_row("", Text(job.detail.splitlines()[0], style="yellow"), *[""] * 9)
    return shown


def figures(job: Progress) -> tuple[str, ...]:
    """rows/s, rows, epoch, lag, watermark, state rows, late drops, dead, restarts: as text, `-` where not known."""
    return (
        f"{job.rows_per_s:,.0f}",
        _count(job.rows),
        _count(job.epoch),
        _count(job.lag) + ("" if job.lag is None or job.lag_unit == "rows" else f" {job.lag_unit}"),
        _moment(job.watermark),
        _count(job.state_rows),
        _count(job.late),
        _count(job.dead),
        _count(job.restarts),
    )


def line(job: Progress) -> str:
    """The same figures in one line, for logs."""
    names = ("rows/s", "rows", "epoch", "lag", "watermark", "state", "late drops", "dead", "restarts")
    known = [f"{name} {value}" for name, value in zip(names, figures(job), strict=True) if value not in ("-", "0") or name in ("rows/s", "rows")]
    detail = f" ({job.detail.splitlines()[0]})" if job.detail else ""
    return f"{', '.join(job.views) or job.job}: {job.status}{detail}, {', '.join(known)}"


def _count(number: int | None) -> str:
    return "-" if number is None or number < 0 else f"{number:,}"


def _moment(time: str | None) -> str:
    text = (time or "").replace("T", " ")[:19]
    return "-" if not text or text.startswith("1970-01-01 00:00:00") else text


def _clock() -> str:
    return datetime.now(UTC).strftime("%H:%M:%S")
