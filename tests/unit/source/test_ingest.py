from __future__ import annotations

from pathlib import Path

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
