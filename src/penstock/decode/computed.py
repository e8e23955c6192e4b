"""Columns that are computed from a record, so that a record from which one cannot be computed stops nothing.

Under ANSI a cast, a division or an index raises, and would end the job at the same record for ever. Spark's own TRY, which
`try_cast` and its kin are made of, takes any expression but has no name in SQL; it is asked for here, in one place.
"""

from __future__ import annotations

from py4j.java_gateway import JVMView
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.classic.column import Column as ClassicColumn


def value(expression: str) -> Column:
    """What is computed; NULL also where it cannot be."""
    return _tried(expression)


def fails(expression: str) -> Column:
    """Whether it cannot be computed. A struct is not NULL where its value is; it is put together only for the rows without a value."""
    return _tried(expression).isNull() & _tried(f"named_struct('value', {expression})").isNull()


def _tried(expression: str) -> Column:
    jvm = SparkSession.active()._jvm
    assert isinstance(jvm, JVMView)
    bridge = jvm.org.apache.spark.sql.classic.ExpressionUtils
    tried = jvm.org.apache.spark.sql.catalyst.expressions.TryEval(bridge.expression(F.expr(expression)._jc))
    return ClassicColumn(bridge.column(tried))
