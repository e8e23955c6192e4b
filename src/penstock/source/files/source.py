"""Files and folders: json, csv, parquet, text; each file is read once, as a whole.

Live: files are taken by their time of modification, those of one instant in the order of the listing (a file that
grows after it was taken is not read again: that is what `tail` is for). Names that begin with `.` or `_` are ignored,
so a writer can make a file appear at once by renaming it. Replayable: yes. Unit of parallelism: a file, or a part of it.
A file that cannot be read (broken parquet), or not to its end (a truncated .gz), fails until it is known to be broken (`source.files.broken`): from
then on it gives what it has and is named by `unreadable`. Live that is the session's to decide, for Spark's setting is one for all files.
"""

from __future__ import annotations

import csv
import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlparse

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import OptionFault, SourceError
from penstock.formats import NO_QUOTE, as_read, delimiter_of, encoding_of, file_options, holds_documents, opener_of, reader_options
from penstock.globs import MARKS, matches
from penstock.schema import Column, Schema, quote
from penstock.source import Limits, SourceSpec, Span
from penstock.source.files import documents
from penstock.source.files.broken import failed_to_read, is_out_of_reach
from penstock.source.files.log import entry_of, files_between
from penstock.source.options import option_value

CORRUPT = "__corrupt"
_HIDDEN = (".", "_")
_PACKED = (".gz", ".bz2", ".deflate", ".snappy", ".lz4", ".zst")
_MEGABYTE = 1024 * 1024
# Spark's default leaves out files that are a week older than the newest one seen: a copied archive would be lost in silence.
_NO_FILE_TOO_OLD = {"maxFileAge": "36500d"}
# Hadoop looks for a checksum beside every local file, and cannot name that of one with a `:` in its name.
_ANY_LOCAL_NAME = {"fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem", "fs.file.impl.disable.cache": "true"}
_FILE_POSITION = "to_json(named_struct('file', regexp_replace(url_decode(replace(_metadata.file_path, '+', '%2B')), '^file:/+', '/'))) AS __position"

# Spark puts together all that it knows of a file for every row that is asked for its file, even if nobody looks.
_NO_POSITION = "CAST(NULL AS STRING) AS __position"


class Files:
    """The connector `files` without `tail`. `line_end` is given where only one mark ends a line; otherwise \\r does as well."""

    def __init__(self, spec: SourceSpec, line_end: str | None = None) -> None:
        self._spec = spec
        self._line_end = line_end
        self._format = option_value(spec.options, "files", "format") or "json"
        self._header = option_value(spec.options, "files", "header") == "true"
        self._dialect = Dialect.of(spec.options)
        self._documents = holds_documents(spec.options)
        self._reader = "text" if self._documents else self._format
        self.path = located(spec.folder, spec.options["path"])
        self.written = self._file_schema()

    def live(self, spark: SparkSession, limits: Limits) -> DataFrame:
        self.check(self.present())
        reader = spark.readStream.format(self._reader).options(**self._reading(), **_NO_FILE_TOO_OLD, **self._bound(limits))
        return self._rows(reader.schema(self._read_schema()).load(_watched(self.path)), _NO_POSITION)

    def history(self, spark: SparkSession, span: Span) -> DataFrame:
        """All files are read in one go, those that are known to be broken beside them: only they may be read in part."""
        files = self.present() if span.whole else self._logged(span)
        self.check(files)
        broken = [file for file in files if self._spec.broken.reason(urlparse_path(file))]
        sound = [file for file in files if file not in broken] if broken or not files or not span.whole else [self.path]
        found = self._read(spark, sound)
        return found.unionAll(self._read(spark, broken, broken=True)) if broken else found

    def _read(self, spark: SparkSession, paths: list[str], *, broken: bool = False) -> DataFrame:
        reader = spark.read.format(self._reader).options(**self._reading(), **self._base(), **_past_damage(broken))
        return self._rows(reader.schema(self._read_schema()).load(paths))

    def lines(self, spark: SparkSession, files: Sequence[str]) -> DataFrame:
        found = [] if self._format == "parquet" or self._documents else list(files)
        broken = any(self._spec.broken.reason(file) for file in files)
        reader = spark.read.schema("value STRING").options(**_ANY_LOCAL_NAME, **_past_damage(broken))
        return reader.text(found).selectExpr("value AS __value", _FILE_POSITION)

    def present(self) -> list[str]:
        """The files that there are now; of another system than this one's files only the path."""
        return present(self.path) if is_local(self.path) else [self.path]

    def check(self, files: Sequence[str]) -> None:
        """OptionFault for a name that Spark takes for a pattern, and for a csv header whose columns are not where they are read from.

        Spark would read whatever the pattern means, and all the others of its epoch once more.
        """
        for file in (urlparse_path(file) for file in (self.path.removesuffix(self._spec.options["path"]), *files) if is_local(file)):
            mark = next((letter for letter in file if letter in MARKS), None)
            if mark is not None:
                raise OptionFault(
                    f"`{self._spec.name}`: the name of {file} holds `{mark}`, which Spark takes for a pattern",
                    hint="rename it; a view that met it while it ran is rebuilt when its checkpoint is removed",
                )
            header = _header(file, self._dialect) if self._header else []
            if self._in_other_order(header):
                raise OptionFault(
                    f"`{self._spec.name}`: the header of {file} has other columns, or in another order: {', '.join(header).lower()}",
                    hint=f"all files of a stream or table have one header, here {', '.join(self.written.names).lower()}: write this one like that",
                )

    def _logged(self, span: Span) -> list[str]:
        """The files of some epochs; SourceError where one is gone."""
        if span.nothing:
            return []
        if span.log is None:
            raise SourceError(f"stream `{self._spec.name}`: the files of an epoch are known from its checkpoint only")
        files = files_between(span.log, entry_of(span.start), entry_of(span.end))
        missing = [file for file in files if is_local(file) and not Path(urlparse_path(file)).exists()]
        if missing:
            raise SourceError(
                f"stream `{self._spec.name}`: {len(missing)} of its files are gone, the first is {urlparse_path(missing[0])}",
                hint="history needs the files that were read; put them back, or start over with another state folder",
            )
        return files

    def close(self) -> None:
        return None

    def unreadable(self, spark: SparkSession, span: Span, *, thorough: bool = False) -> list[tuple[str, str]]:
        """The files that are known to be broken; see `SkipsFiles`. OptionFault for one that the epoch must not have read: see `check`."""
        if span.nothing:
            return []
        names = self.present() if span.whole or span.log is None else files_between(span.log, entry_of(span.start), entry_of(span.end))
        self.check(names)
        known = {urlparse_path(name): reason for name in names if (reason := self._spec.broken.reason(urlparse_path(name)))}
        found = self._cut_off(spark, [name for name in names if urlparse_path(name) not in known]) if thorough else {}
        for name, reason in found.items():
            self._spec.broken.add(name, reason)
        return list((found | known).items())

    def _cut_off(self, spark: SparkSession, names: list[str]) -> dict[str, str]:
        """Those that cannot be read to their end: all are tried at once, and one by one only when that fails."""
        try:
            if names:
                self._read(spark, names).write.format("noop").mode("overwrite").save()
            return {}
        except (PySparkException, Py4JJavaError) as error:
            if not failed_to_read(error) or is_out_of_reach(error):
                return {}
            if len(names) == 1:
                how = "unpacked" if names[0].endswith(_PACKED) else "read"
                return {urlparse_path(names[0]): f"cannot be {how} to its end: {_root_cause(error)}"}
        return {file: reason for name in names for file, reason in self._cut_off(spark, [name]).items()}

    def _in_other_order(self, header: list[str]) -> bool:
        """Whether a header names a declared column at another place than that from which it is read: its values would be another's."""
        declared = {name.lower() for name in self._spec.schema.names or self.written.names}
        read = [name.lower() for name in self.written.names]
        first = {name.lower(): place for place, name in reversed(list(enumerate(header)))}  # a second column of a name is none of the declared
        return any(name in declared and read[place : place + 1] != [name] for name, place in first.items())

    def _rows(self, read: DataFrame, position: str = _FILE_POSITION) -> DataFrame:
        if self._documents:
            return documents.records(read.selectExpr("value", position))
        if self._format == "text":
            return read.selectExpr("value AS __value", position)
        corrupt = [] if self._format == "parquet" else [CORRUPT]
        return read.selectExpr(*(quote(name) for name in self._spec.schema.names), *corrupt, position)

    def _reading(self) -> Mapping[str, str]:
        """Options of Spark's reader. All columns are always parsed: which rows are bad must not depend on who reads."""
        if self._documents:
            return {**_ANY_LOCAL_NAME, "wholetext": "true"}
        if self._format in ("json", "csv"):
            whole = {"columnPruning": "false", "header": "true" if self._header else "false"} if self._format == "csv" else {}
            written = {**reader_options(self._spec.options), **file_options(self._spec.options)}
            return {**_ANY_LOCAL_NAME, "columnNameOfCorruptRecord": CORRUPT, **whole, **written}
        return {**_ANY_LOCAL_NAME, "lineSep": self._line_end} if self._line_end else _ANY_LOCAL_NAME

    def _read_schema(self) -> str:
        if self._reader == "text":
            return "value STRING"
        if self._format == "parquet":
            return as_read(self._spec.schema, self._spec.options).ddl
        return f"{as_read(self.written, self._spec.options).ddl}, {CORRUPT} STRING"

    def _bound(self, limits: Limits) -> Mapping[str, str]:
        """Spark takes a bound on files or on bytes, not on both."""
        files = int(option_value(self._spec.options, "files", "files_per_batch") or limits.files)
        return {"maxFilesPerTrigger": str(files)} if files else {"maxBytesPerTrigger": str(limits.megabytes * _MEGABYTE)}

    def _file_schema(self) -> Schema:
        """The columns in the order of the files: a csv header is believed where it names all the declared ones. What comes later keeps to it."""
        files = present(self.path) if self._header else []
        names = _header(files[0], self._dialect) if files else []
        if not {name.lower() for name in self._spec.schema.names} <= {name.lower() for name in names}:
            return self._spec.schema
        unique = [name if name and name.lower() not in map(str.lower, names[:place]) else f"_c{place}" for place, name in enumerate(names)]
        return Schema(tuple(self._spec.schema.find(name) or Column(name, "string") for name in unique))

    def _base(self) -> Mapping[str, str]:
        """Partition folders (`day=2024-05-01`) are found from the declared folder down, also when single files are read."""
        return {"basePath": self.path} if is_local(self.path) and Path(self.path).is_dir() else {}


class Dialect(NamedTuple):
    """What it takes to read the header of a csv file."""

    delimiter: str
    quote: str
    encoding: str

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Dialect:
        return cls(delimiter_of(options), options.get("quote", '"'), encoding_of(options))


def _header(name: str, dialect: Dialect) -> list[str]:
    """The column names in the first line of a csv file; none where it cannot be read."""
    try:
        return list(_header_of(name, dialect, Path(name).stat().st_mtime_ns))
    except OSError:
        return []


@lru_cache(maxsize=10_000)
def _header_of(name: str, dialect: Dialect, written_ns: int) -> tuple[str, ...]:
    """The header of a file as it was written then: a view that is recomputed in every epoch asks for that of all its files."""
    quoting = {"quoting": csv.QUOTE_NONE} if dialect.quote == NO_QUOTE else {"quotechar": dialect.quote}
    try:
        with opener_of(name)(name, "rt", encoding=dialect.encoding, errors="replace", newline="") as lines:
            return tuple(next(csv.reader(lines, delimiter=dialect.delimiter, **quoting), []))
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
