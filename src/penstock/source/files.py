"""Files and folders: json, csv, parquet, text; each file is read once, as a whole.

Live: files are taken by their time of modification, those of one instant in the order of the listing (a file that
grows after it was taken is not read again: that is what `tail` is for). Names that begin with `.` or `_` are ignored,
so a writer can make a file appear at once by renaming it. Replayable: yes. Unit of parallelism: a file, or a part of it.
A file that cannot be read (broken parquet), or not to its end (a truncated .gz), fails until it is known to be broken (`source.broken`): from
then on it gives what it has and is named by `unreadable`. Live that is the session's to decide, for Spark's setting is one for all files.
"""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from pathlib import Path
from urllib.parse import urlparse

import pyarrow.parquet
from py4j.protocol import Py4JJavaError
from pyarrow import ArrowException
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import OptionFault, SourceError
from penstock.patterns import matches
from penstock.schema import Column, Schema, quote
from penstock.source import Limits, SourceSpec, Span
from penstock.source.broken import failed_to_read, is_out_of_reach
from penstock.source.filelog import entry_of, files_between
from penstock.source.options import option_value

CORRUPT = "__corrupt"
_HIDDEN = (".", "_")
_PACKED = (".gz", ".bz2", ".deflate", ".snappy", ".lz4", ".zst")
_MEGABYTE = 1024 * 1024
# Spark's default leaves out files that are a week older than the newest one seen: a copied archive would be lost unsaid.
_NO_FILE_TOO_OLD = {"maxFileAge": "36500d"}
_WITHOUT_CHECKSUMS = {"fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem", "fs.file.impl.disable.cache": "true"}
_MISMATCH = re.compile(r"(?s)^.*?(?=Expected Spark type)|\. SQLSTATE.*")
_GLOB_MARKS = re.compile(r"([\\*?{}\[\]])")
_FILE_POSITION = "to_json(named_struct('file', regexp_replace(url_decode(replace(_metadata.file_path, '+', '%2B')), '^file:/+', '/'))) AS __position"

# Spark puts together all that it knows of a file for every row that is asked for its file, even if nobody looks.
_NO_POSITION = "CAST(NULL AS STRING) AS __position"


@dataclass(frozen=True)
class _Kind:
    """How some files are read: with which columns, in their order, and whether on past what is broken in them."""

    columns: Schema
    broken: bool = False


class Files:
    """The connector `files` without `tail`. `line_end` is given where only one mark ends a line; otherwise \\r does as well."""

    def __init__(self, spec: SourceSpec, line_end: str | None = None) -> None:
        self._spec = spec
        self._line_end = line_end
        self._format = option_value(spec.options, "files", "format") or "json"
        self._header = option_value(spec.options, "files", "header") == "true"
        self.path = located(spec.folder, spec.options["path"])
        self.written = self._file_schema()

    def live(self, spark: SparkSession, limits: Limits) -> DataFrame:
        reader = spark.readStream.format(self._format).options(**self._reading(), **self._any_name(self.path), **_NO_FILE_TOO_OLD, **_bound(limits))
        return self._rows(reader.schema(self._read_schema(self.written)).load(_watched(self.path)), _NO_POSITION)

    def history(self, spark: SparkSession, span: Span) -> DataFrame:
        files = [] if span.whole else self._logged(span)
        kinds = self._kinds(present(self.path) if span.whole else files) if self._header or self._spec.broken else {}
        if set(kinds) - {_Kind(self.written)}:
            frames = (self._read(spark, [plain(file) for file in group], self._base(), kind) for kind, group in kinds.items())
            return reduce(DataFrame.unionAll, frames)
        if span.whole:
            return self._read(spark, self.path if self._anything() else [], {}, _Kind(self.written))
        return self._read(spark, [plain(file) for file in files], self._base(), _Kind(self.written))

    def _read(self, spark: SparkSession, paths: str | list[str], more: Mapping[str, str], kind: _Kind) -> DataFrame:
        reader = spark.read.format(self._format).options(**self._reading(), **self._any_name(paths), **more, **_past_damage(kind.broken))
        return self._rows(reader.schema(self._read_schema(kind.columns)).load(paths))

    def lines(self, spark: SparkSession, files: Sequence[str]) -> DataFrame:
        found = [] if self._format == "parquet" else [plain(file) for file in files]
        reader = spark.read.schema("value STRING").options(
            **self._any_name(found), **_past_damage(any(self._spec.broken.reason(file) for file in files))
        )
        return reader.text(found).selectExpr("value AS __value", _FILE_POSITION)

    def _kinds(self, files: list[str]) -> dict[_Kind, list[str]]:
        """Files by how they are to be read: a csv file whose header has another order has its own columns. (Live all are read in one way.)"""
        found: dict[_Kind, list[str]] = {}
        for file in files:
            header = _header(urlparse_path(file)) if self._header and is_local(file) else []
            columns = self._columns_by(file, header) if self._in_other_order(header) else self.written
            found.setdefault(_Kind(columns, self._spec.broken.reason(urlparse_path(file)) is not None), []).append(file)
        return found

    def _logged(self, span: Span) -> list[str]:
        """The files of some epochs; SourceError where one is gone."""
        if span.nothing:
            return []
        if span.log is None:
            raise SourceError(f"stream `{self._spec.name}`: the files of an epoch can only be told from its checkpoint")
        files = files_between(span.log, entry_of(span.start), entry_of(span.end))
        missing = [file for file in files if is_local(file) and not Path(urlparse_path(file)).exists()]
        if missing:
            raise SourceError(
                f"stream `{self._spec.name}`: {len(missing)} of its files are gone, the first is {urlparse_path(missing[0])}",
                hint="history needs the files that were read; put them back, or start anew with another state folder",
            )
        return files

    def close(self) -> None:
        return None

    def unreadable(self, spark: SparkSession, span: Span, *, thorough: bool = False) -> list[tuple[str, str]]:
        """Files that are known to be broken, and parquet that is broken or of other types; see `SkipsFiles`.

        OptionFault for a csv file of an epoch whose header has the columns in another order: live, all are read in one, and its values would be
        mixed up.
        """
        if span.nothing:
            return []
        names = present(self.path) if span.whole or span.log is None else files_between(span.log, entry_of(span.start), entry_of(span.end))
        if self._header and not span.whole:
            self._same_order([urlparse_path(name) for name in names if is_local(name)])
        found = dict(self._broken_parquet(spark, names)) if self._format == "parquet" else {}
        known = {urlparse_path(name): reason for name in names if (reason := self._spec.broken.reason(urlparse_path(name)))}
        if thorough:
            found |= self._cut_off(spark, [name for name in names if urlparse_path(name) not in found.keys() | known.keys()])
            for name, reason in found.items():
                self._spec.broken.add(name, reason)
        return list((found | known).items())

    def _cut_off(self, spark: SparkSession, names: list[str]) -> dict[str, str]:
        """Those that cannot be read to their end: all are tried at once, and one by one only when that fails."""
        try:
            if names:
                read = self._read(spark, [plain(name) for name in names], self._base(), _Kind(self.written))
                read.write.format("noop").mode("overwrite").save()
            return {}
        except (PySparkException, Py4JJavaError) as error:
            if not failed_to_read(error) or is_out_of_reach(error):
                return {}
            if len(names) == 1:
                how = "unpacked" if names[0].endswith(_PACKED) else "read"
                return {urlparse_path(names[0]): f"cannot be {how} to its end: {_root_cause(error)}"}
        return {file: reason for name in names for file, reason in self._cut_off(spark, [name]).items()}

    def _same_order(self, names: list[str]) -> None:
        for name in names:
            header = _header(name)
            if self._in_other_order(header):
                raise self._other_order(name, header)

    def _other_order(self, name: str, header: list[str]) -> OptionFault:
        read = ", ".join(name.lower() for name in self.written.names)
        return OptionFault(
            f"`{self._spec.name}`: the header of {name} has the columns in another order: {', '.join(header).lower()}",
            hint=f"the first file, or the declaration where that names others, has {read}; write the file anew in that order",
        )

    def _in_other_order(self, header: list[str]) -> bool:
        """Whether a header names a declared column at another place than that from which it is read: its values would be another's."""
        declared = {name.lower() for name in self._spec.schema.names}
        read = [name.lower() for name in self.written.names]
        return any(name.lower() in declared and read[place : place + 1] != [name.lower()] for place, name in enumerate(header))

    def _columns_by(self, name: str, header: list[str]) -> Schema:
        """The columns of a file in another order than the others; OptionFault where its header does not name all the declared ones."""
        found = self._named_by(header)
        if found == self._spec.schema and [column.lower() for column in header] != [column.lower() for column in found.names]:
            raise self._other_order(name, header)
        return found

    def _broken_parquet(self, spark: SparkSession, names: list[str]) -> list[tuple[str, str]]:
        found = []
        tried: dict[pyarrow.Schema, str | None] = {}
        for name in (urlparse_path(name) for name in names if is_local(name)):
            try:
                columns = pyarrow.parquet.read_schema(name)
            except (ArrowException, OSError) as error:
                found.append((name, f"not a readable parquet file: {str(error).splitlines()[0]}"))
                continue
            if columns not in tried:
                tried[columns] = self._misfit(spark, name)
            misfit = tried[columns]
            if misfit:
                found.append((name, misfit))
        return found

    def _misfit(self, spark: SparkSession, name: str) -> str | None:
        """Why Spark cannot read a sound parquet file with the declared types; asked of Spark itself, for it alone knows what it widens."""
        declared = {column.lower() for column in self._spec.schema.names}
        if not declared & {column.lower() for column in pyarrow.parquet.read_schema(name).names}:
            return "has none of the declared columns"
        try:
            spark.read.schema(self._spec.schema.ddl).option("ignoreCorruptFiles", "false").parquet(plain(name)).limit(1).collect()
        except (PySparkException, Py4JJavaError) as error:
            return f"does not fit the declared types: {_MISMATCH.sub('', str(error)).splitlines()[0]}"
        return None

    def _rows(self, read: DataFrame, position: str = _FILE_POSITION) -> DataFrame:
        if self._format == "text":
            return read.selectExpr("value AS __value", position)
        corrupt = [] if self._format == "parquet" else [CORRUPT]
        return read.selectExpr(*(quote(name) for name in self._spec.schema.names), *corrupt, position)

    def _any_name(self, paths: str | list[str]) -> Mapping[str, str]:
        """Options for files with a `:` in their name, where there are any: Hadoop cannot name the checksum that might stand beside one."""
        names = present(paths) if isinstance(paths, str) and is_local(paths) else paths
        return _WITHOUT_CHECKSUMS if is_local(self.path) and any(":" in Path(name).name for name in names) else {}

    def _reading(self) -> Mapping[str, str]:
        """Options of Spark's reader. All columns are always parsed: which rows are bad must not depend on who reads."""
        if self._format == "json":
            return {"columnNameOfCorruptRecord": CORRUPT}
        if self._format == "csv":
            header = "true" if self._header else "false"
            return {"columnNameOfCorruptRecord": CORRUPT, "columnPruning": "false", "header": header, "escape": '"'}
        return {"lineSep": self._line_end} if self._line_end else {}

    def _read_schema(self, columns: Schema) -> str:
        if self._format == "text":
            return "value STRING"
        if self._format == "parquet":
            return self._spec.schema.ddl
        return f"{columns.ddl}, {CORRUPT} STRING"

    def _file_schema(self) -> Schema:
        """The columns in the order of the files: a csv header is believed where it names all the declared ones. What comes later keeps to it."""
        files = present(self.path) if self._header else []
        return self._named_by(_header(files[0])) if files else self._spec.schema

    def _named_by(self, names: list[str]) -> Schema:
        if not {name.lower() for name in self._spec.schema.names} <= {name.lower() for name in names}:
            return self._spec.schema
        return Schema(tuple(self._spec.schema.find(name) or Column(name or f"_c{place}", "string") for place, name in enumerate(names)))

    def _base(self) -> Mapping[str, str]:
        """Partition folders (`day=2024-05-01`) are found from the declared folder down, also when single files are read."""
        return {"basePath": self.path} if is_local(self.path) and Path(self.path).is_dir() else {}

    def _anything(self) -> bool:
        return not is_local(self.path) or bool(present(self.path))


def by_header(names: list[str]) -> dict[tuple[str, ...], list[str]]:
    """The csv files by the columns that their headers name, in their order."""
    found: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        found.setdefault(tuple(column.lower() for column in _header(name)), []).append(name)
    return found


def _header(name: str) -> list[str]:
    """The column names in the first line of a csv file; none where it cannot be read."""
    try:
        return list(_header_of(name, Path(name).stat().st_mtime_ns))
    except OSError:
        return []


@lru_cache(maxsize=10_000)
def _header_of(name: str, written_ns: int) -> tuple[str, ...]:
    """The header of a file as it was written then: a view that is computed anew in every epoch asks for that of all its files."""
    opener = gzip.open if name.endswith(".gz") else open
    try:
        with opener(name, "rt", encoding="utf-8-sig", errors="replace", newline="") as lines:
            return tuple(next(csv.reader(lines), []))
    except (OSError, EOFError, zlib.error, csv.Error):
        return ()


def _root_cause(error: Exception) -> str:
    """The innermost of the reasons that Java gives, in one line."""
    causes = [line.split(":", 1)[-1].strip() for line in str(error).splitlines() if line.startswith("Caused by:")]
    return causes[-1] if causes else str(error).splitlines()[0]


def _watched(path: str) -> str:
    """Spark can only watch folders and globs, so what is no folder (yet) is written as a glob of one name."""
    if not is_local(path) or set(path) & set("*?[]{}") or Path(urlparse_path(path)).is_dir():
        return path
    head, _, name = path.rpartition("/")
    return f"{head}/{{{name}}}"


def plain(name: str) -> str:
    """A name in which `*`, `[` and the like mean themselves."""
    return _GLOB_MARKS.sub(r"\\\1", name)


def located(folder: Path, path: str) -> str:
    """A path of the app made absolute; a URL such as hdfs:// stays as it is."""
    return path if "://" in path else str(folder.absolute() / path)


def present(path: str) -> list[str]:
    """The local files that a path means now: the file, the visible files of the folder and below, or those of the glob."""
    plain = urlparse_path(path)
    if Path(plain).is_file():
        return [plain]
    roots = [Path(plain)] if Path(plain).is_dir() else [Path(name) for name in matches(plain)]
    found = (file for root in roots for file in ([root] if root.is_file() else sorted(root.rglob("*"))) if file.is_file())
    return [str(file) for file in found if not any(part.startswith(_HIDDEN) for part in _below(file, roots))]


def urlparse_path(name: str) -> str:
    """The local path of a `file:` URL whose characters are plain, or the path itself."""
    return urlparse(name).path if name.startswith("file:") and "#" not in name and "?" not in name else name.removeprefix("file://")


def _below(file: Path, roots: list[Path]) -> tuple[str, ...]:
    root = next(root for root in roots if file.is_relative_to(root))
    return file.relative_to(root).parts or (file.name,)


def is_local(path: str) -> bool:
    return "://" not in path or path.startswith("file:")


def _past_damage(broken: bool) -> Mapping[str, str]:
    return {"ignoreCorruptFiles": "true" if broken else "false"}


def _bound(limits: Limits) -> Mapping[str, str]:
    """Spark takes a bound on files or on bytes, not on both."""
    return {"maxFilesPerTrigger": str(limits.files)} if limits.files else {"maxBytesPerTrigger": str(limits.megabytes * _MEGABYTE)}
