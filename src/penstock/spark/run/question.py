"""One plan over the history, run once: its rows as they are asked for, and what could not be read for them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence, Set

from pyspark.sql import DataFrame, SparkSession

from penstock.change import DEAD, DEAD_COLUMNS, Rows
from penstock.errors import PenstockError
from penstock.plan.model.declare import View
from penstock.plan.model.nodes import Node, names_read
from penstock.schema import columns, quote
from penstock.source import Span
from penstock.spark.compile import rows
from penstock.spark.compile.frames import AppContext, register_history
from penstock.spark.compile.operators import plan_frame
from penstock.spark.run.dead.set_aside import COUNTS_SURVIVE, SetAsideLook
from penstock.spark.run.faults.broken_files import newly_broken
from penstock.spark.run.faults.outage import explained
from penstock.spark.session.warm import in_job_group
from penstock.store.protocol import Store

log = logging.getLogger("penstock.source")


class Question:
    """A plan, asked in a session of its own; `view` is the one that it is the meaning of, or that its errors name."""

    def __init__(
        self, spark: SparkSession, app: AppContext, results: Callable[[], Store], dead: Callable[[str], Rows], plan: Node, view: View | None
    ) -> None:
        self._batch_session = spark.newSession()
        in_job_group(self._batch_session)
        self._batch_session.conf.set(*COUNTS_SURVIVE)
        self._app = app if view is None else app.seen_by(view)
        self._results, self._dead = results, dead
        self._plan, self._view, self._names = plan, view, names_read(plan)
        self._look: SetAsideLook | None = None

    def rows(self) -> Rows:
        try:
            known, frame = self._app.broken.names(), self._frame()
            rows.check_names(frame.schema, self._view.name if self._view else "query")
            return Rows(rows.schema_of(frame.schema), self._lines(frame, known), lambda: self._look.found() if self._look else ())
        except Exception as error:
            raise explained(error, self._view) from error

    def _frame(self) -> DataFrame:
        register_history(self._batch_session, self._app, self._plan, {}, counted=True)
        for name in self._names:
            self._register_kept(name)
        return plan_frame(self._batch_session, self._app, self._plan)

    def _lines(self, frame: DataFrame, known: Set[str]) -> Iterator[str]:
        """Rows as they are asked for, one partition of results at a time, so that a large answer needs little memory.

        Files that turn out to be broken are named, and the rows start over without what cannot be read of them: unless some were given already.
        """
        lines = frame.selectExpr(f"{rows.as_json(frame.schema, frame.columns)} AS r")
        self._look = look = SetAsideLook(self._batch_session, self._app, lines, self._names)
        given = False
        try:
            # DataFrame.toLocalIterator runs jobs of an execution that is over: Spark 4.3 keeps these, with plan and broadcast tables, for ever.
            for row in lines.rdd.toLocalIterator(prefetchPartitions=True):
                given = True
                yield row.r
            look.found()
            return
        except PenstockError:
            raise
        except Exception as error:
            found = [] if given else newly_broken(error, self._batch_session, self._app, known, lambda: dict.fromkeys(self._names, Span()))
            if not found:
                raise explained(error, self._view) from error
        for file in found:
            log.warning("rows are left out: %s", file)
        known = self._app.broken.names()
        yield from self._lines(self._frame(), known)

    def _register_kept(self, name: str) -> None:
        """Dead letters and results that the plan reads as they are kept."""
        if name.endswith(DEAD) and name not in self._app.declared.declarations:
            self._register(name, list(self._dead(name.removesuffix(DEAD)).lines), DEAD_COLUMNS.ddl)
        if name in self._app.declared.views:
            found = self._results().schema(name)
            assert found is not None
            self._register(name, list(self._results().rows(name)), found[0])

    def _register(self, name: str, lines: Sequence[str], ddl: str) -> None:
        rows.from_json(self._batch_session, lines, ddl).createOrReplaceTempView(quote(name))


def filtered(spark: SparkSession, store: Store, view: str, lines: Sequence[str], condition: str) -> Rows:
    """Rows of a view, given as they are stored, for which a condition holds."""
    found = store.schema(view)
    assert found is not None
    batch_session = spark.newSession()
    in_job_group(batch_session)
    try:
        kept = rows.from_json(batch_session, lines, found[0], as_they_are=True).where(condition).select("__line").toArrow()
    except Exception as error:
        raise explained(error, None) from error
    return Rows(columns(found[0]), iter(kept["__line"].to_pylist()))
