"""Rows on the terminal: JSON lines for programs, a table for people, plain aligned text where there is no terminal."""

from __future__ import annotations

import itertools
import json
import logging
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import typer

from penstock.change import Rows
from penstock.schema import Schema

log = logging.getLogger("penstock.source")
# Widths are taken from the first rows, so that a large result streams instead of being held.
_ROWS_MEASURED = 500
_CELL_CHARS_MAX = 120


def print_json(rows: Rows, view: str | None = None) -> int:
    """One JSON object per row; with `view`, wrapped with the view's name. Gives the number of rows."""
    count = 0
    with _quiet_pipe():
        for line in rows.lines:
            sys.stdout.write(line + "\n" if view is None else f'{{"view": {json.dumps(view)}, "row": {line}}}\n')
            count += 1
        sys.stdout.flush()
    report_set_aside(rows)
    return count


def print_table(rows: Rows, title: str | None = None) -> int:
    """A table of all rows; gives their number."""
    lines = iter(rows.lines)
    first = [cells(line, rows.schema) for line in itertools.islice(lines, _ROWS_MEASURED)]
    extra = next(lines, None)
    with _quiet_pipe():
        if extra is None and sys.stdout.isatty():
            _print_rich(rows.schema, first, title)
            report_set_aside(rows)
            return len(first)
        rest = () if extra is None else (cells(line, rows.schema) for line in itertools.chain([extra], lines))
        if title:
            sys.stdout.write(f"{title}\n")
        count = 0
        for text in plain(rows.schema, first, rest):
            sys.stdout.write(text + "\n")
            count += 1
        sys.stdout.flush()
    report_set_aside(rows)
    return count - 2


def report_set_aside(rows: Rows) -> None:
    """One warning for each stream or table of which records are not in the rows; DataFault where not one could be read."""
    for found in rows.dead():
        number = "1 record was" if found.count == 1 else f"{found.count:,} records were"
        hint = f"; `penstock dead APP {found.source}` lists them, `penstock infer` proposes a declaration that fits a file or topic"
        log.warning("`%s`: %s set aside; the first: %s%s", found.source, number, found.first, "" if found.of_function else hint)


def plain(schema: Schema, measured: list[list[str]], rest: Iterable[list[str]] = ()) -> Iterator[str]:
    """Header, rule and rows as aligned text; numbers stand to the right."""
    from rich.cells import cell_len

    widths = [max([cell_len(name), *(cell_len(row[i]) for row in measured)]) for i, name in enumerate(schema.names)]
    right = [column.family == "number" for column in schema]

    def line(row: Iterable[str]) -> str:
        padded = []
        for text, width, to_right in zip(row, widths, right, strict=True):
            gap = " " * max(0, width - cell_len(text))
            padded.append(gap + text if to_right else text + gap)
        return "  ".join(padded).rstrip()

    yield line(visible(name) for name in schema.names)
    yield "  ".join("-" * width for width in widths)
    yield from (line(row) for row in itertools.chain(measured, rest))


def cells(line: str, schema: Schema) -> list[str]:
    """The values of one row as text, in the order of the columns."""
    row = json.loads(line)
    return [shown(row.get(name)) for name in schema.names]


def shown(value: object) -> str:
    """One value for people: NULL, windows as `start .. end`, nested values as JSON, nothing that could move the cursor."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict) and set(value) == {"start", "end"}:
        return f"{shown(value['start'])} .. {shown(value['end'])}"
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else str(value)
    if text.endswith(".000Z"):
        text = text[:-5] + "Z"
    text = visible(text)
    return text if len(text) <= _CELL_CHARS_MAX else text[: _CELL_CHARS_MAX - 1] + "…"


def visible(text: str) -> str:
    """Control characters escaped: data must not be able to drive the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _print_rich(schema: Schema, measured: list[list[str]], title: str | None) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for column in schema:
        number = column.family == "number"
        table.add_column(Text(visible(column.name)), justify="right" if number else "left", overflow="fold")
    for row in measured:
        table.add_row(*(Text(text, style="dim" if text == "NULL" else "") for text in row))
    Console(highlight=False).print(table)


@contextmanager
def _quiet_pipe() -> Iterator[None]:
    """A reader that closes the pipe early (`| head`) has what it wanted: the verb ends well."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
