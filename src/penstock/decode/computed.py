"""Columns that are computed from a record, so that a record from which one cannot be computed stops nothing.

Under ANSI a cast, a division or an index raises, and would end the job at the same record for ever. Spark's own TRY, which
`try_cast` and its kin are made of, takes any expression but has no name in SQL; it is asked for here, in one place.
"""

from __future__ import annotations

from py4j.java_gateway import JVMView
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.classic.column import Column as ClassicColumn


def value(expression: str, column: str) -> Column:
    """What is computed, NULL also where it cannot be; `column` is any column of the record."""
    return _attempt(expression, column)["value"]


def fails(expression: str, column: str) -> Column:
    """Whether it cannot be computed."""
    return _attempt(expression, column).isNull()


def _attempt(expression: str, column: str) -> Column:
    """A struct of the value, for that may be NULL: the struct is so only where the value cannot be computed.

    What two expressions have in common Spark computes once for both, and outside of TRY. It does not look into a branch that may not
    be taken, though; this one always is, which Spark does not know.
    """
    jvm = SparkSession.active()._jvm
    assert isinstance(jvm, JVMView)
    bridge = jvm.org.apache.spark.sql.classic.ExpressionUtils
    plain = F.expr(f"CASE WHEN {column} IS NULL OR {column} IS NOT NULL THEN named_struct('value', {expression}) END")
    return ClassicColumn(bridge.column(jvm.org.apache.spark.sql.catalyst.expressions.TryEval(bridge.expression(plain._jc))))
