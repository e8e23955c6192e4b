"""Names of files that mean something to Spark or Hadoop mean themselves: each file is read, and once."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from penstock.testing.trial import Trial

MARKED = ["[z].json", "star*.json", "q?q.json", "{p,q}.json", "back\\slash.json", "a b.json", "100%20.json", "ha#sh.json", "plain.json"]
APP = """
CREATE STREAM s (k STRING, v INT) WITH (connector = 'files', path = 'in', format = 'json');
CREATE TABLE t (k STRING, v INT) WITH (connector = 'files', path = 'in', format = 'json');
CREATE MATERIALIZED VIEW a AS SELECT k, v FROM s;
CREATE MATERIALIZED VIEW b AS SELECT k, v FROM t;
"""


def put(trial: Trial, names: list[str]) -> None:
    for number, name in enumerate(names):
        trial.write(f"in/{name}", f'{{"k": "{number}", "v": {number}}}\n')


def expect_each_once(trial: Trial, files: int) -> None:
    for found in (trial.rows("a"), trial.batch("a"), trial.rows("b")):
        assert sorted(row["v"] for row in found) == list(range(files))


def test_a_file_with_a_mark_of_patterns_in_its_name_is_read_once_and_so_are_the_others(trial: Trial) -> None:
    trial.write("app.sql", APP)
    put(trial, MARKED)
    trial.drain()
    expect_each_once(trial, len(MARKED))


def test_a_file_with_a_colon_in_its_name_is_read_when_it_comes_and_the_folder_of_the_app_is_no_pattern(tmp_path: Path, spark: SparkSession) -> None:
    """`2024-05-01T10:00:00.json` is how many programs name what they write."""
    folder = tmp_path / "app[1] {x}"
    folder.mkdir()
    trial = Trial(folder, spark, {})
    trial.write("app.sql", APP)
    put(trial, ["plain.json"])
    trial.drain()
    put(trial, ["plain.json", "2024-05-01T10:00:00.json"])
    trial.drain()
    expect_each_once(trial, 2)
