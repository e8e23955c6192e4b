from __future__ import annotations

import json
from pathlib import Path

from penstock.spark.run.dead.letters import with_lines


def test_letters_whose_lines_are_not_found_are_distinguished(tmp_path: Path) -> None:
    """A position is kept once: two letters of one position would be one."""
    file = tmp_path / "1.json"
    file.write_text('{"id": 1}\n', encoding="utf-8")
    at = json.dumps({"file": str(file)})
    records = [b'{"id": 1}', b'{"id": 2}', b'{"id": 3}', b'{"id": 3}']
    found = with_lines([at] * 4, records)
    assert len(set(found)) == 4
    assert [json.loads(place)["line"] for place in found] == [1, None, None, None]
    assert with_lines([at] * 4, records) == found


def test_a_file_that_is_elsewhere_or_broken_has_no_lines(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json.gz"
    broken.write_bytes(b"\x1f\x8b\x08\x00nonsense")
    for file in ("hdfs://far/away.json", str(tmp_path / "gone.json"), str(broken)):
        (place,) = with_lines([json.dumps({"file": file})], [b"x"])
        assert json.loads(place)["line"] is None
