"""Lines from a TCP server. It cannot be asked twice, so a recorder lands its lines as files and views read those.

Replayable: from the recording in the state folder. Each line that was landed is read exactly once; lines that the server
sent while nobody listened, or in the last 200 ms before a crash, are lost. Unit of parallelism: a recorded file.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from penstock.errors import SourceError
from penstock.source import Limits, SourceSpec, Span
from penstock.source.files.source import Files
from penstock.source.options import option_value
from penstock.source.recorder import Recorder

# Several jobs open the same stream, each for itself; the server must be read once.
_recorders: dict[Path, Recorder] = {}
_guard = threading.Lock()


class Socket:
    """The connector `socket`."""

    def __init__(self, spec: SourceSpec) -> None:
        self._name = spec.name
        self._folder = (spec.state / "recorded" / spec.name).absolute()
        self._host = option_value(spec.options, "socket", "host") or "localhost"
        self._port = int(spec.options["port"])
        self._is_text = option_value(spec.options, "socket", "format") == "text"
        recording = {"connector": "files", "path": str(self._folder), "format": "text"}
        self._files = Files(replace(spec, options=recording), line_end="\n")

    def live(self, spark: SparkSession, limits: Limits) -> DataFrame:
        self._recorder()
        return self._lines(self._files.live(spark, limits))

    def history(self, spark: SparkSession, span: Span) -> DataFrame:
        return self._lines(self._files.history(spark, span))

    def close(self) -> None:
        """Stops the recorder of this stream, whoever started it."""
        with _guard:
            recorder = _recorders.pop(self._folder, None)
        if recorder is not None:
            recorder.stop()

    def caught_up(self, timeout_s: float) -> bool:
        """Records until the server hangs up or falls silent; for a run that ends once it has read what there is.

        SourceError where no server answered: what there is cannot be known then.
        """
        recorder = self._recorder()
        is_over = recorder.caught_up(timeout_s)
        if not recorder.has_heard:
            hint = "start the server first; only a run without --drain waits for it"
            raise SourceError(f"stream `{self._name}`: no server answers at {self._host}:{self._port}", hint=hint)
        return is_over

    def _recorder(self) -> Recorder:
        with _guard:
            recorder = _recorders.get(self._folder)
            if recorder is not None and recorder.address != (self._host, self._port):
                recorder.stop()  # the stream was redeclared, with another server
                recorder = None
            if recorder is None:
                recorder = Recorder(self._host, self._port, self._folder)
                recorder.start()
                _recorders[self._folder] = recorder
            return recorder

    def _lines(self, recorded: DataFrame) -> DataFrame:
        return recorded if self._is_text else recorded.where("trim(__value) <> ''")
