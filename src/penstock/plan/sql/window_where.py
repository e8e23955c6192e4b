"""WHERE over a window function in FROM: a condition on the window is a condition on the group, and so belongs to HAVING.

FROM TUMBLE(TABLE t, ...) WHERE window_start >= x AND a > 1 GROUP BY window_start, window_end
FROM t WHERE a > 1 GROUP BY window(...) HAVING window.start >= x
"""

from __future__ import annotations

from penstock.plan.expression.parsed import parsed, same
from penstock.plan.expression.passage import Passage
from penstock.plan.expression.tokens import tokens
from penstock.plan.sql.window_functions import Windowed

Range = tuple[int, int]


def divided(passage: Passage, where: Range, timed: Windowed, groups: tuple[str, ...]) -> tuple[list[Range], list[Range]] | None:
    """The conjuncts of WHERE as ranges of tokens: those of the rows, those of the windows; None where one is of both."""
    rows: list[Range] = []
    windows: list[Range] = []
    at = where[0]
    for text in parsed(passage.slice(*where)).conjuncts:
        found = (at, at + len(tokens(text)))
        at = found[1] + 1  # over the AND
        if timed.rewritten(text) == text:
            rows.append(found)
        elif all(_of_group(ref, timed, groups) for ref in (text[ref.start : ref.end] for ref in parsed(text).columns)):
            windows.append(found)
        else:
            return None
    return rows, windows


def _of_group(column: str, timed: Windowed, groups: tuple[str, ...]) -> bool:
    return timed.rewritten(column) != column or any(same(column, group) for group in groups)
