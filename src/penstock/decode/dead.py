"""The dead letters of a decoded stream."""

from __future__ import annotations

from pyspark.sql import DataFrame

from penstock.decode.reasons import MISFIT

_LETTER = ("__reason", "__raw", "__position")


def dead_rows(decoded: DataFrame) -> DataFrame:
    """`reason STRING, raw BINARY, position STRING` of every record that is not good.

    A record that does not fit is searched for the columns that are to blame: given, but not read.
    """
    rows = decoded.where("__reason IS NOT NULL")
    blamed = [_blame(field.name) for field in decoded.schema.fields if field.name not in _LETTER and field.dataType.typeName() != "string"]
    named = f"concat_ws(', ', {', '.join(blamed)})" if blamed else "''"
    reason = f"CASE WHEN __reason = '{MISFIT}' AND {named} <> '' THEN concat(__reason, ': ', {named}) ELSE __reason END"
    return rows.selectExpr(f"{reason} AS reason", "CAST(__raw AS BINARY) AS raw", "__position AS position")


def _blame(name: str) -> str:
    literal = name.replace("\\", "\\\\").replace("'", "\\'")
    quoted = name.replace("`", "``")
    if not name.isidentifier():
        return "CAST(NULL AS STRING)"  # a JSON path cannot name every column
    return f"IF(`{quoted}` IS NULL AND get_json_object(CAST(__raw AS STRING), '$.{name}') IS NOT NULL, '{literal}', NULL)"
