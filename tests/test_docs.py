"""The documents are true: the README's tour runs as written, pages made from code are current, links lead somewhere."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from penstock import errors
from penstock.settings import SETTINGS

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
STAGES = ("source", "decode", "eventtime", "plan", "share", "spark", "sink", "subscribe")
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.glob("*.md")), *sorted((ROOT / "examples").glob("*/README.md"))]


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    kind: str
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(kind, text) for kind, text in re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)]


def tour() -> list[tuple[str, str | None]]:
    """The commands of the README's tour, each with the output that the page shows below it, if any."""
    steps: list[tuple[str, str | None]] = []
    for block in blocks(ROOT / "README.md"):
        if block.kind == "sh":
            steps.append((block.text, None))
        elif block.kind == "text" and steps:
            steps[-1] = (steps[-1][0], block.text)
    return steps


@pytest.mark.timeout(600)
def test_the_tour_of_the_readme_runs_as_written(tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    environment |= {"PENSTOCK_MASTER": "local[2]", "PENSTOCK_DRIVER_MEMORY": "1g", "PENSTOCK_FAST_START": "true", "COLUMNS": "120", "NO_COLOR": "1"}
    steps = tour()
    assert len(steps) >= 8
    for commands, shown in steps:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{commands}\n{done.stdout}{done.stderr}"
        if shown is not None:
            assert sorted(done.stdout.splitlines()) == sorted(shown.splitlines()), commands


def test_pages_made_from_code_are_current() -> None:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    stale = [name for name, page in generate.PAGES.items() if (DOCS / name).read_text(encoding="utf-8") != page()]
    assert stale == [], "run `make docs`"


def test_every_setting_error_and_exit_code_is_documented() -> None:
    settings, page = (DOCS / "settings.md").read_text(encoding="utf-8"), (DOCS / "errors.md").read_text(encoding="utf-8")
    assert [one.name for one in SETTINGS if f"`{one.name}`" not in settings] == []
    assert [code for code, _ in errors.EXIT_CODES if f"| {code} |" not in page] == []
    named = [name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, errors.PenstockError)]
    assert len(named) > 10
    assert [name for name in named if f"`{name}`" not in page] == []


def test_every_stage_has_its_page() -> None:
    assert [stage for stage in STAGES if not (DOCS / f"{stage}.md").read_text(encoding="utf-8").startswith(f"# {stage}:")] == []


def test_links_between_pages_lead_somewhere() -> None:
    broken, found = [], 0
    for page in PAGES:
        for target, heading in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8")):
            found += 1
            place = page.parent / target if target else page
            if not place.exists() or (heading and heading not in anchors(place)):
                broken.append(f"{page.relative_to(ROOT)}: {target}#{heading}")
    assert found > 10
    assert broken == []


def anchors(page: Path) -> set[str]:
    """What GitHub makes of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_newest_change_is_this_version() -> None:
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    version = re.search(r'^version = "([^"]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert version is not None
    assert newest[1] == version[1]
