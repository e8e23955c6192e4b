"""The verb `demo`: a shop that lives on embedded parts, and that the user may change."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli import new, rows
from penstock.cli.options import LogJson, Set, Verbose, opened, option, usable
from penstock.cli.run import Watch, attend, live
from penstock.errors import AppFault, OptionFault, StateError

if TYPE_CHECKING:
    from penstock.engine import Engine
    from penstock.observe.progress import Progress

_FOLDER = Path("penstock-demo")
_MARK = "made-by-penstock-demo"
_UNATTENDED_S = 60.0
# A demo that ends before its first result shows nothing: on a slow machine it may take this much longer.
_PATIENCE_S = 60.0
_LAST_ROWS = 5


def demo(
    seconds: Annotated[
        float | None, option("--seconds", metavar="N", help="End after so many seconds.  [default: 60 without a terminal]", min=1)
    ] = None,
    state: Annotated[Path | None, option("--state", metavar="DIR", help="State folder; the app is copied into it.  [default: penstock-demo]")] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Go on from the last demo instead of starting afresh.")] = False,
    settings: Set = None,
    log_json: LogJson = False,
    verbose: Verbose = False,
) -> None:
    """Show a living example on embedded parts.

    A shop's clicks and payments from the generator, and six views over them, live.
    The app is copied to a folder where it can be changed and run again. Ctrl-C ends the demo with a summary.
    """
    folder = state / "app" if state else _FOLDER
    kept = state or _FOLDER / ".penstock"
    usable(kept, writes=True)
    copied = _copy(folder)
    _prepare(kept, keep)
    typer.echo(f"the app {'was copied to' if copied else 'is in'} {folder}", err=True)
    typer.echo(f"to change it: edit {folder / 'shop.sql'} while it runs; afterwards, `penstock run --watch {folder}`", err=True)
    on_terminal = sys.stderr.isatty() and sys.stdout.isatty() and not log_json
    limit = seconds if seconds is not None or on_terminal else _UNATTENDED_S
    with opened(folder, kept, settings, log_json, verbose, needs_spark=True) as engine:
        watch = _served(engine, _dashboard(engine) if on_terminal else live.LineWatch(log_json), opens=on_terminal and seconds is None)
        summary(engine, attend(engine, watch, drain=False, over=lambda progress, elapsed: _over(progress, elapsed, limit), watched=folder))


def _dashboard(engine: Engine) -> Watch:
    from penstock.cli.run.dashboard import Dashboard

    return Dashboard(engine)


def _served(engine: Engine, watch: Watch, opens: bool) -> Watch:
    """The same watch with the console beside it; at the usual port, or a free one where that is taken."""
    from penstock.cli.serve import served
    from penstock.web.access import Access, made_token
    from penstock.web.serving import LISTEN, address

    host, port = address(LISTEN)
    file = engine.state / "token"
    access = Access(made_token(file))
    try:
        found = served(engine, watch, access, host, port, file)
    except OptionFault:
        found = served(engine, watch, access, host, 0, file)
    typer.echo(f"see it in a browser: {found.login} (logs in once)", err=True)
    if opens:
        _open_browser(found.login)
    return found


def _open_browser(url: str) -> None:
    """Where there is a screen; a browser that cannot be started is no trouble, for the address is printed."""
    import os
    import threading
    import webbrowser

    if sys.platform in ("win32", "darwin") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        threading.Timer(3.0, webbrowser.open, (url,)).start()


def _over(progress: list[Progress], elapsed_s: float, limit_s: float | None) -> bool:
    if limit_s is None or elapsed_s < limit_s:
        return False
    shown = bool(progress) and all(job.rows for job in progress)
    return shown or elapsed_s >= limit_s + _PATIENCE_S


def _copy(folder: Path) -> bool:
    """Copies the app there unless it is there already, perhaps changed by its user."""
    if (folder / "shop.sql").exists():
        return False
    if folder.exists() and any(entry.name != ".penstock" for entry in folder.iterdir()):
        raise AppFault(f"{folder} holds something else", hint="run the demo in another folder, or name one with --state")
    new.write_missing(folder, new.packaged("demo_app"))
    return True


def _prepare(state: Path, keep: bool) -> None:
    """An empty state folder, unless the last demo is to go on; what the demo has not made is never removed."""
    mark = state / _MARK
    if state.exists() and not mark.exists() and any(entry.name != "app" for entry in state.iterdir()):
        raise StateError(f"{state} holds the state of something else", hint="name a new folder with --state")
    if mark.exists() and not keep:
        _empty(state)
    state.mkdir(parents=True, exist_ok=True)
    mark.touch()


def _empty(state: Path) -> None:
    """Removes what the last demo kept; StateError while it still runs, or its last processes still write."""
    from penstock.spark.run.lock import is_held

    in_use = StateError(
        f"another demo still runs in {state}, or is just stopping", hint="wait until it has ended, or name another folder with --state"
    )
    if is_held(state):
        raise in_use
    try:
        for entry in state.iterdir():
            if entry.is_dir() and entry.name != "app":
                shutil.rmtree(entry)
            elif entry.is_file():
                entry.unlink()
    except OSError as error:
        raise in_use from error


def summary(engine: Engine, last: list[Progress]) -> None:
    """What the demo did, on stdout: rows, and each view's result."""
    total = sum(job.rows or 0 for job in last)
    typer.echo(f"{total:,} rows read by {len(last)} jobs for {len(engine.declared.views)} views")
    started = {view for job in last if job.rows for view in job.views}
    for name in engine.declared.views:
        if name not in started:
            typer.echo(f"\n{name}: no result yet")
            continue
        answer = engine.peek(name, 100_000)
        lines = list(answer.lines)
        typer.echo(f"\n{name}: {len(lines):,} row{'s' * (len(lines) != 1)}")
        shown = [rows.cells(line, answer.schema) for line in lines[-_LAST_ROWS:]]
        for text in rows.plain(answer.schema, shown):
            typer.echo(f"  {text}")
