"""A table is read in a version: a copy of its rows as they were, named by what they hold, so that an epoch joins exactly what is noted of it.

Small tables (16 MB) are copied below `tables/` of the state folder and read from there, also later, by `verify` and by an epoch that comes again.
Larger ones and those on other machines are read in place; of them only a fingerprint is known. Copies that nobody needs any more are removed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import time
import uuid
import weakref
from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow
from pyarrow import feather
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import OutageError
from penstock.plan.check.files import plain_part
from penstock.source import SourceSpec
from penstock.source.files.source import located, present
from penstock.source.open import table_frame
from penstock.source.postgres import read_table, rows_frame

KEPT_BYTES_MAX = 16 << 20
_UNKEPT = "unkept-"
_LOOK_EVERY_S = 1.0
_STAGED_WITHIN_S = 600
_ROWS = "rows.arrow"
Signature = tuple[tuple[str, int, int], ...]
_guard = threading.RLock()
_open: weakref.WeakSet[TableVersions] = weakref.WeakSet()


@dataclass(eq=False)
class TableVersions:
    """The tables of one job. `wanted` names versions that are to be read, where they are kept, instead of what is there now."""

    folder: Path
    wanted: Mapping[str, str] = field(default_factory=dict)
    used: dict[str, str] = field(default_factory=dict)
    """The version of each table that was read last."""
    _signed: dict[str, tuple[SourceSpec, Signature]] = field(default_factory=dict)
    _looked_at: float = 0.0

    def frame(self, spark: SparkSession, spec: SourceSpec) -> DataFrame:
        """The table's rows, as `table_frame` gives them."""
        with _guard:
            _open.add(self)
            return self._frame(spark, spec)

    def _frame(self, spark: SparkSession, spec: SourceSpec) -> DataFrame:
        version = self.wanted.get(spec.name)
        if version is not None and self.keeps(spec.name, version):
            self.used[spec.name] = version
            return self._kept_frame(spark, spec, version)
        if spec.options["connector"] == "postgres":
            return self._of_postgres(spark, spec)
        if spec.options["connector"] == "files" and "://" not in spec.options["path"]:
            return self._of_files(spark, spec)
        return table_frame(spark, spec)

    def keeps(self, table: str, version: str) -> bool:
        return not version.startswith(_UNKEPT) and (self.folder / table / version).is_dir()

    def changed(self) -> bool:
        """Whether files have changed since they were read; asked in every epoch, looked at once a second."""
        if time.monotonic() - self._looked_at < _LOOK_EVERY_S:
            return False
        self._looked_at = time.monotonic()
        now = {name: (signature(spec), before) for name, (spec, before) in self._signed.items()}
        return any(found and found != before for found, before in now.values())  # files that are away are waited for elsewhere

    def _of_files(self, spark: SparkSession, spec: SourceSpec) -> DataFrame:
        signed = signature(spec)
        if not signed:
            path = located(spec.folder, spec.options["path"])
            raise OutageError(f"table `{spec.name}`: there is no file at {spec.options['path']}", hint=f"it was looked for at {path}")
        self._signed[spec.name] = spec, signed
        if sum(size for _, size, _ in signed) > KEPT_BYTES_MAX or {name for name, _, _ in signed} & spec.broken.names():
            self.used[spec.name] = _UNKEPT + hashlib.sha256(repr(signed).encode()).hexdigest()[:16]
            return table_frame(spark, spec)
        base = _base(spec)
        digest = hashlib.sha256()
        for name, _, _ in signed:
            digest.update(f"{Path(name).relative_to(base)}\0".encode() + Path(name).read_bytes() + b"\0")
        version = digest.hexdigest()[:16]
        if not self.keeps(spec.name, version):
            with _Staged(self.folder / spec.name / version) as staged:
                for name, _, _ in signed:
                    copy = staged / Path(name).relative_to(base)
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(name, copy)
        self.used[spec.name] = version
        return self._kept_frame(spark, spec, version)

    def _of_postgres(self, spark: SparkSession, spec: SourceSpec) -> DataFrame:
        rows = read_table(spec)
        digest = hashlib.sha256(str(rows.schema).encode())
        for line in sorted(map(repr, rows.to_pylist())):
            digest.update(line.encode())
        version = digest.hexdigest()[:16]
        if rows.nbytes > KEPT_BYTES_MAX:
            version = _UNKEPT + version
        elif not self.keeps(spec.name, version):
            with _Staged(self.folder / spec.name / version) as staged:
                feather.write_feather(rows, str(staged / _ROWS))
        self.used[spec.name] = version
        return rows_frame(spark, spec, rows)

    def _kept_frame(self, spark: SparkSession, spec: SourceSpec, version: str) -> DataFrame:
        kept = self.folder / spec.name / version
        if spec.options["connector"] == "postgres":
            rows: pyarrow.Table = feather.read_table(str(kept / _ROWS))
            return rows_frame(spark, spec, rows)
        rest = os.path.relpath(located(spec.folder, spec.options["path"]), _base(spec))
        path = str(kept) if rest == "." else str(kept / rest)
        return table_frame(spark, replace(spec, options={**spec.options, "path": path}))


def drop_copies(folder: Path, needed: Set[tuple[str, str]]) -> None:
    """Remove the copies that are not needed, and that nobody in this process reads."""
    with _guard:
        read = {pair for versions in list(_open) if versions.folder == folder for pair in (*versions.used.items(), *versions.wanted.items())}
        for copy in folder.glob("*/*"):
            staged_now = copy.name.startswith(".") and time.time() - copy.stat().st_mtime < _STAGED_WITHIN_S
            if (copy.parent.name, copy.name) not in needed | read and not staged_now:
                shutil.rmtree(copy, ignore_errors=True)


def signature(spec: SourceSpec) -> Signature:
    """The files of a table with their sizes and times; empty where there are none."""
    found = []
    for name in present(located(spec.folder, spec.options["path"])):
        try:
            stat = os.stat(name)
        except OSError:
            continue
        found.append((name, stat.st_size, stat.st_mtime_ns))
    return tuple(found)


def _base(spec: SourceSpec) -> Path:
    """The folder below which all files of a table lie."""
    plain = plain_part(Path(located(spec.folder, spec.options["path"])))
    return plain if plain.is_dir() or plain != Path(located(spec.folder, spec.options["path"])) else plain.parent


class _Staged:
    """A folder that is there whole or not at all."""

    def __init__(self, final: Path) -> None:
        self._final = final
        self._staged = final.with_name(f".{final.name}-{uuid.uuid4().hex[:8]}")

    def __enter__(self) -> Path:
        self._staged.mkdir(parents=True)
        return self._staged

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and not self._final.exists():
            try:
                self._staged.rename(self._final)
            except OSError:  # another job has kept the same version in this very moment
                if not self._final.is_dir():
                    raise
        shutil.rmtree(self._staged, ignore_errors=True)
