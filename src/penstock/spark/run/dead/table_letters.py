"""What the files of tables hold and no row is made of: reported once, beside the views, which do not wait until a table is read for this.

Tables have no dead letters; a table that cannot be read at all fails where it is used, so whatever hinders the look is not reported here.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import Counter
from collections.abc import Iterable, Iterator

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from penstock.decode import Rules, dead_rows, decode
from penstock.errors import UserError
from penstock.plan.model.declare import Table
from penstock.schema import Schema
from penstock.source import SourceSpec, Span
from penstock.source.files.source import Files
from penstock.source.open import table_frame
from penstock.spark.compile.frames import AppContext
from penstock.spark.run.faults.broken_files import newly_broken

log = logging.getLogger("penstock.source")  # what is reported is in the files that tables are read from
_COUNTED_MAX = 10_000
_ENDS_WITHIN_S = 5.0


class LeftOut:
    """Looks at the files of each table of an app once, when it is first read."""

    def __init__(self, app: AppContext) -> None:
        self.app = app
        self._looked_at: set[str] = set()
        self._looking: list[threading.Thread] = []

    def look(self, spark: SparkSession, names: Iterable[str]) -> None:
        """Begin to look at the tables among these names."""
        tables = {name for name, table in self.app.declared.tables.items() if table.options.get("connector") == "files"}
        fresh = [name for name in dict.fromkeys(names) if name in tables and name not in self._looked_at]
        if fresh:
            self._looked_at.update(fresh)
            thread = threading.Thread(target=self._report, args=(spark.newSession(), fresh), name="tables", daemon=True)
            self._looking.append(thread)
            thread.start()

    def close(self) -> None:
        """Let a look that has started report, if it does not take long."""
        for thread in self._looking:
            thread.join(_ENDS_WITHIN_S)

    def _report(self, spark: SparkSession, names: list[str]) -> None:
        for name in names:
            try:
                for file, why in _left_out(spark, self.app, self.app.declared.tables[name]):
                    log.warning("table `%s`: %s: %s", name, file, why)
            except UserError as fault:
                log.warning("table `%s`: %s", name, fault.message)
            except Exception:
                log.debug("table `%s` could not be looked at", name, exc_info=True)


def _left_out(spark: SparkSession, app: AppContext, table: Table) -> Iterator[tuple[str, str]]:
    """The files of a table that are not all in it, each with how many of its records are left out and why."""
    spec = app.spec(table)
    known, found = app.broken.names(), table_frame(spark, spec)
    if "__position" not in found.columns:
        return
    files = Files(spec)
    try:
        dead = _dead(found, spec, files.written)
    except (PySparkException, Py4JError) as error:
        if not newly_broken(error, spark, app, known, lambda: {table.name: Span()}):
            raise
        dead = _dead(table_frame(spark, spec), spec, files.written)
    yield from files.unreadable(spark, Span())
    more = " or more" if len(dead) == _COUNTED_MAX else ""
    for (position, reason), number in sorted(Counter((row.position, row.reason) for row in dead).items()):
        yield json.loads(position)["file"], f"{number}{more} of its records are left out: {reason}"


def _dead(found: DataFrame, spec: SourceSpec, written: Schema) -> list[Row]:
    return dead_rows(decode(found, spec, Rules()), spec, written).select("position", "reason").limit(_COUNTED_MAX).collect()
