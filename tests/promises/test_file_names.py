"""Names of files that mean something to Spark or Hadoop mean themselves: each file is read, and once."""

from __future__ import annotations

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
