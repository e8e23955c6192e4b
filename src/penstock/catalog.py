"""Durable names and versions: what the app is called, and which generation of each job the state folder holds."""

from __future__ import annotations

import json
import shutil
import sqlite3
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from penstock.errors import OutageError, StateError


@dataclass(frozen=True)
class Generation:
    """One generation of a job: from a new checkpoint until its plan changes or the checkpoint goes away.

    `former` is the checkpoint of the generation before, as long as that is kept. `earlier` are all that lay there when this generation was opened:
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
class GenerationRecord:
    """What is known of a job's present generation: which plan it runs (`fingerprint`), and since when (ISO 8601, UTC)."""

    generation: str
    checkpoint: Path
    fingerprint: str
    since: str


@dataclass(frozen=True)
class AddedStatement:
    """What the declaration `name` is since a statement was made while the app ran: its SQL, None where it was dropped.

    `against` says what the app's files declared by that name then, empty for nothing.
    """

    name: str
    text: str | None
    against: str


@dataclass(frozen=True)
class Swap:
    """A generation that was built up as the job `beside` takes the place of `job`."""

    job: str
    beside: str
    generation: str


_TABLES = (
    "jobs (job TEXT PRIMARY KEY, fingerprint TEXT, generation TEXT, since TEXT, former TEXT)",
    "app (name TEXT PRIMARY KEY)",
    "folder (name TEXT PRIMARY KEY)",
    "file (name TEXT PRIMARY KEY)",
    "swaps (job TEXT PRIMARY KEY, beside TEXT, generation TEXT)",
    "added (name TEXT PRIMARY KEY, place INTEGER, text TEXT, against TEXT)",
)


class Catalog:
    """SQLite in the state folder. The generation changes with the checkpoint, so that no epoch is ever taken for another's."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self._path = state / "catalog.db"
        try:
            with self._connect() as connection:
                for table in _TABLES:
                    connection.execute(f"CREATE TABLE IF NOT EXISTS {table}")
                if any(column[1] == "incarnation" for column in connection.execute("PRAGMA table_info(jobs)")):
                    raise StateError(f"{state} was written by Penstock 0.1", hint="run with --state and a new folder: views are rebuilt from history")
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) != sqlite3.SQLITE_ERROR:
                raise OutageError(f"{self._path} cannot be used: {error}", hint="check that the disk has room and can be written") from error
            hint = "restore it from a copy, or remove the state folder to start over"
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
                    f"{self.state} is the state folder of another app, {folder / owner[0]}",
                    hint=f"run {file} with --state DIR, or in a folder of its own; if it takes the place of {owner[0]}, move that away first",
                )
            connection.execute("DELETE FROM file")
            connection.execute("INSERT INTO file VALUES (?)", (file,))

    def added(self) -> list[AddedStatement]:
        """The statements that were made while the app ran and still hold, in order."""
        with self._connect() as connection:
            return [AddedStatement(*row) for row in connection.execute("SELECT name, text, against FROM added ORDER BY place")]

    def keep_added(self, statements: Iterable[AddedStatement]) -> None:
        """From now on these are the ones."""
        with self._connect() as connection:
            connection.execute("DELETE FROM added")
            rows = ((entry.name, place, entry.text, entry.against) for place, entry in enumerate(statements))
            connection.executemany("INSERT INTO added (name, place, text, against) VALUES (?, ?, ?, ?)", rows)

    def open_generation(self, job: str, fingerprint: str) -> Generation:
        """The generation that `job` continues, or a new one if its plan changed or its checkpoint is gone.

        A generation that has taken no epoch has touched nothing: when the change that began it is undone, the one before goes on.
        """
        with self._connect() as connection:
            present, former = self._generations(connection, job)
            undone = False
            if present is not None and former is not None and present.fingerprint != fingerprint and not _began(present.checkpoint):
                present, former, undone = former, None, True
            fresh = present is None or present.fingerprint != fingerprint or not present.checkpoint.is_dir()
            if present is None or fresh:
                name = uuid.uuid4().hex[:12]
                former = present if present is not None and present.checkpoint.is_dir() else None
                present = GenerationRecord(name, self._checkpoint(job, name), fingerprint, datetime.now(UTC).isoformat())
            # Who goes back to a generation before may be a driver that was replaced: what lies there then may be its successor's.
            earlier = () if undone and not fresh else tuple(path for path in self._lying(job) if path != present.checkpoint)
            committed = not fresh and _logged(present.checkpoint, "commits")
            former = None if committed else former
            kept = None if former is None else json.dumps([former.generation, former.fingerprint, former.since])
            connection.execute(
                "INSERT INTO jobs (job, fingerprint, generation, since, former) VALUES (?, ?, ?, ?, ?) ON CONFLICT (job) DO UPDATE SET"
                " fingerprint = excluded.fingerprint, generation = excluded.generation, since = excluded.since, former = excluded.former",
                (job, fingerprint, present.generation, present.since, kept),
            )
        if fresh:
            present.checkpoint.mkdir(parents=True, mode=0o700)
        before = None if former is None else former.checkpoint
        generation = Generation(job, present.generation, present.checkpoint, fresh, before, earlier, self.folder)
        if committed:
            drop_earlier(generation)
        return generation

    def rebuild(self, job: str) -> bool:
        """Let the next run of `job` begin a new generation, though its plan is the same; False: it never ran."""
        with self._connect() as connection:
            return connection.execute("UPDATE jobs SET fingerprint = '', former = NULL WHERE job = ?", (job,)).rowcount > 0

    def drop(self, job: str) -> None:
        """Forget a job that is no more, and remove its checkpoints."""
        with self._connect() as connection:
            connection.execute("DELETE FROM jobs WHERE job = ?", (job,))
        shutil.rmtree(self.state / "checkpoints" / job, ignore_errors=True)

    def jobs(self) -> list[str]:
        """The names of all jobs that have run."""
        with self._connect() as connection:
            return [job for (job,) in connection.execute("SELECT job FROM jobs ORDER BY job")]

    def intend(self, swap: Swap) -> None:
        """Note a swap before the store makes it."""
        with self._connect() as connection:
            connection.execute("INSERT OR REPLACE INTO swaps (job, beside, generation) VALUES (?, ?, ?)", (swap.job, swap.beside, swap.generation))

    def intended(self) -> list[Swap]:
        with self._connect() as connection:
            return [Swap(*row) for row in connection.execute("SELECT job, beside, generation FROM swaps")]

    def give_up(self, swap: Swap) -> None:
        with self._connect() as connection:
            connection.execute("DELETE FROM swaps WHERE job = ?", (swap.job,))

    def swapped(self, swap: Swap) -> None:
        """The store has made the swap: the checkpoint moves to the job's own, and is its present generation. May be done again."""
        before, after = self._checkpoint(swap.beside, swap.generation), self._checkpoint(swap.job, swap.generation)
        if before.is_dir():
            after.parent.mkdir(parents=True, exist_ok=True)
            before.rename(after)
        with self._connect() as connection:
            connection.execute("DELETE FROM jobs WHERE job = ? AND EXISTS (SELECT * FROM jobs WHERE job = ?)", (swap.job, swap.beside))
            connection.execute("UPDATE jobs SET job = ?, former = NULL WHERE job = ?", (swap.job, swap.beside))
            connection.execute("DELETE FROM swaps WHERE job = ?", (swap.job,))

    def _generations(self, connection: sqlite3.Connection, job: str) -> tuple[GenerationRecord | None, GenerationRecord | None]:
        """The present one and the one before."""
        row = connection.execute("SELECT generation, fingerprint, since, former FROM jobs WHERE job = ?", (job,)).fetchone()
        known = [] if row is None else [row[:3], *([json.loads(row[3])] if row[3] else [])]
        present, former, *_ = [
            *(GenerationRecord(name, self._checkpoint(job, name), fingerprint, since) for name, fingerprint, since in known),
            None,
            None,
        ]
        return present, former

    def current(self, job: str) -> tuple[str, Path] | None:
        """The name and checkpoint of the job's present generation, if it ever ran."""
        found = self.present_generation(job)
        return None if found is None else (found.generation, found.checkpoint)

    def present_generation(self, job: str) -> GenerationRecord | None:
        """The job's present generation, if it ever ran; the one before, as long as a new one has taken no epoch."""
        with self._connect() as connection:
            present, former = self._generations(connection, job)
        return former if present is not None and former is not None and not _began(present.checkpoint) else present

    def _checkpoint(self, job: str, generation: str) -> Path:
        return self.state / "checkpoints" / job / generation

    def _lying(self, job: str) -> tuple[Path, ...]:
        folder = self.state / "checkpoints" / job
        return tuple(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else ()


def drop_earlier(generation: Generation) -> None:
    """Remove what earlier generations of the job left, state and all: this one has committed an epoch, so there is no way back to them.

    Never all others: the driver that does it may have been replaced, and its successor's generation is not its to take.
    """
    for checkpoint in generation.earlier:
        shutil.rmtree(checkpoint, ignore_errors=True)


def _began(checkpoint: Path) -> bool:
    return _logged(checkpoint, "offsets")


def _logged(checkpoint: Path, log: str) -> bool:
    """Whether one of Spark's two logs, `offsets` and `commits`, has an epoch."""
    return any(entry.name.isdigit() for entry in (checkpoint / log).glob("[0-9]*"))
