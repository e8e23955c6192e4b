"""The page docs/cli.md, made from the commands themselves by `make docs`."""

from __future__ import annotations

from collections.abc import Iterator

import typer
from typer.main import get_command
from typer.testing import CliRunner

from penstock.errors import EXIT_CODES

_HEAD = """\
# The command line

<!-- Made by `make docs`; a test keeps it true. -->

Data goes to stdout, everything else (progress, logs, errors) to stderr. `--json` prints JSON lines wherever a program may read the answer:
timestamps ISO 8601 in UTC, decimals as strings. `NO_COLOR` turns colours off.

An error says what is wrong, where (file and line, the SQL underlined) and what to do next. An error of Penstock's own is one line,
`internal error: ...`, and its trace is in `logs/penstock.log` of the state folder.

## Exit codes

| code | meaning |
|---:|---|
"""


def page(program: typer.Typer) -> str:
    """The whole page about `program`."""
    codes = "".join(f"| {code} | {meaning} |\n" for code, meaning in EXIT_CODES)
    return _HEAD + codes + "".join(f"\n## {' '.join(['penstock', *verb])}\n\n```text\n{help_of(program, verb)}```\n" for verb in verbs(program))


def verbs(program: typer.Typer) -> Iterator[tuple[str, ...]]:
    """The command itself, then every verb, those of a group after it."""
    yield ()
    for name, command in get_command(program).commands.items():  # type: ignore[attr-defined]
        yield (name,)
        yield from ((name, below) for below in getattr(command, "commands", {}))


def help_of(program: typer.Typer, verb: tuple[str, ...]) -> str:
    """What `penstock VERB --help` prints, without the exit codes that the page lists once."""
    printed = CliRunner().invoke(program, [*verb, "--help"], prog_name="penstock", env={"COLUMNS": "100", "NO_COLOR": "1"}, terminal_width=100)
    text, _, _ = printed.output.partition("Exit codes:")
    return text.rstrip() + "\n"
