"""Columns that are computed from a record, so that a record from which one cannot be computed stops nothing.

Under ANSI a cast, a division or an index raises, and would end the job at the same record for ever. Spark's own TRY, which
`try_cast` and its kin are made of, takes any expression but has no name in SQL; it is asked for here, in one place.
"""

from __future__ import annotations

import re

from py4j.java_gateway import JVMView
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.classic.column import Column as ClassicColumn

from penstock.schema import Schema, quote


def value(expression: str, record: Schema) -> Column:
    """What is computed from the columns of a record, NULL also where it cannot be."""
    return _attempt(expression, record)["value"]


def fails(expression: str, record: Schema) -> Column:
    """Whether it cannot be computed."""
    return _attempt(expression, record).isNull()


def _attempt(expression: str, record: Schema) -> Column:
    """A struct of the value, for that may be NULL: the struct is so only where the value cannot be computed.

    What two expressions have in common Spark computes once for both, and outside of TRY. It does not look into a branch that may not
    be taken, though; the one here always is, which Spark does not know. The attempt as a whole may well be made once for all who ask.
    """
    column = _read_anyway(expression, record)
    return attempted(F.expr(f"named_struct('value', CASE WHEN {column} IS NULL OR {column} IS NOT NULL THEN {expression} END)"))


def attempted(plain: Column) -> Column:
    """The column, NULL where it cannot be computed."""
    jvm = SparkSession.active()._jvm
    assert isinstance(jvm, JVMView)
    bridge = jvm.org.apache.spark.sql.classic.ExpressionUtils
    return ClassicColumn(bridge.column(jvm.org.apache.spark.sql.catalyst.expressions.TryEval(bridge.expression(plain._jc))))


def _read_anyway(expression: str, record: Schema) -> str:
    """A column that the expression names, as far as a look at its words shows: any other would be read for nothing."""
    words = {word.lower() for word in re.findall(r"\w+", expression)}
    return quote(next((name for name in record.names if name.lower() in words), record.names[0]))
