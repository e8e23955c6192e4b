"""Writes the pages that come from the code: `python docs/generate.py`. A test compares them, so they cannot drift."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Protocol

from penstock import errors
from penstock.__main__ import program
from penstock.chaos.report import between_marks, kept, markdown, table, words
from penstock.cli import reference
from penstock.option import STREAM, TABLE
from penstock.settings import SETTINGS
from penstock.sink.options import SINKS, sink_options
from penstock.source.options import CONNECTORS_OF, options_of
from penstock.testing.conformance.clauses import SECTIONS

HERE = Path(__file__).parent


def settings_page() -> str:
    """Every setting, in the order of `penstock.settings.SETTINGS`."""
    rows = "\n".join(f"| `{one.name}` | {_shown(one.default)} | {one.help} |" for one in SETTINGS)
    return f"""# Settings

Values come from, weakest first: the default, `penstock.toml` in the app's folder, `PENSTOCK_<NAME>` in the environment,
and `--set name=value` on the command line. `penstock settings` prints them with their values. The unit is the last
word of a name that has one. An unknown name is an error with a suggestion; in the
environment, where others may have put it, a warning.

| name | default | what it is for |
|---|---|---|
{rows}
"""


def errors_page() -> str:
    """Every error class with its meaning and exit code, and every exit code."""
    tree = (errors.__doc__ or "").split("\n\n")[1]
    codes = "\n".join(f"| {code} | {meaning} |" for code, meaning in errors.EXIT_CODES)
    rows = "\n".join(f"| `{one.__name__}` | {one.exit_code} | {(one.__doc__ or '').splitlines()[0]} |" for one in error_classes())
    return f"""# Errors and exit codes

An error says what is wrong, where (file and line, the SQL underlined) and, in a last line that begins with `hint:`, what
to do next. It goes to stderr. A mistake in an app, its data or the command line never shows a stack trace.

| exit code | meaning |
|---|---|
{codes}

All of them are in `penstock.errors`, in one tree:

```text
{tree}
```

| class | exit code | meaning |
|---|---|---|
{rows}
"""


def conformance_page() -> str:
    """Every clause of row patterns with the query that the tests hold against its definition."""
    sections = []
    for section, clauses in SECTIONS.items():
        rows = "\n".join(f"| {_cell(clause.name)} | `{_cell(clause.sql)}` |" for clause in clauses)
        sections.append(f"## {section}\n\n| clause | query |\n|---|---|\n{rows}\n")
    tables = "\n".join(sections)
    return f"""# Conformance of row patterns

Each clause of [MATCH_RECOGNIZE](patterns.md) with a query, to be read behind `PARTITION BY k ORDER BY at`. `tests/promises/test_conformance.py`
runs all of them live, split at random into epochs, stopped and resumed, and in batch. The rows to expect come from a matcher that tries every way
of mapping rows in the order of preference, by the definition of the standard; conditions and measures are plain Python there.

{tables}"""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


class Option(Protocol):
    """What sources and sinks say of an option."""

    @property
    def name(self) -> str: ...
    @property
    def help(self) -> str: ...
    @property
    def required(self) -> bool: ...
    @property
    def default(self) -> str | None: ...
    @property
    def choices(self) -> tuple[str, ...]: ...
    @property
    def secret(self) -> bool: ...


_CONNECTORS_INTRO = """Options stand in `WITH (connector = '...', option = 'value')`, or in Python as arguments: `ps.Files("orders", format="json")`.
An option that is a secret may be `secret('name')`. Spans are written as `10 seconds`, times in ISO 8601.
"""
_TABLE_HEAD = ["", "| option | default | what it is for |", "|---|---|---|"]


def connectors_page() -> str:
    """Every option of every connector, for streams, tables and sinks."""
    parts = ["# Connectors and their options", "", _CONNECTORS_INTRO]
    for connector in dict.fromkeys(CONNECTORS_OF[STREAM] + CONNECTORS_OF[TABLE]):
        kinds = [kind for kind in (STREAM, TABLE) if connector in CONNECTORS_OF[kind]]
        parts += [f"## {connector}, as a {' or a '.join(kinds)}", *_TABLE_HEAD]
        options = {option.name: option for kind in kinds for option in options_of(kind, connector)}
        for option in options.values():
            parts += _option_row(option, "" if all(kind in option.on for kind in kinds) else f" ({' and '.join(option.on)}s only)")
        parts.append("")
    for connector, sink in SINKS.items():
        parts += [f"## {connector}, as a sink", "", f"Delivers {' or '.join((f'{sink.promises[0]} (default)', *sink.promises[1:]))}.", *_TABLE_HEAD]
        parts += [row for option in sink_options(connector) for row in _option_row(option, "")]
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"


def _option_row(option: Option, only: str) -> list[str]:
    """One row; none for `connector`, which every heading names."""
    default = "required" if option.required else "" if option.default is None else f"`{option.default}`"
    choices = f": {', '.join(f'`{choice}`' for choice in option.choices)}" if option.choices else ""
    note = f"{choices}{only}{' (secret)' if option.secret else ''}"
    return [] if option.name == "connector" else [f"| `{option.name}` | {default} | {option.help}{note} |"]


def error_classes() -> list[type[errors.PenstockError]]:
    """The classes of the tree, in the order of the file."""
    found = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, errors.PenstockError)]
    return [one for one in found if one.__module__ == errors.__name__]


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value}`" if value != "" else "empty"


def cli_page() -> str:
    """Every verb's own help."""
    return reference.page(program())


def guarantees_page() -> str:
    """The page as it is, with the figures of the runs of chaos that are kept beside it."""
    runs = kept(HERE / "chaos.json")
    placed = between_marks((HERE / "guarantees.md").read_text(encoding="utf-8"), markdown(table(runs), words(runs)))
    assert placed is not None
    return placed


PAGES = {
    "settings.md": settings_page,
    "errors.md": errors_page,
    "connectors.md": connectors_page,
    "cli.md": cli_page,
    "conformance.md": conformance_page,
    "guarantees.md": guarantees_page,
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")
        sys.stderr.write(f"wrote docs/{name}\n")
