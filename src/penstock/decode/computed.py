"""Columns that are computed from a record, so that a record from which one cannot be computed stops nothing.

Under ANSI a cast, a division or an index raises, and would end the job at the same record for ever. Spark's own TRY, which
`try_cast` and its kin are made of, takes any expression but has no name in SQL; it is asked for here, in one place.
"""

from __future__ import annotations

from collections.abc import Mapping

from py4j.java_gateway import JVMView
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.classic.column import Column as ClassicColumn

from penstock.schema import quote

_TRIED = "__tried_"


def attempts(computed: Mapping[str, str]) -> list[Column]:
    """One column for each: a struct of the value, NULL only where it cannot be computed, for the value itself may be NULL."""
    return [_tried(expression).alias(_TRIED + name) for name, expression in computed.items()]


def values(computed: Mapping[str, str]) -> list[Column]:
    """The computed columns themselves, above `attempts`."""
    return [F.col(value_of(name)).alias(name) for name in computed]


def value_of(name: str) -> str:
    """Where the value of a computed column is found, in Spark SQL."""
    return f"{quote(_TRIED + name)}.value"


def faults(computed: Mapping[str, str]) -> list[tuple[str, str]]:
    """The conditions under which a column cannot be computed, and their words, in Spark SQL."""
    return [(f"{quote(_TRIED + name)} IS NULL", f"'{_literal(f'the column `{name}` cannot be computed')}'") for name in computed]


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def _tried(expression: str) -> Column:
    jvm = SparkSession.active()._jvm
    assert isinstance(jvm, JVMView)
    plain = F.expr(f"named_struct('value', {expression})")
    bridge = jvm.org.apache.spark.sql.classic.ExpressionUtils
    tried = jvm.org.apache.spark.sql.catalyst.expressions.TryEval(bridge.expression(plain._jc))
    return ClassicColumn(bridge.column(tried))
