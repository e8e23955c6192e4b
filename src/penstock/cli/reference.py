"""The page docs/cli.md, made from the commands themselves: `python -m penstock.cli.reference > docs/cli.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from typer.main import get_command
from typer.testing import CliRunner

from penstock.cli import app
from penstock.errors import EXIT_CODES

_HEAD = """\
# The command line

<!-- Made by `python -m penstock.cli.reference`; a test keeps it true. -->

Data goes to stdout, everything else (progress, logs, errors) to stderr. `--json` prints JSON lines wherever a program may read the answer:
timestamps ISO 8601 in UTC, decimals as strings. `NO_COLOR` turns colours off.

An error says what is wrong, where (file and line, the SQL underlined) and what to do next. An error of Penstock's own is one line,
`internal error: ...`, and its trace is in `logs/penstock.log` of the state folder.

## Exit codes

| code | meaning |
|---:|---|
"""


def page() -> str:
    """The whole page."""
    codes = "".join(f"| {code} | {meaning} |\n" for code, meaning in EXIT_CODES)
    return _HEAD + codes + "".join(f"\n## {' '.join(['penstock', *verb])}\n\n```text\n{help_of(verb)}```\n" for verb in verbs())


def verbs() -> Iterator[tuple[str, ...]]:
    """The command itself, then every verb, those of a group after it."""
    yield ()
    for name, command in get_command(app()).commands.items():  # type: ignore[attr-defined]
        yield (name,)
        yield from ((name, below) for below in getattr(command, "commands", {}))


def help_of(verb: tuple[str, ...]) -> str:
    """What `penstock VERB --help` prints, without the exit codes that the page lists once."""
    printed = CliRunner().invoke(app(), [*verb, "--help"], prog_name="penstock", env={"COLUMNS": "100", "NO_COLOR": "1"}, terminal_width=100)
    text, _, _ = printed.output.partition("Exit codes:")
    return text.rstrip() + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
