"""Finds what is wrong with an expression that stands in a declaration: a computed column, or a generator's option.

It sees the columns of one record and nothing else: no other row, no other relation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from penstock.errors import UserError, Where
from penstock.plan.check.names import ARGUMENTS_HINT, miscount
from penstock.plan.expression import functions
from penstock.plan.expression.forbid import forbid
from penstock.plan.expression.foreign import require_operands
from penstock.plan.expression.grammar import validate_select
from penstock.plan.expression.parsed import parsed
from penstock.plan.expression.passage import Passage
from penstock.plan.expression.tokens import tokens
from penstock.plan.model.findings import ERROR, Finding, from_error
from penstock.plan.model.resolve import closest


def expression_findings(name: str, text: str, columns: Sequence[str], where: Where | None) -> Iterator[Finding]:
    """Everything that is wrong with the expression `text` of the column `name`, which may name `columns`."""
    try:
        forbid(text, where)
    except UserError as error:
        yield from_error(error, where)
        return
    if parsed(text).aggregates or any(token.is_word("select", "over") for token in tokens(text)) or _holds_query(Passage(text)):
        hint = "aggregates and subqueries belong into a view"
        yield Finding(ERROR, "PlanFault", f"{name}: a column is computed from its own record alone", where, hint=hint)
        return
    wrong = _malformed(text)
    if wrong is not None:
        yield Finding(ERROR, "SyntaxFault", f"{name}: `{text}` is not an expression: {wrong}", where, hint="it is one value, in Spark's SQL")
        return
    yield from _unknown_functions(name, text, where)
    yield from _unknown_columns(name, text, columns, where)


def _holds_query(passage: Passage) -> bool:
    """Whether a query without SELECT stands in it: (TABLE t), (FROM t), (VALUES (1)), (WITH ...); or is all of it."""
    high = len(passage.tokens)
    return any(
        passage.word(index, high, "table", "from", "values", "with")
        and (index == 0 or (passage.is_op(index - 1, high, "(") and not (index > 1 and passage.tokens[index - 2].is_name)))
        and (passage.tokens[index + 1].kind != "op" or passage.is_op(index + 1, high, "("))
        for index in range(high - 1)
    )


def _malformed(text: str) -> str | None:
    """Why a text is not one expression; None where it is."""
    passage = Passage(f"({text}\n)")
    try:
        high = len(passage.tokens)
        if high == 2:
            return "it is empty"
        require_operands(passage, 0, high)
        if passage.close(0, high) != high - 1:
            return "a bracket is closed that was never opened"
        validate_select(f"SELECT {passage.text}")
    except UserError as error:
        return error.message.rpartition(": ")[2]
    beside = next((after for before, after in pairwise(parsed(text).columns) if not text[before.end : after.start].strip()), None)
    if beside is not None:
        return f"something is missing before `{text[beside.start : beside.end]}`"
    return None


def _unknown_functions(name: str, text: str, where: Where | None) -> Iterator[Finding]:
    for call in parsed(text).calls:
        if not functions.known(call.name):
            near = functions.near(call.name)
            hint = f"did you mean `{near}`?" if near else "every function of Spark SQL may be used"
            yield Finding(ERROR, "NameFault", f"{name}: there is no function `{call.name}`", where, hint=hint)
        wrong = miscount(call)
        if wrong is not None:
            yield Finding(ERROR, "TypeFault", f"{name}: {wrong}", where, hint=ARGUMENTS_HINT)


def _unknown_columns(name: str, text: str, columns: Sequence[str], where: Where | None) -> Iterator[Finding]:
    known = {column.lower() for column in columns}
    for ref in parsed(text).columns:
        if ref.parts[0].lower() not in known:
            near = closest(ref.parts[0], columns)
            hint = f"did you mean `{near}`?" if near else f"there are: {', '.join(columns)}"
            yield Finding(ERROR, "NameFault", f"{name}: its record has no column `{ref.parts[0]}`", where, hint=hint)
