from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote

import pytest

from penstock.errors import StateError
from penstock.source.files import log as filelog
from penstock.source.files.log import entry_of, files_between


def entry(*taken: tuple[str, int]) -> str:
    return "\n".join(["v1", *(json.dumps({"path": f"file:///in/{name}", "timestamp": 1, "batchId": number}) for name, number in taken)])


def test_files_are_those_after_start_up_to_end(tmp_path: Path) -> None:
    for number, name in enumerate(["a", "b%20c", "d"]):
        (tmp_path / str(number)).write_text(entry((name, number)))
    (tmp_path / ".2.crc").write_bytes(b"x")
    assert files_between(tmp_path, None, None) == ["file:///in/a", "file:///in/b c", "file:///in/d"]
    assert files_between(tmp_path, 0, 1) == ["file:///in/b c"]
    assert files_between(tmp_path, None, -1) == []


def test_a_compacted_entry_repeats_what_went_before(tmp_path: Path) -> None:
    (tmp_path / "8").write_text(entry(("i", 8)))
    (tmp_path / "9.compact").write_text(entry(*((name, number) for number, name in enumerate("abcdefghij"))))
    (tmp_path / "10").write_text(entry(("k", 10)))
    assert files_between(tmp_path, 7, None) == ["file:///in/i", "file:///in/j", "file:///in/k"]
    assert len(files_between(tmp_path, None, 4)) == 5


def test_of_a_compacted_entry_only_the_files_asked_for_are_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every tenth epoch has one, with the names of all files ever read."""
    decoded: list[str] = []

    def counted(name: str) -> str:
        decoded.append(name)
        return unquote(name)

    monkeypatch.setattr(filelog, "unquote", counted)
    (tmp_path / "8").write_text(entry(('a "batchId": 9', 8)))
    (tmp_path / "9.compact").write_text(entry(*((name, number % 10) for number, name in enumerate("abcdefghijklmnopqrst"))))
    assert files_between(tmp_path, 8, 9) == ["file:///in/j", "file:///in/t"]
    assert len(decoded) == 2
    assert files_between(tmp_path, 7, 8) == ['file:///in/a "batchId": 9']


def test_a_damaged_log_is_named(tmp_path: Path) -> None:
    (tmp_path / "0").write_text("")
    with pytest.raises(StateError, match="0 is not a log"):
        files_between(tmp_path, None, None)


def test_an_offset_names_an_entry() -> None:
    assert entry_of('{"logOffset":7}') == 7
    assert entry_of(None) is None


def test_a_name_may_hold_line_ends_of_unicode(tmp_path: Path) -> None:
    (tmp_path / "0").write_text('v1\n{"path":"file:///in/a\u2028b","timestamp":1,"batchId":0}\n', encoding="utf-8")
    assert files_between(tmp_path, None, None) == ["file:///in/a\u2028b"]
