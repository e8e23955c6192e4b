"""Sinks of one topic or table: distinguished by what their records say, or not judged at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.chaos.follow import Seen
from penstock.chaos.subjects import reader, users
from penstock.plan.load import load
from penstock.share.jobs import jobs
from penstock.verify.shared import Shared, shared_places

VIEWS = """
CREATE STREAM lines (k STRING, n INT) WITH (connector = 'files', path = 'input', format = 'json');
CREATE MATERIALIZED VIEW plain AS SELECT k, n FROM lines;
CREATE MATERIALIZED VIEW sums AS SELECT k, sum(n) AS n FROM lines GROUP BY k;
CREATE MATERIALIZED VIEW counts AS SELECT k, count(*) AS n FROM lines GROUP BY k;
"""
TOPIC = "connector = 'kafka', servers = '{}', topic = 'alerts'"
EXACT = TOPIC.format("localhost:9") + ", delivery = 'exactly-once'"
LOOSE = TOPIC.format("127.0.0.1:9")
TABLE = "connector = 'postgres', host = 'localhost', port = 9, database = 'd', table = '{}'"


def written(folder: Path, **sinks: str) -> Path:
    """An app with a sink for each of the views that are named."""
    text = "".join(f"CREATE SINK to_{view} FROM {view} WITH ({options});\n" for view, options in sinks.items())
    (folder / "app.sql").write_text(VIEWS + text, encoding="utf-8")
    return folder


def found(folder: Path, **sinks: str) -> dict[str, Shared]:
    return shared_places(jobs(load(written(folder, **sinks) / "app.sql")))


def test_keyed_exactly_once_sinks_of_one_topic_are_distinguished(tmp_path: Path) -> None:
    assert found(tmp_path, sums=EXACT, counts=EXACT) == {"to_sums": Shared(), "to_counts": Shared()}


def test_one_that_marks_its_records_is_distinguished_from_one_that_does_not(tmp_path: Path) -> None:
    assert found(tmp_path, sums=EXACT, plain=EXACT) == {"to_sums": Shared(marked_only=True), "to_plain": Shared()}
    assert found(tmp_path, sums=EXACT + ", key = 'N'", counts=EXACT + ", key = 'K'") == {"to_sums": Shared(), "to_counts": Shared(marked_only=True)}


def test_two_that_do_not_are_not_distinguished(tmp_path: Path) -> None:
    wanted = {"to_sums": Shared(("to_plain",)), "to_plain": Shared(("to_sums",)), "to_counts": Shared(marked_only=True)}
    assert found(tmp_path, sums=LOOSE, plain=LOOSE, counts=EXACT) == wanted


@pytest.mark.parametrize(("other", "shared"), [("public.t", True), ("t", True), ("own.t", False), ("T", False)])
def test_rows_of_one_table_are_never_distinguished(tmp_path: Path, other: str, shared: bool) -> None:
    one, two = ("to_counts",) if shared else (), ("to_sums",) if shared else ()
    assert found(tmp_path, sums=TABLE.format("t"), counts=TABLE.format(other)) == {"to_sums": Shared(one), "to_counts": Shared(two)}


def test_places_of_their_own_are_not_shared(tmp_path: Path) -> None:
    sinks = {"sums": EXACT.replace("alerts", "other"), "plain": LOOSE, "counts": "connector = 'console'"}
    assert set(found(tmp_path, **sinks).values()) == {Shared()}


def test_chaos_leaves_out_what_it_cannot_tell_apart_and_says_so(tmp_path: Path) -> None:
    app = written(tmp_path, sums=LOOSE, plain=LOOSE, counts=EXACT)
    follower, _ = reader(users(app, tmp_path / "state", {}).subject, Seen())
    assert [place.name for place in follower._places] == ["topic alerts"]
    assert list(follower.left_out) == [
        f"topic alerts of sink `to_{one}` is shared with sink `to_{other}`, whose rows cannot be distinguished from its own"
        for one, other in (("plain", "sums"), ("sums", "plain"))
    ]
