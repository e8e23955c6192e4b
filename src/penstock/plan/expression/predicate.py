"""A condition that somebody gives at run time, over the columns of one view: an expression and nothing more."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from penstock.errors import PlanFault
from penstock.plan.expression.forbid import forbid
from penstock.plan.expression.parsed import parsed

_HINT = "give one condition over the view's columns, e.g. total > 100 AND country = 'PT'"


def predicate(text: str, columns: Sequence[str] = ()) -> str:
    """The condition as it was given, over the `columns` of a view, if they are known.

    PlanFault where it is more than a condition or names another column, ForbiddenFault where it reaches outside the app.
    """
    if not isinstance(text, str) or not text.strip():
        raise PlanFault(f"a condition is text, not {text!r}", hint=_HINT)
    found = parsed(text).tokens
    if not found or parsed(text).has_comment:
        raise PlanFault("a condition has no comments", hint=_HINT)
    for word in ("select", "over"):
        if any(token.is_word(word) for token in found):
            raise PlanFault(f"a condition has no {word.upper()}", hint=_HINT)
    if any(token.text == ";" for token in found):
        raise PlanFault("a condition ends without a semicolon", hint=_HINT)
    if parsed(text).aggregates or parsed(text).has_window_function:
        raise PlanFault("a condition is judged row by row: it has no aggregate", hint=_HINT)
    forbid(text)
    if columns and not any(token.text == "->" for token in found):  # the names of a function's own are columns of nothing
        _check_names(text, columns)
    return text


def _check_names(text: str, columns: Sequence[str]) -> None:
    known = {name.lower(): name for name in columns}
    for ref in parsed(text).columns:
        if len(ref.parts) == 1 and ref.parts[0].lower() not in known:
            near = difflib.get_close_matches(ref.parts[0].lower(), known, n=1, cutoff=0.65)
            hint = f"did you mean `{known[near[0]]}`?" if near else f"it has {', '.join(columns)}"
            raise PlanFault(f"the view has no column `{ref.parts[0]}`", hint=hint)
