"""What a query over the past could not read: counted while it ran, and looked at only where there is something to say.

Nothing is read twice for a sound input. Where records were set aside, the first of them is fetched with its place, its reason and its bytes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

from pyspark.sql import DataFrame, SparkSession

from penstock.change import SetAside
from penstock.plan.model.declare import Stream, Table
from penstock.source import HasLines, Span
from penstock.source.files.source import Files
from penstock.spark.compile.counted import Count, observed_counts
from penstock.spark.compile.frames import AppContext, dead, dead_of_table
from penstock.spark.run.dead.letters import Letter, letters_of, none_read

_LOOKED_AT = 20
COUNTS_SURVIVE = ("spark.sql.adaptive.optimizer.excludedRules", "org.apache.spark.sql.execution.adaptive.AQEPropagateEmptyRelation")
"""A setting of the session that asks: what turns out to be empty stays in the plan that has run, and so does the count of what was read for it."""


class SetAsideLook:
    """Asks what was set aside for the rows of one query, once they were read."""

    def __init__(self, batch_session: SparkSession, app: AppContext, lines: DataFrame, names: Sequence[str]) -> None:
        self._batch_session, self._app, self._lines, self._names = batch_session, app, lines, names
        self.found = cache(self._found)

    def _found(self) -> Sequence[SetAside]:
        """DataFault where a stream or table has records, but not one that can be read."""
        known = [name for name in self._names if name in self._app.declared.streams or name in self._app.declared.tables]
        counts = {name: count for name, count in observed_counts(self._lines, known).items() if count.dead}
        return (*(self._first(name, count) for name, count in counts.items()), *self._failed(known))

    def _failed(self, known: Sequence[str]) -> Iterator[SetAside]:
        """Rows that a function of the app could not take, with the first stream that is read: a live run would keep them as its dead letters."""
        failed = self._app.failed_rows.take(self._batch_session)
        read = next((name for name in known if name in self._app.declared.streams), next(iter(known), "query"))
        for target, count in Counter(row.target for row in failed).items():
            first = next(row for row in failed if row.target == target)
            place = json.dumps({"file": first.file, "line": first.line, "function": target})
            yield SetAside(read, count, place, first.reason, first.row.encode())

    def _first(self, name: str, count: Count) -> SetAside:
        letters = first_letters(self._batch_session, self._app, name, _LOOKED_AT if count.rows == count.dead else 1)
        if not letters:  # what was dated ahead when it was read may not be so any more
            return SetAside(name, count.dead, "{}", "", b"")
        if count.rows == count.dead:
            raise none_read(self._app, name, count.rows, letters)
        return SetAside(name, count.dead, *letters[0])


def first_letters(batch_session: SparkSession, app: AppContext, name: str, most: int | None) -> list[Letter]:
    """The first records of a stream's or table's past that do not decode, as they came."""
    stream, table = app.declared.streams.get(name), app.declared.tables.get(name)
    if stream is not None:
        found: DataFrame | None = dead(batch_session, app, stream, Span())
        source: object = app.source(stream)
    else:
        assert table is not None
        found = dead_of_table(batch_session, app, table)
        source = Files(app.spec(table)) if found is not None else None
    if found is None:
        return []
    limited = found if most is None else found.limit(most)
    return letters_of(batch_session, source if isinstance(source, HasLines) else None, app.spec(_declared(stream, table)), limited)


def _declared(stream: Stream | None, table: Table | None) -> Stream | Table:
    found = stream or table
    assert found is not None
    return found
