"""Names of files mean themselves, or are refused: no file is read twice, and none is left out in silence."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.errors import OptionFault
from penstock.testing.trial import Trial, eventually

READ = ["a b.json", "100%20.json", "ha#sh.json", "2024-05-01T10:00:00.json", "plain.json"]
APP = """
CREATE STREAM s (k STRING, v INT) WITH (connector = 'files', path = 'in', format = 'json');
CREATE TABLE t (k STRING, v INT) WITH (connector = 'files', path = 'in', format = 'json');
CREATE TABLE u WITH (connector = 'files', path = 'in', format = 'json');
CREATE MATERIALIZED VIEW a AS SELECT k, v FROM s;
CREATE MATERIALIZED VIEW b AS SELECT k, v FROM t;
"""


def put(trial: Trial, names: list[str], first: int = 0) -> None:
    for number, name in enumerate(names, first):
        trial.write(f"in/{name}", f'{{"k": "{number}", "v": {number}}}\n')


def test_each_file_is_read_once_whatever_its_name_and_also_one_with_a_colon_that_comes_later(trial: Trial) -> None:
    """`2024-05-01T10:00:00.json` is how many programs name what they write."""
    trial.write("app.sql", APP)
    put(trial, READ)
    trial.drain()
    put(trial, ["2024-05-01T11:00:00.json"], len(READ))
    trial.drain()
    for found in (trial.rows("a"), trial.batch("a"), trial.rows("b")):
        assert sorted(row["v"] for row in found) == list(range(len(READ) + 1))


@pytest.mark.parametrize("name", ["[1].json", "star*.json", "q?q.json", "{p,q}.json", "back\\slash.json"])
def test_a_name_that_is_a_pattern_to_spark_is_refused_by_name(trial: Trial, name: str) -> None:
    trial.write("app.sql", APP)
    put(trial, ["1.json", name])
    for read in (trial.drain, lambda: trial.batch("a"), lambda: trial.rows("t"), lambda: trial.rows("u")):
        with pytest.raises(OptionFault) as raised:
            read()
        assert str(trial.folder / "in" / name) in raised.value.message
        assert "rename it" in (raised.value.hint or "")


def test_a_pattern_that_comes_while_a_view_runs_stops_it_before_a_row_is_doubled(trial: Trial) -> None:
    trial.write("app.sql", "\n".join(line for line in APP.splitlines() if " t" not in line))
    put(trial, ["1.json"])
    with pytest.raises(OptionFault, match=r"in/\[1\]\.json"):
        meet_a_pattern(trial)
    assert trial.rows("a") == [{"k": "0", "v": 0}]


def meet_a_pattern(trial: Trial) -> None:
    with trial.live() as run:
        run.until(lambda: run.last and run.last["a"].epoch >= 0)
        put(trial, ["[1].json", "2.json"], 1)
        eventually(lambda: not run.thread.is_alive())


def test_the_folder_of_the_app_is_no_pattern_either(tmp_path: Path, spark: SparkSession) -> None:
    folder = tmp_path / "app[1]"
    folder.mkdir()
    trial = Trial(folder, spark, {})
    trial.write("app.sql", APP)
    with pytest.raises(OptionFault, match=r"app\[1\]"):
        trial.drain()
