"""Every example in Spark's own documentation of its functions passes through Penstock unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException

from penstock.errors import ForbiddenFault, PenstockError
from penstock.plan.check.names import miscount
from penstock.plan.expression.functions import REGISTERED, miscounted
from penstock.plan.expression.parsed import parsed
from penstock.plan.expression.words import AGGREGATES
from penstock.plan.model.nodes import Aggregate, Item, Node, Project, walk
from penstock.plan.model.text import sql
from penstock.plan.sql.select import parse_select

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Functions that reach outside the app: their examples must be refused.
FORBIDDEN = {
    *("reflect", "java_method", "try_reflect", "python_worker_logs", "from_protobuf", "to_protobuf"),
    *("input_file_name", "input_file_block_start", "input_file_block_length"),
}


def examples(documentation: str) -> Iterator[str]:
    """The statements that follow `> ` in a function's documentation, up to their semicolon."""
    current: str | None = None
    for line in documentation.splitlines():
        words = line.strip()
        if words.startswith("> "):
            current = words[2:]
        elif current is not None:
            current += "\n" + words
        if current is not None and current.rstrip().endswith(";"):
            yield current.rstrip().rstrip(";")
            current = None


@pytest.fixture(scope="module")
def documented(spark: SparkSession) -> dict[str, list[str]]:
    """Each function's examples as DESCRIBE FUNCTION EXTENDED shows them, without the SET statements among them."""
    return {name: [text for text in examples(info.getExamples()) if not text.upper().startswith("SET ")] for name, info in functions(spark)}


def functions(spark: SparkSession) -> Iterator[tuple[str, Any]]:
    """Every function with what Spark's registry knows of it; asked directly, since DESCRIBE runs a job for each."""
    catalog = spark._jsparkSession.sessionState().catalog()
    identifier = spark._jvm.org.apache.spark.sql.catalyst.FunctionIdentifier  # type: ignore[union-attr]
    for row in spark.sql("SHOW FUNCTIONS").collect():
        yield row[0], catalog.lookupFunctionInfo(identifier(row[0]))


def items(plan: Node) -> Iterator[Item]:
    for node in walk(plan):
        if isinstance(node, Project | Aggregate):
            yield from node.items


def test_every_example_is_accepted_with_its_own_text(documented: dict[str, list[str]]) -> None:
    assert sum(map(len, documented.values())) > 1000
    wrong: list[str] = []
    for name in documented.keys() - FORBIDDEN:
        for text in documented[name]:
            try:
                plan = parse_select(text)
            except PenstockError as error:
                wrong.append(f"{name}: {error}")
                continue
            wrong += [f"{name}: {item.text} is not in {text}" for item in items(plan) if "__sub_" not in item.text and item.text not in text]
    assert wrong == []


def test_what_is_printed_again_is_sql_for_spark(documented: dict[str, list[str]], spark: SparkSession) -> None:
    parser = spark._jsparkSession.sessionState().sqlParser()
    for name in documented.keys() - FORBIDDEN:
        for text in documented[name]:
            parser.parsePlan(sql(parse_select(text)))


def test_no_example_has_too_many_arguments_or_too_few(documented: dict[str, list[str]]) -> None:
    wrong = {miscount(call): text for name in documented for text in documented[name] for call in parsed(text).calls}
    assert {error: text for error, text in wrong.items() if error is not None} == {}


def test_spark_itself_refuses_one_argument_more_or_less(spark: SparkSession) -> None:
    """So that no call is refused which Spark would take; every twelfth function, for Spark takes its time to refuse."""
    numbers = range(9)
    taken: list[str] = []
    for name in sorted(REGISTERED - FORBIDDEN)[::12]:
        fits = {given for given in numbers if miscounted(name, given) is None}
        for given in numbers:
            if given in fits or not fits & {given - 1, given + 1}:
                continue
            text = f"SELECT `{name}`({', '.join(['NULL'] * given)})"
            try:
                spark.sql(text)
                taken.append(text)
            except AnalysisException as error:
                taken += [] if "WRONG_NUM_ARGS" in str(error) or "REQUIRED_PARAMETER_NOT_FOUND" in str(error) else [text]
    assert taken == []


def test_functions_that_reach_outside_are_refused(documented: dict[str, list[str]]) -> None:
    for name in FORBIDDEN:
        assert documented[name]
        for text in documented[name]:
            with pytest.raises(ForbiddenFault):
                parse_select(text)


def test_the_list_of_aggregates_is_spark_s(spark: SparkSession) -> None:
    """Spark files two aggregates of vectors and one of variants with their types."""
    grouped = {name for name, info in functions(spark) if info.getGroup() == "agg_funcs"}
    assert grouped | {"vector_avg", "vector_sum", "schema_of_variant_agg"} == AGGREGATES
