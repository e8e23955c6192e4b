"""What the offset log says of a source."""

from __future__ import annotations

from pathlib import Path

from penstock.source import Span
from penstock.spark.checkpoint.offset_log import span_of

LOGGED = """v1
{"batchWatermarkMs":0,"batchTimestampMs":1}
{"logOffset":0}
-"""


def test_a_source_that_had_nothing_yet_is_distinguished_from_one_that_is_read_to_its_end(tmp_path: Path) -> None:
    """An epoch that is recomputed from the history would read ahead: what came since belongs to a later one."""
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_text(LOGGED, encoding="utf-8")
    (tmp_path / "offsets" / "1").write_text(LOGGED.replace("-", '{"logOffset":0}'), encoding="utf-8")
    names = ["sales", "more"]
    log = tmp_path / "sources" / "1"
    for from_start in (True, False):
        early, later = (span_of(tmp_path, epoch, names, 1, from_start=from_start) for epoch in (0, 1))
        assert (early.nothing, early.whole) == (True, False)
        assert later == Span(None, '{"logOffset":0}', log, is_epoch=not from_start)
    assert Span().whole
