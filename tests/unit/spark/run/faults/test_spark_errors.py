"""What is left of Spark's words when they reach a user."""

from __future__ import annotations

import pytest

from penstock.errors import NameFault, PlanFault, SourceError, TypeFault, Where
from penstock.plan.model.declare import View
from penstock.plan.model.nodes import Scan
from penstock.spark.run.faults.spark_errors import in_users_words

ZERO = (
    "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead. "
    'If necessary set "spark.sql.ansi.enabled" to "false" to bypass this error. SQLSTATE: 22012'
)
OVERFLOW = (
    '[CAST_OVERFLOW] The value 300 of the type "INT" cannot be cast to "TINYINT" due to an overflow. Use `try_cast` to tolerate overflow and '
    'return NULL instead. If necessary set "spark.sql.ansi.enabled" to "false" to bypass this error. SQLSTATE: 22003'
)


@pytest.mark.parametrize("text", [ZERO, OVERFLOW])
def test_nobody_is_asked_to_change_a_setting_that_they_cannot(text: str) -> None:
    shown = in_users_words(Exception(text), None)
    assert "spark." not in str(shown)
    assert "try_" in shown.message
    assert isinstance(shown, PlanFault | TypeFault)


def test_a_link_to_sparks_pages_goes_as_a_whole() -> None:
    text = "[WRONG_NUM_ARGS.WITHOUT_SUGGESTION] The `upper` requires 1 parameters but the actual number is 2. Please, refer to "
    shown = in_users_words(Exception(text + "'https://spark.apache.org/docs/latest/sql-ref-functions.html' for a fix. SQLSTATE: 42605"), None)
    assert shown.message == "The `upper` requires 1 parameters but the actual number is 2."


def test_a_select_that_is_asked_once_is_underlined_as_a_view_is() -> None:
    text = "SELECT customr\nFROM orders"
    view = View("query", Scan("orders", where=Where("SQL", 2, 6)), text=text, where=Where("SQL", 1))
    error = Exception(
        "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name `customr` cannot be resolved. SQLSTATE: 42703"
    )
    shown = in_users_words(error, view)
    assert isinstance(shown, NameFault)
    assert shown.where == Where("SQL", 1)
    assert shown.excerpt == "    1 | SELECT customr\n               ^^^^^^^"
    assert "view `query`" not in shown.message


DAMAGED = """An error occurred while calling o978.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:\x20
\tat org.apache.spark.security.SocketAuthServer.getResult(SocketAuthServer.scala:122)
Caused by: org.apache.spark.SparkException: [CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred during loading state.  SQLSTATE: 58030
\tat org.apache.spark.sql.execution.streaming.state.RocksDB.load(RocksDB.scala:1)
Caused by: org.apache.hadoop.fs.ChecksumException: Checksum error: file:/app/.penstock/state/0/1/16_1af4726f.changelog at 1536 exp: 1 got: 2
\tat org.apache.hadoop.fs.FSInputChecker.verifySums(FSInputChecker.java:1)
"""


def test_a_file_that_is_not_there_is_reported_as_missing() -> None:
    causes = "Caused by: java.io.FileNotFoundException: not there\nCaused by: java.nio.file.NoSuchFileException: /c/1.changelog\n"
    text = f"An error occurred while calling o1.getResult.\n: org.apache.spark.SparkException: Job aborted\n\tat a.b(c:1)\n{causes}"
    assert in_users_words(Exception(text), None).message == "the file /c/1.changelog is missing"


def test_where_only_a_call_is_reported_to_have_failed_the_innermost_cause_is_reported() -> None:
    """It names the damaged file, which whoever has to restore it needs to know."""
    shown = in_users_words(Exception(DAMAGED), None)
    assert shown.message == "Checksum error: file:/app/.penstock/state/0/1/16_1af4726f.changelog at 1536 exp: 1 got: 2"
    inside = (
        DAMAGED + "Caused by: py4j.Py4JException: An exception was raised by the Python Proxy. Return Message: \nTraceback (most recent call last):\n"
    )
    assert in_users_words(Exception(inside + DAMAGED.replace("16_", "17_")), None).message == shown.message


def test_a_call_that_failed_without_a_word_of_its_cause_is_reported_as_it_is() -> None:
    assert in_users_words(Exception("An error occurred while calling o1.run.\n"), None).message == "An error occurred while calling o1.run."


def test_a_file_that_cannot_be_read_is_named_with_what_is_wrong_with_it() -> None:
    text = (
        "An error occurred while calling o1.getResult.\n: org.apache.spark.SparkException: Exception thrown in awaitResult: \n\tat a.b(c:1)\n"
        "Caused by: org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///a.gz.  SQLSTATE: KD001\n"
        "Caused by: java.io.EOFException: Unexpected end of input stream\n"
    )
    shown = in_users_words(Exception(text), None)
    assert isinstance(shown, SourceError)
    assert shown.message == "Encountered error while reading file file:///a.gz: Unexpected end of input stream"
