"""Durable names and versions: what the app is called, and which incarnation of each job the state folder holds."""

from __future__ import annotations

import json
import shutil
import sqlite3
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from penstock.errors import StateError


@dataclass(frozen=True)
class Incarnation:
    """One life of a job: from a new checkpoint until its plan changes or the checkpoint goes away.

    `former` is the checkpoint of the life before, as long as that is kept. `earlier` are all that lay there when this life was opened:
    a later one, of a driver that took over, is not among them. `folder` names the state folder wherever it lies.
    """

    job: str
    name: str
    checkpoint: Path
    fresh: bool
    former: Path | None = None
    earlier: tuple[Path, ...] = ()
    folder: str = ""


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
                connection.execute("CREATE TABLE IF NOT EXISTS app (name TEXT PRIMARY KEY)")
                connection.execute("CREATE TABLE IF NOT EXISTS folder (name TEXT PRIMARY KEY)")
                connection.execute("CREATE TABLE IF NOT EXISTS file (name TEXT PRIMARY KEY)")
                if "former" not in {column[1] for column in connection.execute("PRAGMA table_info(jobs)")}:
                    connection.execute("ALTER TABLE jobs ADD COLUMN former TEXT")
        except sqlite3.DatabaseError as error:
            hint = "restore it from a copy, or remove the state folder to begin anew"
            raise StateError(f"{self._path} cannot be read: {error}", hint=hint) from error

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=10)

    def app(self, name: str) -> str:
        """What sinks know the app as: its name when it first ran here, whatever its folder is called today."""
        with self._connect() as connection:
            connection.execute("INSERT INTO app SELECT ? WHERE NOT EXISTS (SELECT * FROM app)", (name,))
            return str(connection.execute("SELECT name FROM app").fetchone()[0])

    @property
    def folder(self) -> str:
        """The state folder's own name, which a results store elsewhere knows it by; it goes with the folder wherever that is moved."""
        with self._connect() as connection:
            connection.execute("INSERT INTO folder SELECT ? WHERE NOT EXISTS (SELECT * FROM folder)", (uuid.uuid4().hex[:12],))
            return str(connection.execute("SELECT name FROM folder").fetchone()[0])

    def claim(self, folder: Path, file: str) -> None:
        """StateError where the state is that of another file in the app's folder: views of one name would take each other's place.

        A file that is gone was renamed or replaced, and one in another folder moved; so this app goes on with the state.
        """
        with self._connect() as connection:
            owner = connection.execute("SELECT name FROM file").fetchone()
            if owner is not None and owner[0] != file and (folder / owner[0]).is_file():
                raise StateError(
                    f"{self._state} is the state folder of another app, {folder / owner[0]}",
                    hint=f"run {file} with --state DIR, or in a folder of its own; if it takes the place of {owner[0]}, move that away first",
                )
            connection.execute("DELETE FROM file")
            connection.execute("INSERT INTO file VALUES (?)", (file,))

    def incarnation(self, job: str, fingerprint: str, old_fingerprint: str = "") -> Incarnation:
        """The life that `job` continues, or a new one if its plan changed or its checkpoint is gone.

        A life that has taken no epoch has touched nothing: when the change that began it is undone, the one before goes on.
        """
        with self._connect() as connection:
            present, former = self._lives(connection, job)
            known, undone = (fingerprint, old_fingerprint), False
            if present is not None and former is not None and present.fingerprint not in known and not _began(present.checkpoint):
                present, former, undone = former, None, True
            fresh = present is None or present.fingerprint not in known or not present.checkpoint.is_dir()
            if present is None or fresh:
                name = uuid.uuid4().hex[:12]
                former = present if present is not None and present.checkpoint.is_dir() else None
                present = Life(name, self._checkpoint(job, name), fingerprint, datetime.now(UTC).isoformat())
            # Who goes back to a life before may be a driver that was replaced: what lies there then may be its successor's.
            earlier = () if undone and not fresh else tuple(path for path in self._lying(job) if path != present.checkpoint)
            settled = not fresh and _reached(present.checkpoint, "commits")
            former = None if settled else former
            kept = None if former is None else json.dumps([former.incarnation, former.fingerprint, former.since])
            connection.execute(
                "INSERT INTO jobs (job, fingerprint, incarnation, since, former) VALUES (?, ?, ?, ?, ?) ON CONFLICT (job) DO UPDATE SET"
                " fingerprint = excluded.fingerprint, incarnation = excluded.incarnation, since = excluded.since, former = excluded.former",
                (job, fingerprint, present.incarnation, present.since, kept),
            )
        if fresh:
            present.checkpoint.mkdir(parents=True, mode=0o700)
        before = None if former is None else former.checkpoint
        life = Incarnation(job, present.incarnation, present.checkpoint, fresh, before, earlier, self.folder)
        if settled:
            drop_earlier(life)
        return life

    def _lives(self, connection: sqlite3.Connection, job: str) -> tuple[Life | None, Life | None]:
        """The present one and the one before."""
        row = connection.execute("SELECT incarnation, fingerprint, since, former FROM jobs WHERE job = ?", (job,)).fetchone()
        told = [] if row is None else [row[:3], *([json.loads(row[3])] if row[3] else [])]
        present, former, *_ = [*(Life(name, self._checkpoint(job, name), fingerprint, since) for name, fingerprint, since in told), None, None]
        return present, former

    def current(self, job: str) -> tuple[str, Path] | None:
        """The name and checkpoint of the job's present life, if it ever ran."""
        found = self.life(job)
        return None if found is None else (found.incarnation, found.checkpoint)

    def life(self, job: str) -> Life | None:
        """The job's present life, if it ever ran; the one before, as long as a new one has taken no epoch."""
        with self._connect() as connection:
            present, former = self._lives(connection, job)
        return former if present is not None and former is not None and not _began(present.checkpoint) else present

    def _checkpoint(self, job: str, incarnation: str) -> Path:
        return self._state / "checkpoints" / job / incarnation

    def _lying(self, job: str) -> tuple[Path, ...]:
        folder = self._state / "checkpoints" / job
        return tuple(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else ()


def drop_earlier(life: Incarnation) -> None:
    """Remove what earlier lives of the job left, state and all: this one has committed an epoch, so there is no way back to them.

    Never all others: the driver that does it may have been replaced, and its successor's life is not its to take.
    """
    for checkpoint in life.earlier:
        shutil.rmtree(checkpoint, ignore_errors=True)


def _began(checkpoint: Path) -> bool:
    return _reached(checkpoint, "offsets")


def _reached(checkpoint: Path, log: str) -> bool:
    """Whether one of Spark's two logs, `offsets` and `commits`, has an epoch."""
    return any(entry.name.isdigit() for entry in (checkpoint / log).glob("[0-9]*"))
