"""Lines that were sent to the server by POST. They are landed as files before the answer is given, and views read those.

Replayable: from the recording in the state folder. Each line that was answered for is read exactly once. Unit of parallelism: a landed
file. The server lands them (`source.ingest`); a run without one reads what is there.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from penstock.source import Limits, SourceSpec, Span
from penstock.source.files.source import Files
from penstock.source.ingest import landed_in
from penstock.source.options import option_value


class Http:
    """The connector `http`."""

    def __init__(self, spec: SourceSpec) -> None:
        self._folder = landed_in(spec.state, spec.name)
        self._is_text = option_value(spec.options, "http", "format") == "text"
        recording = {"connector": "files", "path": str(self._folder), "format": "text"}
        self._files = Files(replace(spec, options=recording), line_end="\n")

    def live(self, spark: SparkSession, limits: Limits) -> DataFrame:
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._lines(self._files.live(spark, limits))

    def history(self, spark: SparkSession, span: Span) -> DataFrame:
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._lines(self._files.history(spark, span))

    def close(self) -> None:
        return None

    def _lines(self, recorded: DataFrame) -> DataFrame:
        return recorded if self._is_text else recorded.where("trim(__value) <> ''")
