"""Forms that Penstock reads itself and Spark does not know: they cannot stand in a query that is handed over as it was written."""

from __future__ import annotations

from penstock.errors import PlanFault
from penstock.plan.expression.passage import Passage
from penstock.plan.sql import match_recognize
from penstock.plan.sql.from_clause import NO_ALIAS
from penstock.plan.sql.operators import MAP_BATCHES
from penstock.plan.sql.window_functions import WINDOW_FUNCTIONS


def refuse_own_forms(passage: Passage, low: int, high: int, beside: str) -> None:
    """PlanFault if TUMBLE(...), STREAM or WATERMARK stands between two tokens, together with what only Spark reads."""
    for index in range(low, high):
        form = _form(passage, index, high)
        if form is not None:
            hint = f"read it in a WITH of its own: WITH w AS (SELECT * FROM {form}) SELECT ... FROM w, and {beside} there"
            raise passage.fault(f"{form} and {beside} do not go together in one SELECT", index, index + 1, hint, PlanFault)


def _form(passage: Passage, index: int, high: int) -> str | None:
    """What to call the form that begins at a token, if one does."""
    name = passage.tokens[index].text
    opens = passage.is_op(index + 1, high, "(")
    in_from = index > 0 and passage.word(index - 1, high, "from", "join")
    if passage.word(index, high, *WINDOW_FUNCTIONS) and opens:
        listed = index > 0 and (passage.is_op(index - 1, high, ",") or passage.is_op(index - 1, high, "("))
        return f"{name.upper()}(...)" if in_from or listed else None
    if passage.word(index, high, MAP_BATCHES) and opens:
        return f"{MAP_BATCHES}(...)"
    if passage.word(index, high, match_recognize.WORD) and opens:
        return "t MATCH_RECOGNIZE (...)"
    if passage.word(index, high, "watermark") and passage.word(index + 2, high, "delay") and passage.word(index + 3, high, "of"):
        return "a stream WATERMARK ... DELAY OF ..."
    if passage.word(index, high, "stream") and in_from and (opens or _names_relation(passage, index + 1, high)):
        return f"STREAM {passage.tokens[index + 1 + opens].text}"
    return None


def _names_relation(passage: Passage, index: int, high: int) -> bool:
    return index < high and passage.tokens[index].is_name and not passage.word(index, high, *NO_ALIAS)
