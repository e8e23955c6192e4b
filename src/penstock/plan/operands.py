"""Operands that are missing where sqlglot, which is asked whether a SELECT is well formed, sees nothing wrong.

It reads `a > > 5` as a shift and `f(a,, b)` as `f(a, b)`; Spark refuses both.
"""

from __future__ import annotations

from penstock.plan.passage import Passage

_NESTED = ("array", "map", "struct")


def require_operands(passage: Passage, low: int, high: int) -> None:
    """SyntaxFault for two marks in a row that want something between them."""
    angles = 0  # of types, whose closing ones may follow one another: ARRAY<ARRAY<INT> >
    for index in range(low, high - 1):
        text, after = passage.tokens[index].text, passage.tokens[index + 1].text
        opens = passage.is_op(index, high, "<") and passage.word(index - 1, high, *_NESTED)
        torn = text == after == ">" and angles < 2 and passage.tokens[index].end < passage.tokens[index + 1].start
        if torn or (passage.is_op(index, high, ",") and after in (",", ")", "]")):
            raise passage.fault("something is missing between these two", index, index + 2, "is one of them too many?")
        angles = max(0, angles + opens - passage.is_op(index, high, ">"))
