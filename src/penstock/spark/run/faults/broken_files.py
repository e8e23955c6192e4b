"""Finding out which files made a query fail: those alone are read as far as they go from then on, and reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set

from pyspark.sql import SparkSession

from penstock.source import SkipsFiles, Span
from penstock.source.files.broken import failed_to_read
from penstock.source.files.source import Files
from penstock.spark.compile.frames import AppContext


class FilesAreBroken(Exception):
    """A job has failed for files that are known to be broken by now: it can go on at once."""


def newly_broken(
    error: Exception, batch_session: SparkSession, app: AppContext, known: Set[str], spans: Callable[[], Mapping[str, Span]]
) -> list[str]:
    """If it is for a file that Spark failed: the files of these streams and tables that cannot be read to their end, each with the reason.

    `known` are those that were known to be broken when the query was made: others may have found more of them since.
    """
    if not failed_to_read(error):
        return []
    found: dict[str, str] = {}
    for name, span in spans().items():
        source = _files_of(app, name)
        if source is not None:
            found |= dict(source.unreadable(batch_session, span, thorough=True))
    return [f"{file}: {found[file]}" for file in sorted(app.broken.names() - known) if file in found]


def _files_of(app: AppContext, name: str) -> SkipsFiles | None:
    if name in app.declared.tables:
        table = app.declared.tables[name]
        return Files(app.spec(table)) if table.options.get("connector") == "files" and len(table.schema) else None
    source = app.source(app.declared.streams[name]) if name in app.declared.streams else None
    return source if isinstance(source, SkipsFiles) else None
