"""The rows that come first of those that an ORDER BY ... LIMIT sorts, by their texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import SparkSession

from penstock.plan.cut.first import LINE, First, first_of
from penstock.plan.model.nodes import Order
from penstock.schema import quote
from penstock.spark.compile import rows
from penstock.spark.compile.operators import plan_frame
from penstock.spark.compile.upper import Upper

MORE = ""
"""What follows the candidates where there are more rows than those: no row has this text."""


def open_first(upper: Upper) -> First | None:
    """The upper plan from candidates, where it can be had from them."""
    return first_of(upper.above.plan, next(iter(upper.above.inputs))) if len(upper.above.inputs) == 1 else None


def ranked(session: SparkSession, upper: Upper, first: First, lines: Sequence[str], limit: int | None = None) -> list[str]:
    """Rows of the plan's input that pass it, in its order, or the first of them."""
    ((name, ddl),) = upper.above.inputs.items()
    rows.from_json(session, lines, ddl, as_they_are=True).createOrReplaceTempView(quote(name))
    assert isinstance(first.ranked, Order)
    plan = replace(first.ranked, limit=None if limit is None else str(limit))
    found: list[str] = plan_frame(session, upper.app, plan).select(LINE).toArrow()[LINE].to_pylist()
    return found
