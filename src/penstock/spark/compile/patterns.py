"""A row pattern as a DataFrame: Spark computes what is asked of each row, the keyed operator matches, Spark computes the measures."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from penstock.errors import PlanFault, Where
from penstock.plan.model.matching import MATCHED, VALUE, Matching, shown_first, taken_apart
from penstock.plan.model.nodes import Filter, Item, Node, Operate, Project, Scan
from penstock.plan.model.pattern import Pattern
from penstock.plan.model.pattern_shape import Needed, needed_rows
from penstock.plan.model.text import operator_call
from penstock.schema import quote
from penstock.spark.compile.frames import AppContext
from penstock.spark.compile.keyed import Running, keyed_frame
from penstock.spark.compile.user_code import STOPPED
from penstock.spark.keyed.pattern.function import TIMED_OUT, MatchFunction


@dataclass(frozen=True)
class PatternCode:
    """Whose mistake it is when a match cannot be made: the pattern's, at its place."""

    where: Where | None

    def prepare(self) -> None:
        """Nothing of the app is called."""

    def set_aside(self, error: Exception, row: str, number: int) -> str:
        raise self.broke(str(error))

    def broke(self, message: str) -> Exception:
        file, line = ("", 0) if self.where is None else (self.where.file, self.where.line)
        return RuntimeError(STOPPED + json.dumps({"file": file, "line": line, "reason": f"the pattern: {message}", "row": None}))


def pattern_frame(spark: SparkSession, app: AppContext, node: Operate, pattern: Pattern, frame: Callable[[Node], DataFrame]) -> DataFrame:
    """The matches as rows: the columns that stand first, the measures, and with ALL ROWS PER MATCH all others."""
    matching = taken_apart(pattern)
    values = tuple(Item(text, f"{VALUE}{place}") for place, text in enumerate(matching.values))
    needed = (Item("*"),) if pattern.all_rows else tuple(Item(quote(name)) for name in dict.fromkeys((*node.keys, *node.order)))
    counting = needed_rows(matching)
    rows: Node = Project(node.inputs[0], needed + values, where=node.where)
    below = replace(node, inputs=(rows if counting is None else Filter(rows, _counts(counting)),))
    text = operator_call(node)
    running = Running(PatternCode(node.where), partial(_function, node, matching), TIMED_OUT if pattern.timed_out else None, text)
    found = keyed_frame(spark, app, below, running, frame)
    name = f"__matches_{zlib.crc32(text.encode())}"
    found.createOrReplaceTempView(name)
    return frame(Project(Scan(name), _shown(node, pattern, matching, found), where=node.where))


def _counts(needed: Needed) -> str:
    """The condition of a row that counts; the others do not travel to the matcher."""
    steps, gaps = ([f"coalesce(CAST({VALUE}{place} AS BOOLEAN), false)" for place in places] for places in (needed.steps, needed.gaps))
    return " OR ".join([*steps, *(f"NOT {gap}" for gap in gaps)])


def _function(node: Operate, matching: Matching, given: pa.Schema, keys: tuple[str, ...], time: str | None) -> tuple[MatchFunction, StructType]:
    timed = time or node.order[0]
    if matching.within is not None and not pa.types.is_timestamp(given.field(timed).type):
        raise PlanFault(f"WITHIN needs rows ordered by a time, and `{timed}` is none", where=node.where, hint="ORDER BY the event time of the stream")
    function = MatchFunction(matching, given, keys, timed)
    return function, from_arrow_schema(function.output, prefer_timestamp_ntz=True)


def _shown(node: Operate, pattern: Pattern, matching: Matching, found: DataFrame) -> tuple[Item, ...]:
    first = shown_first(node, pattern)
    measures = [Item(f"CASE WHEN {MATCHED} THEN {text} END" if pattern.unmatched else text, name) for name, text in matching.measures]
    known = {name.lower(): name for name in found.columns}
    stated = {name.lower() for name in first}
    rest = [name for name in found.columns if not name.startswith("__") and name.lower() not in stated] if pattern.all_rows else []
    return (*(Item(quote(known[name.lower()])) for name in first), *measures, *(Item(quote(name)) for name in rest))
