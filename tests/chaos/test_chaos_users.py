"""A user's own app under attack: only what is safe is done to it, and the answer is one object for programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

APP = """
CREATE STREAM lines (value STRING) WITH (connector = 'files', path = 'input', format = 'text');
CREATE MATERIALIZED VIEW words AS
  SELECT word, count(*) AS n FROM (SELECT explode(split(value, ' ')) AS word FROM lines) GROUP BY word;
CREATE SINK copy FROM words WITH (connector = 'files', path = 'out', delivery = 'exactly-once');
"""
ENVIRONMENT = {**os.environ, "PENSTOCK_MASTER": "local[2]", "PENSTOCK_DRIVER_MEMORY": "1g", "PENSTOCK_FAST_START": "true"}

pytestmark = pytest.mark.spark


@pytest.mark.timeout(600)
def test_a_users_app_is_killed_and_verified_and_what_is_not_safe_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "app" / "input").mkdir(parents=True)
    (tmp_path / "app" / "app.sql").write_text(APP, encoding="utf-8")
    for number in range(3):
        (tmp_path / "app" / "input" / f"{number}.txt").write_text(f"all w{number}\n", encoding="utf-8")
    command = [sys.executable, "-m", "penstock", "chaos", str(tmp_path / "app"), "--seed", "5", "--faults", "kill-driver,kill-broker", "--json"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [one["fault"] for one in found["faults"]] == ["kill-driver"]
    assert list(found["left_out"]) == ["kill-broker"]
    assert (found["seed"], found["lost"], found["duplicated"], found["partial"], found["verify"]) == (5, 0, 0, 0, "equal")
