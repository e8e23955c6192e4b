"""Opens an app: where the engine, which knows nothing of Spark, is handed what Spark does for it."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from penstock.catalog import AddedStatement, Catalog
from penstock.engine import Engine, Runner
from penstock.errors import AppFault, OptionFault, masked
from penstock.plan.added import with_added
from penstock.plan.check.app import check, raise_first
from penstock.plan.check.files import file_findings
from penstock.plan.load import load
from penstock.plan.model.declare import Declared
from penstock.plan.model.findings import Finding
from penstock.settings import Settings, make_state, of_app
from penstock.sink.options import check_sink_options
from penstock.source.options import check_source_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.store.protocol import Store


log = logging.getLogger("penstock.plan")


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
    return _opened(lambda: load(Path(path)), settings, home, session, warm=False)


def open_declared(declared: Declared, settings: Settings, home: Path, *, session: SparkSession | None = None, warm: bool = False) -> Engine:
    """The same for what was read already. `warm`: by the session of the process, which stays when the engine is closed."""
    return _opened(lambda: declared, settings, home, session, warm=warm)


def _opened(read: Callable[[], Declared], settings: Settings, home: Path, session: SparkSession | None, *, warm: bool) -> Engine:
    origin = AppOrigin(read, settings, home)
    declared = origin.read()
    return Engine(declared, settings, home, origin.check(declared), lambda declared: _runner(declared, settings, home, session, warm=warm), origin)


class AppOrigin:
    """The declarations of an app: those that `load` gives, and the statements that its state folder keeps."""

    def __init__(self, load: Callable[[], Declared], settings: Settings, home: Path) -> None:
        self._load, self._settings, self._home = load, settings, home
        self._files: Declared | None = None

    def files(self) -> Declared:
        if self._files is None:
            self._files = self._load()
        return self._files

    def read(self) -> Declared:
        files, kept = self._load(), self.added()
        found, holds, reasons = with_added(files, kept)
        for reason in reasons:
            log.warning("%s", reason)
        if reasons:
            self.keep_added(holds)
        self._files = files
        return found

    def check(self, declared: Declared) -> list[Finding]:
        findings = check(declared, check_source_options, check_sink_options, self._settings.text("trigger"), self._home)
        raise_first(findings)
        return findings

    def added(self) -> list[AddedStatement]:
        return Catalog(self._home).added() if (self._home / "catalog.db").exists() else []

    def keep_added(self, statements: list[AddedStatement]) -> None:
        if statements or (self._home / "catalog.db").exists():
            make_state(self._home)
            Catalog(self._home).keep_added(statements)


def findings_of(declared: Declared, settings: Settings, home: Path) -> list[Finding]:
    """Everything that is found in an app, errors too; opening it would stop at the first of those."""
    return [*check(declared, check_source_options, check_sink_options, settings.text("trigger"), home), *file_findings(declared)]


def _runner(declared: Declared, settings: Settings, state: Path, session: SparkSession | None, *, warm: bool) -> Runner:
    from penstock.spark.compile.frames import AppContext
    from penstock.spark.run.runner import SparkRunner

    app = AppContext(declared, settings, state, secrets(declared.folder))
    return SparkRunner(app, lambda: _store(settings, state, app.secret), session=session, warm=warm)


def _store(settings: Settings, state: Path, secret: Callable[[str], str]) -> Store:
    from penstock.store.sqlite import SqliteStore

    make_state(state)
    address = settings.text("store")
    if not address:
        return SqliteStore(state / "results.db")
    if not address.startswith(("postgres://", "postgresql://")):
        raise OptionFault(f"`store` is {masked(address)!r}", hint="leave it empty for SQLite, or give postgres://user@host:port/database")
    from penstock.store.postgres_store import PostgresStore

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
