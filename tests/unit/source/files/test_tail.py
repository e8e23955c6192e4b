"""Which pieces of followed logs a span means; reading them is Spark's and is tested with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.errors import SourceError
from penstock.schema import Column, Schema
from penstock.source import SourceSpec, Span
from penstock.source.files.follow import Marks, advance, to_offset
from penstock.source.files.tail import Tail


def tail_of(log: Path) -> Tail:
    options = {"connector": "files", "path": log.name, "format": "text", "tail": "true"}
    return Tail(SourceSpec("lines", options, Schema((Column("line", "string"),)), log.parent, log.parent / "state"))


def offset(marks: Marks) -> str:
    return json.dumps(to_offset(marks))


@pytest.mark.parametrize("seen", [False, True], ids=["before an epoch saw it", "after an epoch saw it"])
@pytest.mark.parametrize("removed", [False, True], ids=["emptied", "removed"])
def test_a_past_that_is_gone_is_an_error_and_not_fewer_rows(tmp_path: Path, removed: bool, seen: bool) -> None:
    log = tmp_path / "app.log"
    log.write_bytes(b"1\n2\n3\n")
    first = advance(str(log), {}, None)
    tail = tail_of(log)
    assert [piece.end for piece in tail.planned(Span(None, offset(first)))] == [6]
    if removed:
        log.rename(tmp_path / "app.log.1")
        log.write_bytes(b"4\n")  # first, for a file that is made after another was removed may get its inode
        (tmp_path / "app.log.1").unlink()
    else:
        log.write_bytes(b"4\n")
    end = advance(str(log), first, None) if seen else first
    with pytest.raises(SourceError, match=r"stream `lines`: what was read of .*/app\.log is gone") as raised:
        tail.planned(Span(None, offset(end)))
    assert raised.value.hint is not None
    assert "renamed, not emptied" in raised.value.hint


def test_epochs_and_what_the_files_hold_now_are_read_whatever_is_gone(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    log.write_bytes(b"1\n2\n3\n")
    first = advance(str(log), {}, None)
    log.write_bytes(b"4\n")
    second = advance(str(log), first, None)
    tail = tail_of(log)
    assert [piece.end for piece in tail.planned(Span(None, offset(first), is_epoch=True))] == [6], "its first epoch: one dead letter"
    assert [piece.end for piece in tail.planned(Span(offset(first), offset(second), is_epoch=True))] == [2]
    assert [piece.end for piece in tail.planned(Span())] == [2]
