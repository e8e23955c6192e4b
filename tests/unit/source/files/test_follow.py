from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.source.files import follow
from penstock.source.files.follow import GONE, Mark, advance, find, from_offset, lines_of, lost, pieces, sizes, to_offset


def read(start: dict[int, Mark], end: dict[int, Mark]) -> list[tuple[int, bytes]]:
    """Number and text of every line between two sets of marks."""
    found: list[tuple[int, bytes]] = []
    for piece in pieces(start, end):
        name = find(piece)
        assert name is not None
        lines = [line for block in lines_of(name, piece) for line in block]
        found.extend(enumerate(lines, start=piece.line))
    return found


def test_only_whole_lines_are_taken_and_lines_are_counted(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"one\r\ntwo\nthr")
    first = advance(str(log), {}, None)
    assert read({}, first) == [(1, b"one"), (2, b"two")]
    with log.open("ab") as file:
        file.write("ee\nfür 漢\n".encode())
    assert read(first, advance(str(log), first, None)) == [(3, b"three"), (4, "für 漢".encode())]


def test_a_renamed_log_is_read_to_its_end_before_its_successor(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"1\n2\n")
    first = advance(str(log), {}, None)
    with log.open("ab") as file:
        file.write(b"3\n")
    log.rename(tmp_path / "a.log.1")
    log.write_bytes(b"new\n")
    second = advance(str(log), first, None)
    assert read(first, second) == [(3, b"3"), (1, b"new")]
    (tmp_path / "a.log.1").unlink()
    third = advance(str(log), second, None)
    assert len(third.keys() - {GONE}) == 1
    assert read(second, third) == []


@pytest.mark.parametrize("fresh", [b"x\n", b"longer than all that was there before\n"])
def test_a_log_that_was_emptied_starts_over(tmp_path: Path, fresh: bytes) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"one\ntwo\n")
    first = advance(str(log), {}, None)
    log.write_bytes(fresh)
    second = advance(str(log), first, None)
    assert [mark.rewrites for mark in second.values()] == [1]
    assert read(first, second) == [(1, fresh.strip())]


@pytest.mark.parametrize("renamed", [False, True])
def test_what_was_planned_of_a_log_that_was_then_rewritten_is_gone_however_long_it_is_by_now(tmp_path: Path, renamed: bool) -> None:
    """Else the lines at the old places would be read, the first and the last of them torn."""
    log = tmp_path / "a.log"
    log.write_bytes(b"one\n")
    first = advance(str(log), {}, None)
    with log.open("ab") as file:
        file.write(b"two\nthree\n")
    second = advance(str(log), first, None)
    (piece,) = pieces(first, second)
    assert find(piece) == str(log)
    log.write_bytes(b"rewritten, and longer than it ever was\n" * 3)
    if renamed:
        log.rename(tmp_path / "b.log")
    assert find(piece) is None
    assert [piece.first for piece in pieces(second, advance(str(tmp_path), second, None))] == [0]


def test_a_bound_on_bytes_is_kept_but_a_long_line_is_taken_whole(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    lines = [b"a" * 10, b"b" * 100, b"c" * 10, b"d" * 10]
    log.write_bytes(b"\n".join(lines) + b"\n")
    marks: dict[int, Mark] = {}
    steps = []
    for _ in range(4):
        after = advance(str(log), marks, 25)
        steps.append([line for _, line in read(marks, after)])
        marks = after
    assert steps == [lines[:1], lines[1:2], lines[2:], []]


def test_draining_stops_at_the_sizes_seen_first(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"1\n")
    until = sizes(str(tmp_path), {})
    with log.open("ab") as file:
        file.write(b"2\n")
    (tmp_path / "b.log").write_bytes(b"3\n")
    assert read({}, advance(str(tmp_path), {}, None, until)) == [(1, b"1")]


def test_marks_survive_the_offset_log(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"1\n")
    marks = advance(str(tmp_path / "*.log"), {}, None)
    assert from_offset(json.loads(json.dumps(to_offset(marks)))) == marks


def test_a_big_range_is_cut_at_line_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "_PIECE_BYTES", 1000)
    log = tmp_path / "a.log"
    log.write_bytes(b"".join(b"line %d\n" % n for n in range(1, 1001)))
    end = advance(str(log), {}, None)
    assert len(pieces({}, end)) > 5
    assert read({}, end) == [(n, b"line %d" % n) for n in range(1, 1001)]


def test_what_is_gone_is_not_found(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"1\n2\n")
    (piece,) = pieces({}, advance(str(log), {}, None))
    log.write_bytes(b"1\n")
    assert find(piece) is None


def test_a_log_that_was_removed_is_followed_no_more_but_stays_known_as_lost(tmp_path: Path) -> None:
    names = [tmp_path / "a.log", tmp_path / "b.log", tmp_path / "empty.log"]
    for name in names:
        name.write_bytes(b"" if name.stem == "empty" else b"1\n")
    marks = advance(str(tmp_path), {}, None)
    assert lost(marks) == []
    for name in names:
        name.unlink()
    assert sorted(lost(marks)) == [str(tmp_path / "a.log"), str(tmp_path / "b.log")], "nothing was read of the empty one"
    for _ in range(2):
        marks = advance(str(tmp_path), marks, None)
        assert marks == {GONE: Mark(str(tmp_path / "a.log"))}, "however many logs are removed in a year, the offset does not grow"
    assert lost(from_offset(json.loads(json.dumps(to_offset(marks))))) == [str(tmp_path / "a.log")]
    (tmp_path / "a.log").write_bytes(b"2\n")
    after = advance(str(tmp_path), marks, None)
    assert read(marks, after) == [(1, b"2")]
    assert lost(after) == [str(tmp_path / "a.log")]


@pytest.mark.parametrize("fresh", [b"x\n", b"longer than all that was there before\n"])
def test_what_a_log_held_before_it_was_emptied_is_lost(tmp_path: Path, fresh: bytes) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"one\ntwo\n")
    first = advance(str(log), {}, None)
    log.write_bytes(fresh)
    assert lost(first) == [str(log)], "before the next epoch has seen it"
    second = advance(str(log), first, None)
    assert lost(second) == [str(log)]
    with log.open("ab") as file:
        file.write(b"more\n")
    assert lost(advance(str(log), second, None)) == [str(log)], "and for good"


def test_a_log_that_grows_or_is_renamed_is_not_lost(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"one\n")
    marks = advance(str(log), {}, None)
    with log.open("ab") as file:
        file.write(b"two\n")
    log.rename(tmp_path / "a.log.1")
    log.write_bytes(b"new\n")
    assert lost(marks) == lost(advance(str(log), marks, None)) == []
