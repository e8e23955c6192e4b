"""Savepoints: all that an app has come to, as a folder that another state folder can start from.

What its views keep lies in few places: Spark's checkpoints with their state, the results with ledger and change log, recordings, versions of
tables, and the catalog that says which belong together. They agree between two epochs, so they are copied while no run holds the state folder. Every
file is known by its digest; one that was changed since is named, and nothing is started from it.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import uuid
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from penstock.catalog import Catalog
from penstock.errors import StateError

MANIFEST = "savepoint.json"
_CATALOG, _RESULTS = "catalog.db", "results.db"
_FOLDERS = ("recorded", "tables")


@dataclass(frozen=True)
class Savepoint:
    """What a savepoint holds: of which app and state folder, the last epoch of each job, and the digest of every file."""

    id: str
    app: str
    state: str
    taken: str
    epochs: dict[str, int]
    files: dict[str, str]


def take(state: Path, to: Path, app: str, jobs: Collection[str] | None = None) -> Savepoint:
    """Copy what the jobs (None: all) have come to. Nobody may run from the state folder meanwhile."""
    if not (state / _CATALOG).exists():
        raise StateError(f"nothing has run yet from the state folder {state}", hint="a savepoint is taken of what a run has come to")
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise StateError(f"{to} is there already", hint="a savepoint is a folder of its own: give a new one")
    catalog = Catalog(state)
    chosen = {job: found for job in catalog.jobs() if (jobs is None or job in jobs) and (found := catalog.present_generation(job)) is not None}
    if not chosen:
        raise StateError(f"nothing of that has run yet from the state folder {state}", hint="its first run computes it from history")
    to.parent.mkdir(parents=True, exist_ok=True)
    part = to.parent / f".{to.name}.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(mode=0o700)
    _copy_database(state / _CATALOG, part / _CATALOG)
    _keep_jobs(part / _CATALOG, chosen)
    if (state / _RESULTS).exists():
        _copy_database(state / _RESULTS, part / _RESULTS)
    for folder in (*(state / name for name in _FOLDERS), *(found.checkpoint for found in chosen.values())):
        if folder.is_dir():
            shutil.copytree(folder, part / folder.relative_to(state))
    epochs = {job: _last(found.checkpoint / "commits") for job, found in chosen.items()}
    files = {str(file.relative_to(part)): _digest(file) for file in _files(part)}
    made = Savepoint(uuid.uuid4().hex[:12], app, str(state), datetime.now(UTC).isoformat(timespec="seconds"), epochs, files)
    (part / MANIFEST).write_text(json.dumps(asdict(made), indent=1), encoding="utf-8")
    if to.exists():
        to.rmdir()
    part.rename(to)
    return made


def restore(place: Path, state: Path, app: str) -> bool:
    """Make a state folder of a savepoint; False where it is one already, so that a run can be started again with the same words."""
    found = read(place)
    if (state / _CATALOG).exists():
        if (state / MANIFEST).exists() and _read(state / MANIFEST).id == found.id:
            return False
        raise StateError(f"the state folder {state} has state of its own", hint="start from a savepoint with --state and a new folder")
    if found.app != app:
        raise StateError(f"{place} is a savepoint of the app `{found.app}`, not of `{app}`", hint="give that app, or another savepoint")
    _check(place, found)
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name in sorted(found.files, key=lambda name: name == _CATALOG):  # the catalog last: without it there is no state
        target = state / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if name == _CATALOG:
            _move_recordings(state, found.state)
            shutil.copyfile(place / MANIFEST, state / MANIFEST)
        shutil.copyfile(place / name, target)
    return True


def read(place: Path) -> Savepoint:
    """What a folder says that it holds; StateError where it is no savepoint."""
    if not (place / MANIFEST).is_file():
        raise StateError(f"{place} is no savepoint", hint="`penstock savepoint APP --to DIR` makes one")
    return _read(place / MANIFEST)


def _read(file: Path) -> Savepoint:
    try:
        return Savepoint(**json.loads(file.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise StateError(f"{file} cannot be read: {error}", hint="take another savepoint") from None


def _check(place: Path, found: Savepoint) -> None:
    for name, digest in found.files.items():
        if not (place / name).is_file():
            raise StateError(f"{place / name} is missing from the savepoint", hint="take another savepoint")
        if _digest(place / name) != digest:
            raise StateError(f"{place / name} is not what it was when the savepoint was taken", hint="take another savepoint")


def _copy_database(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source, timeout=10)) as before, closing(sqlite3.connect(target)) as after:
        before.backup(after)


def _keep_jobs(catalog: Path, jobs: Collection[str]) -> None:
    """Those that are not part of it start over from history."""
    with closing(sqlite3.connect(catalog)) as connection, connection:
        known = [job for (job,) in connection.execute("SELECT job FROM jobs")]
        connection.executemany("DELETE FROM jobs WHERE job = ?", [(job,) for job in known if job not in jobs])
        connection.execute("UPDATE jobs SET former = NULL")
        connection.execute("DELETE FROM swaps")


def _move_recordings(state: Path, before: str) -> None:
    """Spark knows a recorded file by its whole path: its logs name the new place."""
    for log in state.glob("checkpoints/*/*/sources/*/*"):
        if not log.is_file() or log.name.endswith(".crc"):
            continue
        text = log.read_text(encoding="utf-8")
        moved = text
        for old, new in ((before, str(state)), (quote(before), quote(str(state)))):
            moved = moved.replace(f"{old}/recorded/", f"{new}/recorded/")
        if moved != text:
            log.write_text(moved, encoding="utf-8")
            (log.parent / f".{log.name}.crc").unlink(missing_ok=True)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _last(log: Path) -> int:
    return max((int(entry.name) for entry in log.glob("[0-9]*") if entry.name.isdigit()), default=-1)
