"""Durable names and versions: which incarnation of each job the state folder holds."""

from __future__ import annotations

import sqlite3
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from penstock.errors import StateError


@dataclass(frozen=True)
class Incarnation:
    """One life of a job: from a new checkpoint until its plan changes or the checkpoint goes away."""

    job: str
    name: str
    checkpoint: Path
    fresh: bool


@dataclass(frozen=True)
class Life:
    """What is known of a job's present life: which plan it runs (`fingerprint`), and since when (ISO 8601, UTC)."""

    incarnation: str
    checkpoint: Path
    fingerprint: str
    since: str


class Catalog:
    """SQLite in the state folder. The incarnation changes with the checkpoint, so that no epoch is ever taken for another's."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._path = state / "catalog.db"
        try:
            with self._connect() as connection:
                connection.execute("CREATE TABLE IF NOT EXISTS jobs (job TEXT PRIMARY KEY, fingerprint TEXT, incarnation TEXT, since TEXT)")
        except sqlite3.DatabaseError as error:
            hint = "restore it from a copy, or remove the state folder to begin anew"
            raise StateError(f"{self._path} cannot be read: {error}", hint=hint) from error

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=10)

    def incarnation(self, job: str, fingerprint: str) -> Incarnation:
        """The life that `job` continues, or a new one if its plan changed or its checkpoint is gone."""
        with self._connect() as connection:
            row = connection.execute("SELECT fingerprint, incarnation FROM jobs WHERE job = ?", (job,)).fetchone()
            if row is not None and row[0] == fingerprint and self._checkpoint(job, row[1]).is_dir():
                return Incarnation(job, row[1], self._checkpoint(job, row[1]), fresh=False)
            name = uuid.uuid4().hex[:12]
            connection.execute(
                "INSERT INTO jobs VALUES (?, ?, ?, ?) ON CONFLICT (job) DO UPDATE SET fingerprint = excluded.fingerprint, "
                "incarnation = excluded.incarnation, since = excluded.since",
                (job, fingerprint, name, datetime.now(UTC).isoformat()),
            )
        checkpoint = self._checkpoint(job, name)
        checkpoint.mkdir(parents=True, mode=0o700)
        return Incarnation(job, name, checkpoint, fresh=True)

    def current(self, job: str) -> tuple[str, Path] | None:
        """The name and checkpoint of the job's present life, if it ever ran."""
        with self._connect() as connection:
            row = connection.execute("SELECT incarnation FROM jobs WHERE job = ?", (job,)).fetchone()
        return None if row is None else (row[0], self._checkpoint(job, row[0]))

    def life(self, job: str) -> Life | None:
        """The job's present life, if it ever ran."""
        with self._connect() as connection:
            row = connection.execute("SELECT incarnation, fingerprint, since FROM jobs WHERE job = ?", (job,)).fetchone()
        return None if row is None else Life(row[0], self._checkpoint(job, row[0]), row[1], row[2])

    def _checkpoint(self, job: str, incarnation: str) -> Path:
        return self._state / "checkpoints" / job / incarnation
