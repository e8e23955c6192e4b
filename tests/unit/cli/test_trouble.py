"""Errors say what, where and what next; never a stack trace."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from penstock import cli
from penstock.cli import trouble
from penstock.errors import EXIT_CODES, NameFault, PenstockError, SourceError, StateError, ToolError, Where


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_an_error_shows_its_place_the_line_and_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    trouble.show(
        NameFault("there is no column `nam`", where=Where("a.sql", 3), excerpt="    3 | SELECT nam\n               ^^^", hint="did you mean `name`?")
    )
    assert capsys.readouterr().err.splitlines() == [
        "error: a.sql:3: there is no column `nam`",
        "    3 | SELECT nam",
        "               ^^^",
        "hint: did you mean `name`?",
    ]


def test_on_a_terminal_the_words_are_the_same_in_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    out = Terminal()
    trouble.show_finding("warning", "[bold] is text, not markup", Where("a.sql", 1), None, "look", to=out)
    assert "\x1b[" in out.getvalue()
    assert "[bold] is text, not markup" in out.getvalue()


@pytest.mark.parametrize("error", [NameFault("x"), SourceError("x"), StateError("x"), ToolError("x")])
def test_an_error_ends_the_command_with_its_exit_code(
    error: PenstockError, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_args: object) -> None:
        raise error

    monkeypatch.setattr("penstock.cli.new.write_new", fails)
    with pytest.raises(SystemExit) as ended:
        cli.main(["new", str(tmp_path / "app")])
    assert ended.value.code == error.exit_code
    assert error.exit_code in dict(EXIT_CODES)
    assert capsys.readouterr().err == "error: x\n"


def test_any_other_exception_is_one_line_and_exit_code_5(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fails(*_args: object) -> None:
        raise KeyError("surprise")

    monkeypatch.setattr("penstock.cli.new.write_new", fails)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        cli.main(["new", str(tmp_path / "app")])
    assert ended.value.code == 5
    printed = capsys.readouterr().err
    assert printed.startswith("internal error: KeyError: 'surprise' (the trace is in ")
    assert printed.count("\n") == 1
    trace = Path(printed.rsplit(" ", 1)[1].rstrip(")\n"))
    assert "Traceback" in trace.read_text()


def test_a_wrong_command_line_is_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["no-such-verb"], ["run"], ["peek", "app", "name", "-n", "none"]):
        with pytest.raises(SystemExit) as ended:
            cli.main(arguments)
        assert ended.value.code == 2
    assert "Traceback" not in capsys.readouterr().err
