"""Methods that people know from Spark and pandas and a query has not, each answered with what does the same here."""

from __future__ import annotations

from collections.abc import Mapping

_SELECT = '.select("id", total="amount * 2") names the columns that stay, under the names that they get'
_VIEW = 'app.view("name", query) keeps it up to date, app.sink("out", "name", ...) delivers it'
_INSTEAD: Mapping[str, str] = {
    **dict.fromkeys(("drop", "withColumnRenamed", "withColumnsRenamed", "rename", "assign", "withColumns", "toDF"), _SELECT),
    **dict.fromkeys(("write", "writeStream", "writeTo", "createOrReplaceTempView", "registerTempTable"), _VIEW),
    **dict.fromkeys(("merge", "crossJoin"), '.join(other, on="card", how="left"), or how="cross"'),
    **dict.fromkeys(("sum", "mean", "avg", "min", "max", "nunique", "value_counts", "describe"), '.group_by("country").agg(total="sum(amount)")'),
    **dict.fromkeys(("withWatermark", "resample"), 'app.stream(..., event_time="at", lateness="10 seconds"), then .window("1 hour")'),
    **dict.fromkeys(("cache", "persist", "repartition", "coalesce"), "leave it out: a query is only what is asked, and Penstock plans how"),
    **dict.fromkeys(("iterrows", "apply", "map", "foreach"), "for row in query.batch(): ...; or a function of yours in an expression: @ps.function"),
    "printSchema": "query.head(1).schema",
    "columns": "query.head(1).columns",
    "dtypes": "query.head(1).schema",
}


def missing(name: str) -> AttributeError:
    """The fault for an attribute that a query does not have."""
    instead = _INSTEAD.get(name)
    hint = instead if instead is not None else f'columns are named in text: .where("{name} > 10"), .select("{name}")'
    return AttributeError(f"a query has no `{name}`; {hint}")
