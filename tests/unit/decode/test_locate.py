from __future__ import annotations

import gzip
from pathlib import Path

from penstock.decode.locate import locate_lines

LINES = [b'{"a": 1}', b"{bad", b"", b'{"a": "x", "at": "2030-01-01T00:00:00Z"}', b"{bad", b"\xff"]


def test_records_are_found_in_one_pass_and_equal_ones_in_turn(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(b"\r\n".join(LINES) + b"\n")
    assert locate_lines(file, [b"{bad", b"\xff", b"absent", b"{bad"]) == [2, 6, None, 5]


def test_packed_files_are_read_too(tmp_path: Path) -> None:
    file = tmp_path / "a.json.gz"
    file.write_bytes(gzip.compress(b"\n".join(LINES)))
    assert locate_lines(file, [b"{bad"]) == [2]
