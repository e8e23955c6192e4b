"""`docs/features.md` is the list of what Penstock must do; every row that is done names a test, and the test exists."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "features.md"
# The number of rows of each section of the mission.
SECTIONS = {"A": 7, "B": 4, "C": 8, "D": 4, "E": 5, "F": 5, "G": 6, "H": 4, "I": 13}
MISSION = [f"{letter}{number}" for letter, count in SECTIONS.items() for number in range(1, count + 1)]
STATUSES = {"done", "partly", "not yet"}


@dataclass(frozen=True)
class Row:
    """One row of the table."""

    name: str
    what: str
    status: str
    tests: tuple[str, ...]


def rows() -> list[Row]:
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 4 and re.fullmatch(r"[A-I]\d+", cells[0]):
            found.append(Row(cells[0], cells[1], cells[2], tuple(re.findall(r"`(tests/[^`]+)`", cells[3]))))
    return found


def test_every_row_of_the_mission_is_there_once_and_in_order() -> None:
    assert [row.name for row in rows()] == MISSION


def test_every_row_has_words_and_a_known_status() -> None:
    assert [row for row in rows() if not row.what or row.status not in STATUSES] == []


def test_what_is_built_names_its_tests_and_what_is_not_names_none() -> None:
    assert [row.name for row in rows() if bool(row.tests) == (row.status == "not yet")] == []


def test_every_named_test_can_be_collected() -> None:
    named = sorted({test for row in rows() for test in row.tests})
    assert named
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *named]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
