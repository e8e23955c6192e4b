r"""What Postgres does not read in a row as Spark writes it: the character NUL (`\u0000` in JSON), which no text there can hold, and years
that are not of four digits: beyond 9999 they have a sign, and those before the year 1 are numbers below it.

Rows that are written are put right here, in Python, where those that have nothing of it cost nothing; rows of the results store are put
right in SQL, when they are looked at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence

from psycopg import sql

LATEST_YEAR = {"date": 5874897, "timestamp with time zone": 294276, "timestamp without time zone": 294276}
_EARLIEST_YEAR = -4712
NUL = "\\u0000"
_SIGNS = ('"+', '"-', '"0000-')
_ODD_YEAR = re.compile(r'"(?:[+-]\d{4,}|0000)-\d\d-\d\d')
_AT_ONCE = 1000
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
_YEAR = re.compile(r"([+-]?\d+)(-.*)", re.DOTALL)


def readable(lines: Sequence[str], key: Collection[str], dated: Collection[str]) -> Iterator[str]:
    """The rows as Postgres reads them; `dated` names the columns of dates and times, `key` those of the key."""
    for start in range(0, len(lines), _AT_ONCE):
        some = lines[start : start + _AT_ONCE]
        text = "".join(some)
        if NUL in text or (dated and any(sign in text for sign in _SIGNS)):
            some = [_put_right(line, key, dated) for line in some]
        yield from some


def _put_right(line: str, key: Collection[str], dated: Collection[str]) -> str:
    if dated and _ODD_YEAR.search(line):
        values = json.loads(line)
        line = json.dumps(values | {name: _as_dated(values[name]) for name in dated if values[name] is not None})
    return without_nul(line, key)


def without_nul(line: str, key: Collection[str] = ()) -> str:
    """The row without NUL; but in the columns of the key its symbol, U+2400, stands for it: left out, it could make two keys one."""
    if NUL not in line:
        return line
    if key:
        folded, values = {name.lower() for name in key}, json.loads(line)
        shown = {name: json.loads(_NUL.sub(r"\1\\u2400", json.dumps(value))) for name, value in values.items() if name.lower() in folded}
        line = json.dumps(values | shown)
    return _NUL.sub(r"\1", line)


def _as_dated(text: str) -> str:
    found = _YEAR.fullmatch(text)
    if found is None:
        return text
    year = int(found[1])
    return f"{year:04}{found[2]}" if year > 0 else f"{1 - year:04}{found[2]} BC"


def sql_without_nul(line: sql.Composable) -> sql.Composed:
    """An expression that is the row `line` without NUL."""
    return sql.SQL("CASE WHEN strpos({line}, {nul}) > 0 THEN regexp_replace({line}, {pattern}, {rest}, 'g') ELSE {line} END").format(
        line=line, nul=sql.Literal(NUL), pattern=sql.Literal(_NUL.pattern), rest=sql.Literal(r"\1")
    )


def in_bounds(text: sql.Composable, kind: str) -> sql.Composed:
    """An expression that is the date or time `text` as the Postgres type `kind` reads it.

    What is later or earlier than that can hold is infinitely so: else one such row would keep all others from being read.
    """
    return sql.SQL(
        "(CASE WHEN left({text}, 1) IN ('+', '-') OR left({text}, 5) = '0000-' THEN"
        " CASE WHEN {year}::int > {latest} THEN 'infinity' WHEN {year}::int < {earliest} THEN '-infinity'"
        " WHEN {year}::int <= 0 THEN lpad((1 - {year}::int)::text, 4, '0') || substr({text}, length({year}) + 1) || ' BC'"
        " ELSE ltrim({text}, '+') END ELSE {text} END)"
    ).format(
        text=text,
        year=sql.SQL("substring({} FROM '^[+-]?[0-9]+')").format(text),
        latest=sql.Literal(LATEST_YEAR[kind]),
        earliest=sql.Literal(_EARLIEST_YEAR),
    )
