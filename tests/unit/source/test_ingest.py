from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.source.ingest import Ingest, Taken


def one_dead(lines: list[bytes]) -> int:
    return sum(line.startswith(b"x") for line in lines)


def test_lines_are_landed_before_the_answer_and_counted(tmp_path: Path) -> None:
    ingest = Ingest(tmp_path)
    assert ingest.take(b'{"a": 1}\r\n\n x\nxx', None, one_dead) == Taken(2, 1)
    assert [file.read_bytes() for file in sorted(tmp_path.glob("*.txt"))] == [b'{"a": 1}\n x\nxx\n']
    assert ingest.take(b"\n \n", None, one_dead) == Taken(0, 0)
    assert len(list(tmp_path.glob("*.txt"))) == 1


def test_a_key_is_taken_once_also_after_a_restart(tmp_path: Path) -> None:
    assert Ingest(tmp_path).take(b"a\nx\n", "key", one_dead) == Taken(1, 1)
    again = Ingest(tmp_path)
    assert again.take(b"a\n", "key", one_dead) == Taken(1, 1)
    assert again.take(b"b\n", "other", one_dead) == Taken(1, 0)
    assert sorted(file.read_bytes() for file in tmp_path.glob("*.txt")) == [b"a\nx\n", b"b\n"]


def test_a_key_is_forgotten_after_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000_000.0]
    monkeypatch.setattr("penstock.source.ingest.time.time", lambda: now[0])
    ingest = Ingest(tmp_path)
    for hours, key, body, taken in ((0, "a", b"1", 1), (1, "b", b"1", 1), (23, "a", b"1\n2", 1), (24, "a", b"1\n2", 2), (24.5, "b", b"1\n2", 1)):
        now[0] = 1_000_000 + hours * 3600
        assert ingest.take(body, key, one_dead) == Taken(taken, 0), hours
        for file in tmp_path.glob("*.txt"):
            if file.stat().st_mtime > now[0]:
                os.utime(file, (now[0], now[0]))
    assert len(ingest._keys()) == 2
    assert [Ingest(tmp_path).take(b"", key, one_dead) for key in "ab"] == [Taken(2, 0), Taken(1, 0)]
    now[0] = 1_000_000 + 48 * 3600
    ingest.take(b"1", "c", one_dead)
    assert len(ingest._keys()) == 1
