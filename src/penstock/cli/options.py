"""What the verbs share: their common options, and an app opened and closed around a verb."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli import trouble
from penstock.errors import OptionFault, PenstockError, StateError, masked
from penstock.observe import logs
from penstock.settings import of_app

if TYPE_CHECKING:
    from penstock.engine import Engine
    from penstock.web.beside import Beside


def option(*names: str, help: str, metavar: str | None = None, min: float | None = None) -> Any:
    """An option whose help text says itself what holds when it is left out."""
    return typer.Option(*names, metavar=metavar, help=help, min=min, show_default=False)


AppPath = Annotated[Path, typer.Argument(metavar="APP", readable=False, help="The app: a .sql or .py file, or a folder of them.", show_default=False)]
State = Annotated[Path | None, option("--state", metavar="DIR", help="State folder.  [default: .penstock in the app's folder]")]
Set = Annotated[list[str] | None, option("--set", metavar="NAME=VALUE", help="Change a setting; may be repeated.")]
LogJson = Annotated[bool, typer.Option("--log-json", help="Log as JSON lines on stderr.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log more on stderr.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON lines, for programs.")]


def overrides(pairs: list[str] | None) -> dict[str, str]:
    """`--set a=1 --set b=2` as a mapping."""
    found: dict[str, str] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            hint = "e.g. --set trigger='10 seconds'; `penstock settings` lists the names"
            raise OptionFault(f"--set wants NAME=VALUE, not `{masked(pair)}`", hint=hint)
        found[name.strip()] = value.strip()
    return found


def usable(state: Path, *, writes: bool) -> None:
    """StateError where a state folder cannot be one; raised before anything else is tried."""
    hint = "choose another with --state DIR"
    try:
        nearest = next((place for place in (state, *state.absolute().parents) if place.exists()), Path("/"))
    except OSError as error:
        raise StateError(f"the state folder {state} cannot be reached: {error.strerror}", hint=hint) from error
    if not nearest.is_dir():
        what = "is a file" if nearest == state else f"cannot be made: {nearest} is a file"
        raise StateError(f"the state folder {state} {what}", hint=hint)
    if writes and not os.access(nearest, os.W_OK | os.X_OK):
        raise StateError(f"cannot write to the state folder {state}: Permission denied", hint=hint)


def server_of(app: Path, state: Path | None, pairs: list[str] | None) -> Beside | None:
    """The server that runs on the app's state folder, if any does."""
    _, home = of_app(app, overrides(pairs), state)
    if not (home / "server.json").is_file():
        return None
    from penstock.web.beside import announced

    return announced(home)


@contextmanager
def opened(
    app: Path,
    state: Path | None,
    pairs: list[str] | None,
    log_json: bool = False,
    verbose: bool = False,
    *,
    keeps_log: bool = True,
    needs_spark: bool = False,
) -> Iterator[Engine]:
    """The app's engine; Spark starts only when a verb needs it, and with `needs_spark` at once, while the app is being read.

    With `keeps_log` the full log is kept in the state folder. Verbs that only look at the declarations leave no trace on disk.
    """
    logs.to_stderr(log_json, verbose)
    chosen = overrides(pairs)
    with _spark_ahead(app, state, chosen, makes_state=keeps_log) if needs_spark else nullcontext():
        from penstock.wiring import open_app

        engine = open_app(app, state=state, overrides=chosen)
        usable(engine.state, writes=keeps_log)
        log = logs.to_folder(engine.state, engine.settings.text("log_level")) if keeps_log else None
        with _closing(engine, log):
            yield engine
    if needs_spark:
        from penstock.spark.session.archive import build_behind
        from penstock.spark.session.jars import report_on_stderr

        build_behind(report_on_stderr)


@contextmanager
def _spark_ahead(app: Path, state: Path | None, chosen: dict[str, str], *, makes_state: bool) -> Iterator[None]:
    """Spark's JVM comes up inside; it ends with this, if nobody asked for it."""
    from penstock.spark.session.jvm import end_ahead, log_path, start_ahead

    settings, home = of_app(app, chosen, state)
    is_new = not home.exists()
    if app.exists() and (makes_state or home.is_dir()):
        usable(home, writes=makes_state)
        start_ahead(settings, home)
    try:
        yield
    finally:
        if end_ahead() and is_new:
            _unmake(home, log_path(home))


def _unmake(state: Path, log: Path) -> None:
    """An app that cannot be opened leaves no state folder behind, unless there is more in it than the log of a JVM that nobody used."""
    with suppress(OSError):
        log.unlink()
        log.parent.rmdir()
        state.rmdir()


@contextmanager
def _closing(engine: Engine, log: Path | None) -> Iterator[None]:
    """What went wrong inside is in the log, and the engine is closed."""
    try:
        yield
    except (PenstockError, typer.Exit):
        raise
    except Exception as error:
        if log is not None:
            trouble.record(error, log)
        raise
    finally:
        engine.close()
