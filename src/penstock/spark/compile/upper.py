"""The part of a plan above the cut: evaluated from kept rows, a view's rows, or history, in the same epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, IntegralType, StructType

from penstock.plan.cut.delta import PART
from penstock.plan.cut.follow import can_be_indexed, local_to
from penstock.plan.cut.local_keys import HIDDEN
from penstock.plan.cut.partials import ANY_WAY, Moves
from penstock.plan.model.nodes import Node, Order, names_read
from penstock.schema import quote
from penstock.share.jobs import Member
from penstock.source import Span
from penstock.spark.compile import rows
from penstock.spark.compile.frames import AppContext, register_history, register_tables
from penstock.spark.compile.operators import plan_frame


@dataclass(frozen=True)
class Above:
    """A plan above the cut: over `inputs`, by the DDL of each; `is_view`: its rows are the view's, not those of a step on the way to it.

    When what is in a `single` input changes, the plan is to look at all rows. `moves`: how the rows of an only input change.
    """

    plan: Node
    inputs: Mapping[str, str]
    is_view: bool = True
    key: tuple[str, ...] | None = None
    single: tuple[str, ...] = ()
    moves: Moves = ANY_WAY


@dataclass(frozen=True)
class Upper:
    """A plan above the cut, analysed; `local`: its columns that say which part of the input they are of, and what those are called there."""

    app: AppContext
    member: Member
    above: Above
    plan: Node
    columns: StructType
    local: Mapping[str, str]
    places: Mapping[str, tuple[str, ...]]
    """For each input that has parts the columns that say a row's part, in the order of `local`."""

    @property
    def ordered(self) -> bool:
        return self.above.is_view and isinstance(self.plan, Order) and bool(self.plan.keys)

    @property
    def shown(self) -> tuple[str, ...]:
        """The columns of a row of the result."""
        return shown_of(self.columns, self.above)


def shown_of(columns: StructType, above: Above) -> tuple[str, ...]:
    """The columns of a result that are its own: all but what says its part, and of a view's those that are not the engine's."""
    names = tuple(name for name in columns.names if not name.startswith((HIDDEN, PART)))
    return tuple(rows.visible(names)) if above.is_view else names


def open_upper(batch_session: SparkSession, app: AppContext, member: Member, above: Above) -> Upper:
    """Analyse the plan over empty inputs, so that a mistake shows before the first row."""
    register_tables(batch_session, app, [name for name in names_read(above.plan) if name not in above.inputs])
    given: dict[str, dict[str, DataType]] = {}
    for name, ddl in above.inputs.items():
        register(batch_session, above, name, [])
        given[name] = {field.name: field.dataType for field in rows.columns_of(ddl).fields}
    app = app.seen_by(member.view)
    key = above.key if len(above.inputs) == 1 else None
    in_parts = {
        name: [column for column, kind in columns.items() if can_be_indexed(column, kind.simpleString(), key)]
        for name, columns in given.items()
        if name not in above.single
    }
    plan, local = local_to(above.plan, in_parts, above.key, lambda sources: _alike([given[name][column] for name, column in sources]))
    columns = plan_frame(batch_session, app, plan).schema
    if above.is_view:
        rows.check_names(columns, member.name)
    own = {field.name: field.dataType for field in columns.fields}
    same = {
        column: dict(sources)
        for column, sources in local.items()
        if column in own and _alike([own[column], *(given[name][source] for name, source in sources)])
    }
    labels = {column: next(iter(sources.values())) if len(in_parts) == 1 else f"k{at}" for at, (column, sources) in enumerate(same.items())}
    places = {name: tuple(sources[name] for sources in same.values()) for name in in_parts}
    return Upper(app, member, above, plan, columns, labels, places)


def _alike(kinds: Sequence[DataType]) -> bool:
    """Whether equal values of these types are equal texts in JSON."""
    return all(kind == kinds[0] for kind in kinds) or all(isinstance(kind, IntegralType) for kind in kinds)


def register(batch_session: SparkSession, above: Above, name: str, lines: Sequence[str]) -> None:
    """Let the plan read these rows under the name of its input."""
    rows.from_json(batch_session, lines, above.inputs[name]).createOrReplaceTempView(quote(name))


def evaluate(batch_session: SparkSession, upper: Upper, given: Mapping[str, Sequence[str]]) -> pa.Table:
    """The upper plan's rows over those that are `given` of each input."""
    for name, lines in given.items():
        register(batch_session, upper.above, name, lines)
    return _answer(batch_session, upper).toArrow()


def evaluate_parts(batch_session: SparkSession, upper: Upper, given: Mapping[str, Sequence[str]], touched: Mapping[str, Sequence[str]]) -> pa.Table:
    """The upper plan's rows over those of its inputs that are of touched parts; and of every such part a `part` without a row."""
    for name, lines in given.items():
        register(batch_session, upper.above, name, lines)
    parts: list[DataFrame] = []
    for name, lines in touched.items():
        rows_touched = rows.from_json(batch_session, lines, upper.above.inputs[name])
        part = rows.as_json(rows_touched.schema, upper.places[name], tuple(upper.local.values()), grouped=True)
        parts.append(rows_touched.selectExpr("cast(NULL AS STRING) AS row", "cast(NULL AS STRING) AS key", f"{part} AS part"))
    return reduce(DataFrame.unionAll, parts).distinct().unionAll(_answer(batch_session, upper)).toArrow()


def _answer(batch_session: SparkSession, upper: Upper) -> DataFrame:
    key = upper.member.key if upper.above.is_view else None
    return answer(plan_frame(batch_session, upper.app, upper.plan), upper.shown, key, upper.local)


def recompute(batch_session: SparkSession, app: AppContext, member: Member, spans: Mapping[str, Span], clocks: Mapping[str, str]) -> pa.Table:
    """The whole plan over exactly the part of each stream's history that `spans` give, judged by `clocks` as it was when it came."""
    register_history(batch_session, app, member.cut.lower, spans, clocks)
    found = plan_frame(batch_session, app, member.cut.lower)
    return answer(found, rows.visible(found.columns), member.key, {}).toArrow()


def recompute_columns(batch_session: SparkSession, app: AppContext, member: Member) -> StructType:
    """The columns of a recomputed view, by analysing its plan over the sources as they are."""
    register_history(batch_session, app, member.cut.lower, {})
    columns = plan_frame(batch_session, app, member.cut.lower).schema
    rows.check_names(columns, member.name)
    return columns


def answer(frame: DataFrame, shown: Sequence[str], key: Sequence[str] | None, local: Mapping[str, str]) -> DataFrame:
    """`row` of the columns that are shown; `key`, NULL in a bag; and `part`, by the names that `local` gives its columns."""
    columns = frame.schema
    of_key = "cast(NULL AS STRING)" if key is None else rows.as_json(columns, key)
    part = rows.as_json(columns, tuple(local), tuple(local.values()), grouped=True)
    return frame.selectExpr(f"{rows.as_json(columns, shown)} AS row", f"{of_key} AS key", f"{part} AS part")
