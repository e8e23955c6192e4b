"""WHERE over a window function in FROM: what it says of the window is said of the group, and so belongs to HAVING.

FROM TUMBLE(TABLE t, ...) WHERE window_start >= x AND a > 1 GROUP BY window_start, window_end
FROM t WHERE a > 1 GROUP BY window(...) HAVING window.start >= x
"""

from __future__ import annotations

from penstock.plan.columns import column_refs
from penstock.plan.grammar import tokens
from penstock.plan.passage import Passage
from penstock.plan.scalar import same
from penstock.plan.terms import conjuncts
from penstock.plan.tumble import Windowed

Range = tuple[int, int]


def divided(passage: Passage, where: Range, timed: Windowed, groups: tuple[str, ...]) -> tuple[list[Range], list[Range]] | None:
    """The conjuncts of WHERE as ranges of tokens: those of the rows, those of the windows; None where one is of both."""
    rows: list[Range] = []
    windows: list[Range] = []
    at = where[0]
    for text in conjuncts(passage.slice(*where)):
        found = (at, at + len(tokens(text)))
        at = found[1] + 1  # over the AND
        if timed.rewritten(text) == text:
            rows.append(found)
        elif all(_of_group(ref, timed, groups) for ref in (text[ref.start : ref.end] for ref in column_refs(text))):
            windows.append(found)
        else:
            return None
    return rows, windows


def _of_group(column: str, timed: Windowed, groups: tuple[str, ...]) -> bool:
    return timed.rewritten(column) != column or any(same(column, group) for group in groups)
