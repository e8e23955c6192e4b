"""What ended a job: a mistake, an outage or a bug, in words that people can read."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

import psycopg
import pytest

from penstock.errors import (
    EngineError,
    FencedError,
    GapError,
    LoginError,
    OutageError,
    PlanFault,
    RefusalError,
    SinkError,
    SourceError,
    StateError,
)
from penstock.spark.run.faults.outage import End, end_of, explained
from penstock.store.postgres_server import PostgresServer, unavailable

KAFKA = """An error occurred while calling o1.awaitTermination.
: org.apache.spark.sql.streaming.StreamingQueryException: [STREAM_FAILED] Query terminated with exception: timed out
Caused by: org.apache.kafka.common.errors.TimeoutException: Timeout of 60000ms expired before the position could be determined
"""
DISK = """An error occurred while calling o1.awaitTermination.
: org.apache.spark.sql.streaming.StreamingQueryException: [STREAM_FAILED] Query terminated with exception: no room
Caused by: java.io.FileNotFoundException: /app/.penstock/checkpoints/copy/1/offsets/.3.tmp (No space left on device)
"""
CLASSES = ("Exception", "org.apache", "java.", "psycopg", "sqlite3")


@pytest.mark.parametrize(
    ("error", "end"),
    [
        (OutageError("away"), End.OUTAGE),
        (LoginError("no"), End.MISTAKE),
        (PlanFault("no"), End.MISTAKE),
        (RefusalError("no"), End.MISTAKE),
        (FencedError("no"), End.MISTAKE),
        (GapError("no"), End.MISTAKE),
        (StateError("no"), End.MISTAKE),
        (SinkError("a callback raised"), End.BUG),
        (SourceError("odd"), End.BUG),
        (EngineError("odd"), End.BUG),
    ],
)
def test_our_own_errors_say_by_their_class_what_they_are(error: Exception, end: End) -> None:
    found = explained(error, None)
    assert found is error
    assert end_of(found) is end


def full() -> sqlite3.Error:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    return error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/app/.penstock/x"), "/app/.penstock/x: the disk is full"),
        (PermissionError(errno.EACCES, "Permission denied", "/app/in"), "/app/in: the rights are missing"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"), "nobody answers there"),
        (full(), "the disk is full"),
        (Exception(KAFKA), "Kafka does not answer"),
        (Exception(DISK), "the disk is full"),
    ],
)
def test_what_the_system_and_java_say_of_an_outage_is_reported_without_names_of_classes(error: Exception, words: str) -> None:
    found = explained(error, None)
    assert end_of(found) is End.OUTAGE
    assert words in found.message
    assert not any(name in str(found) for name in CLASSES)


def test_what_is_in_no_table_is_a_bug() -> None:
    found = explained(Exception("An error occurred while calling o1.x.\n: java.lang.IllegalStateException: odd\n"), None)
    assert (type(found), found.message, end_of(found)) == (EngineError, "odd", End.BUG)


def test_a_login_that_postgres_refuses_is_no_outage() -> None:
    refused = unavailable("Postgres", psycopg.OperationalError('FATAL:  password authentication failed for user "ann"'))
    away = unavailable("Postgres", psycopg.OperationalError("connection refused"))
    assert (end_of(refused), end_of(away)) == (End.MISTAKE, End.OUTAGE)
    with pytest.raises(OutageError, match=r"127\.0\.0\.1:1"):
        PostgresServer("127.0.0.1", 1).connect()


def test_a_table_version_is_noted_once_and_reported_when_it_changes(tmp_path: Path) -> None:
    from penstock.spark.checkpoint.table_log import add_changes, changed_tables, read_changes, versions_at

    assert add_changes(tmp_path, 0, {"t": "a", "u": "x"}) == []
    assert add_changes(tmp_path, 1, {"t": "a", "u": "x"}) == []
    assert [change.table for change in add_changes(tmp_path, 2, {"t": "b", "u": "x"})] == ["t"]
    assert add_changes(tmp_path, 2, {"t": "b", "u": "x"}) == []
    assert versions_at(read_changes(tmp_path), 1) == {"t": "a", "u": "x"}
    assert versions_at(read_changes(tmp_path), 5) == {"t": "b", "u": "x"}
    assert [(change.epoch, change.version) for change in changed_tables(tmp_path)["t"]] == [(0, "a"), (2, "b")]
    assert changed_tables(tmp_path, 1) == {}
