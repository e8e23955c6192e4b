"""Finds functions whose answer is not made of the row: the clock and chance. A view with one is allowed, with a warning that explains it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.plan.expression.parsed import parsed
from penstock.plan.expression.tokens import tokens
from penstock.plan.expression.words import CHANCE, CLOCK, words
from penstock.plan.model.declare import View
from penstock.plan.model.findings import WARNING, Finding, Spot, placed
from penstock.plan.model.scopes import Placed

_CLOCK_WITHOUT_ARGUMENTS = words("unix_timestamp")
_BARE = words("current_timestamp current_date current_time localtimestamp localtime")


def fleeting(view: View, expressions: Iterable[Placed]) -> Iterator[Finding]:
    """The first such function of a view: one warning says it for all."""
    for expression in expressions:
        for name, spot in _called(expression):
            where, excerpt = placed(view, spot)
            if name in CHANCE:
                message = f"`{name}` gives another value each time: what a replay gives, or `verify` expects, will differ"
                hint = "make it of the row's own columns, e.g. hash(id)"
            else:
                message = f"`{name}` is asked when a row comes: rows are not judged again as time passes, and a replay or `verify` may differ"
                hint = "use the event time, or ask for the newest rows when you read the view"
            yield Finding(WARNING, "PlanFault", message, where, excerpt, hint)
            return


def _called(expression: Placed) -> Iterator[tuple[str, Spot]]:
    for call in parsed(expression.text).calls:
        if call.name in CLOCK | CHANCE or (call.name in _CLOCK_WITHOUT_ARGUMENTS and not call.args):
            yield call.name, expression.spot.part(call.start, call.end)
    found = tokens(expression.text)
    for index, token in enumerate(found):
        alone = not (index and found[index - 1].text == ".") and not (index + 1 < len(found) and found[index + 1].text in ("(", "."))
        named = index and found[index - 1].is_word("as")
        if token.is_word(*_BARE) and alone and not named and expression.scope.resolve((token.text,)) is None:
            yield token.text.lower(), expression.spot.part(token.start, token.end)
