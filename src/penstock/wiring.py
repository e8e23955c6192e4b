"""Opens an app: where the engine, which knows nothing of Spark, is handed what Spark does for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from penstock.engine import Engine, Runner
from penstock.errors import AppFault, OptionFault, masked
from penstock.plan.check import check, raise_first
from penstock.plan.declare import Declared
from penstock.plan.load import load
from penstock.settings import Settings, make_state, of_app
from penstock.sink.options import check_sink_options
from penstock.source.options import check_source_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.sink.store import Store


def open_app(
    path: str | Path,
    *,
    state: Path | None = None,
    overrides: Mapping[str, str] = MappingProxyType({}),
    session: SparkSession | None = None,
) -> Engine:
    """Read and check an app; nothing of Spark is started before it is needed. Raises the first error of the check.

    `session` lets several engines of one process share a Spark session.
    """
    settings, home = of_app(Path(path), overrides, state)
    declared = load(Path(path))
    findings = check(declared, check_source_options, check_sink_options, settings.text("trigger"), home)
    raise_first(findings)
    return Engine(declared, settings, home, findings, lambda: _runner(declared, settings, home, session))


def _runner(declared: Declared, settings: Settings, state: Path, session: SparkSession | None) -> Runner:
    from penstock.spark.frames import App
    from penstock.spark.runner import SparkRunner

    app = App(declared, settings, state, secrets(declared.folder))
    return SparkRunner(app, lambda: _store(settings, state, app.secret), session=session)


def _store(settings: Settings, state: Path, secret: Callable[[str], str]) -> Store:
    from penstock.sink.sqlite import SqliteStore

    make_state(state)
    address = settings.text("store")
    if not address:
        return SqliteStore(state / "results.db")
    if not address.startswith(("postgres://", "postgresql://")):
        raise OptionFault(f"`store` is {masked(address)!r}", hint="leave it empty for SQLite, or give postgres://user@host:port/database")
    from penstock.sink.postgres_store import PostgresStore

    return PostgresStore.at(address, secret)


def secrets(folder: Path) -> Callable[[str], str]:
    """Reads `secret('name')`: PENSTOCK_SECRET_<NAME> in the environment, else the file `secrets/<name>` of the app."""

    def read(name: str) -> str:
        found = os.environ.get(f"PENSTOCK_SECRET_{name.upper()}")
        if found is not None:
            return found
        path = folder / "secrets" / name
        if path.is_file() and path.resolve().is_relative_to((folder / "secrets").resolve()):
            return path.read_text(encoding="utf-8").rstrip("\n")
        raise AppFault(f"there is no secret `{name}`", hint=f"set PENSTOCK_SECRET_{name.upper()}, or write it to {path}")

    return read
