"""How failed jobs are reported together."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from penstock.errors import GapError, NameFault, PenstockError, SourceError, Where
from penstock.observe.progress import Progress
from penstock.spark.run.outcome import raise_failed


@dataclass(frozen=True)
class Job:
    """A job that ended."""

    progress: Progress
    error: PenstockError | None = None


def job(name: str, error: PenstockError | None = None) -> Job:
    return Job(Progress(name, (name,)), error)


def test_where_none_failed_nothing_is_raised() -> None:
    raise_failed([job("a"), job("b")])


def test_a_single_failure_is_reported_as_it_is() -> None:
    error = NameFault("no such column", where=Where("app.sql", 3), hint="did you mean `b`?")
    with pytest.raises(NameFault) as raised:
        raise_failed([job("a"), job("b", error)])
    assert raised.value is error


def test_several_failures_are_all_named_with_what_to_do() -> None:
    broken = [
        job("a", SourceError("no broker", hint="start it")),
        job("fine"),
        job("b", GapError("a gap", hint="accept it")),
        job("c", SourceError("no broker")),
    ]
    with pytest.raises(SourceError) as raised:
        raise_failed(broken)
    assert raised.value.message == "3 jobs failed:\n  a: no broker\n  b: a gap\n  c: no broker"
    assert raised.value.hint == "start it\nhint: accept it"
    assert raised.value.exit_code == 3
