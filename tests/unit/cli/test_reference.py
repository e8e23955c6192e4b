"""docs/cli.md is what the commands say of themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.__main__ import program
from penstock.cli import reference
from penstock.errors import EXIT_CODES

PAGE = Path(__file__).parents[3] / "docs" / "cli.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference.page(program()), "make it again: make docs"


def test_every_verb_is_on_the_page() -> None:
    verbs = {" ".join(verb) for verb in reference.verbs(program())}
    assert {"new", "demo", "check", "explain", "run", "batch", "peek", "sql", "graph", "broker start", "produce", "bench", "settings"} <= verbs
    text = PAGE.read_text(encoding="utf-8")
    assert [verb for verb in verbs if f"## penstock {verb}".strip() not in text] == []


def test_every_exit_code_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [code for code, meaning in EXIT_CODES if f"| {code} | {meaning} |" not in text] == []


@pytest.mark.parametrize("verb", list(reference.verbs(program())), ids=" ".join)
def test_every_verb_explains_itself_and_its_exit_codes(verb: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(program(), [*verb, "--help"], prog_name="penstock", env={"COLUMNS": "200", "NO_COLOR": "1"}, terminal_width=200)
    assert shown.exit_code == 0
    assert shown.stdout.startswith(f"Usage: {' '.join(['penstock', *verb])} ")
    assert [meaning for _, meaning in EXIT_CODES if meaning not in shown.stdout] == []
    assert shown.stderr == ""
