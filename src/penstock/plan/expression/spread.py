"""Items and clauses that give several columns: LATERAL VIEW, and `posexplode(tags) AS (i, tag)`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from penstock.plan.expression.parsed import parsed
from penstock.plan.expression.tokens import matching, tokens


@dataclass(frozen=True)
class LateralView:
    """The parts of `LATERAL VIEW [OUTER] call table AS columns`; `call` begins at text[start]."""

    call: str
    start: int
    table: str | None
    columns: tuple[str, ...]


def lateral_view(text: str) -> LateralView:
    """The parts of a LATERAL VIEW."""
    head = re.match(r"\s*(lateral\s+view\s+(outer\s+)?)?", text, re.IGNORECASE)
    begin = head.end() if head else 0
    call = next(iter(parsed(text[begin:]).calls), None)
    end = begin + (call.end if call is not None else 0)
    words = [token for token in tokens(text[end:]) if token.is_name]
    mark = next((index for index, token in enumerate(words) if token.is_word("as")), None)
    table = words[0].value if words and mark != 0 else None
    columns = () if mark is None else tuple(token.value for token in words[mark + 1 :])
    return LateralView(text[begin:end], begin, table, columns)


def spread(text: str) -> tuple[str, tuple[str, ...]]:
    """`posexplode(tags) AS (i, tag)` apart: the expression, and the names of the columns it gives; no names for any other item."""
    found = tokens(text)
    pairs = enumerate(pairwise(found))
    mark = next((index for index, (token, after) in pairs if token.is_word("as") and after.text == "("), 0)
    if not mark or found[-1].text != ")" or matching(found, mark + 1) != len(found) - 1:
        return text, ()
    return text[: found[mark].start].rstrip(), tuple(token.value for token in found[mark + 2 : -1] if token.is_name)
