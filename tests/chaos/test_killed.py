"""A driver that is killed in the middle loses nothing and counts nothing twice once it runs again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

FILES = 24
WAIT_S = 120
APP = """
CREATE STREAM lines (value STRING) WITH (connector = 'files', path = 'input', format = 'text');
CREATE MATERIALIZED VIEW word_count AS
  SELECT word, count(*) AS n FROM (SELECT explode(split(value, ' ')) AS word FROM lines) GROUP BY word;
CREATE MATERIALIZED VIEW best AS
  SELECT word, n FROM word_count ORDER BY n DESC, word LIMIT 3;
CREATE SINK copy FROM word_count WITH (connector = 'files', path = 'out', format = 'json', delivery = 'exactly-once');
"""
ENVIRONMENT = {
    **os.environ,
    "PENSTOCK_MASTER": "local[2]",
    "PENSTOCK_DRIVER_MEMORY": "1g",
    "PENSTOCK_FAST_START": "true",
    "PENSTOCK_BATCH_FILES_MAX": "1",
}


def penstock(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "penstock", *arguments]


def rows(app: Path, view: str) -> list[dict[str, object]]:
    done = subprocess.run(penstock("peek", str(app), view, "--json", "-n", "1000"), env=ENVIRONMENT, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def delivered(app: Path) -> list[Path]:
    """The epochs that the sink has whole."""
    return [path for path in (app / "out").glob("epoch=*") if path.is_dir()]


def followed(app: Path) -> dict[str, int]:
    """What a reader has who applied the sink's epochs in order."""
    held: dict[str, int] = {}
    for folder in sorted(delivered(app), key=lambda path: int(path.name.removeprefix("epoch="))):
        for line in (line for path in sorted(folder.glob("*.json")) for line in path.read_text(encoding="utf-8").splitlines()):
            change = json.loads(line)
            if change["_op"] == "+":
                held[change["word"]] = change["n"]
            else:
                held.pop(change["word"])
    return held


def killed_after(app: Path, epochs: int) -> None:
    """Run the app and kill it with SIGKILL once the sink has so many epochs."""
    with (app / "run.log").open("ab") as log:
        running = subprocess.Popen(penstock("run", str(app)), env=ENVIRONMENT, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + WAIT_S
        while len(delivered(app)) < epochs:
            assert running.poll() is None, (app / "run.log").read_text(encoding="utf-8")
            assert time.monotonic() < deadline, "no progress before the kill"
            time.sleep(0.02)
    finally:
        running.kill()
        running.wait()


@pytest.mark.timeout(600)
def test_a_driver_killed_twice_ends_with_every_word_counted_once(tmp_path: Path) -> None:
    app = tmp_path / "app"
    (app / "input").mkdir(parents=True)
    (app / "app.sql").write_text(APP, encoding="utf-8")
    wanted: Counter[str] = Counter()
    for number in range(FILES):
        words = [f"w{number % 5}", f"w{number % 3}", "all"]
        (app / "input" / f"{number:03}.txt").write_text(" ".join(words) + "\n", encoding="utf-8")
        wanted.update(words)

    killed_after(app, 2)
    killed_after(app, 5)
    before = len(delivered(app))
    assert before < FILES, "it was done before it was killed: nothing was shown"
    subprocess.run(penstock("run", str(app), "--drain"), env=ENVIRONMENT, capture_output=True, check=True)

    assert {str(row["word"]): row["n"] for row in rows(app, "word_count")} == dict(wanted)
    ranked = sorted(wanted.items(), key=lambda entry: (-entry[1], entry[0]))[:3]
    assert sorted((str(row["word"]), row["n"]) for row in rows(app, "best")) == sorted(ranked)
    assert len(delivered(app)) == FILES
    assert followed(app) == dict(wanted)
