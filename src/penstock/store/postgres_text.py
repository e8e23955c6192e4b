r"""What no text of Postgres can hold of a row as Spark writes it: the character NUL (`\u0000` in JSON).

Rows that are written are put right here, in Python, where those that have nothing of it cost nothing; rows of the results store are put
right in SQL, when they are looked at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence

from psycopg import sql

NUL = "\\u0000"
_AT_ONCE = 1000
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def readable(lines: Sequence[str], key: Collection[str]) -> Iterator[str]:
    """The rows as Postgres reads them; `key` names the columns of the key."""
    for start in range(0, len(lines), _AT_ONCE):
        some = lines[start : start + _AT_ONCE]
        yield from some if NUL not in "".join(some) else (without_nul(line, key) for line in some)


def without_nul(line: str, key: Collection[str] = ()) -> str:
    """The row without NUL; but in the columns of the key its symbol, U+2400, stands for it: left out, it could make two keys one."""
    if NUL not in line:
        return line
    if key:
        folded, values = {name.lower() for name in key}, json.loads(line)
        shown = {name: json.loads(_NUL.sub(r"\1\\u2400", json.dumps(value))) for name, value in values.items() if name.lower() in folded}
        line = json.dumps(values | shown)
    return _NUL.sub(r"\1", line)


def sql_without_nul(line: sql.Composable) -> sql.Composed:
    """An expression that is the row `line` without NUL."""
    return sql.SQL("CASE WHEN strpos({line}, {nul}) > 0 THEN regexp_replace({line}, {pattern}, {rest}, 'g') ELSE {line} END").format(
        line=line, nul=sql.Literal(NUL), pattern=sql.Literal(_NUL.pattern), rest=sql.Literal(r"\1")
    )
