"""Where an expression stands in a text: as it is written, or nearly so, with one qualifier more or less."""

from __future__ import annotations

from penstock.plan.expression.columns import is_call, is_keyword
from penstock.plan.expression.parsed import parsed
from penstock.plan.expression.tokens import Token, tokens

# How tightly Spark's operators bind, the loosest first; a word that is not here begins or ends a clause, any other sign binds tightest.
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("(", ")", "[", "]", ",", "->", "=>"),
    ("or",),
    ("and",),
    ("not", "!"),
    tuple("is in between like ilike rlike regexp escape = == <=> <> != < <= > >= !< !> | ^ & << >>>".split()),
    ("+", "-", "||"),
    ("*", "/", "%", "div"),
    ("collate", "over"),
)
_LEVEL = {sign: level for level, signs in enumerate(_LEVELS) for sign in signs}
_SUM, _TIGHTEST = 5, len(_LEVELS) - 1


def _words(text: str) -> list[str]:
    return [_word(token) for token in tokens(text)]


def _word(token: Token) -> str:
    return token.value.lower() if token.is_name else token.text


def occurrences(text: str, expression: str) -> list[tuple[int, int]]:
    """Where `expression` stands in `text`: a column by its name, with or without its qualifier; anything else word for word.

    A time window is found by its call and by the column name that Spark gives it.
    """
    return exact_occurrences(text, expression) + near_occurrences(text, expression)


def exact_occurrences(text: str, expression: str) -> list[tuple[int, int]]:
    """The same, a column only as it is written."""
    window = parsed(expression).window
    if window is None and parsed(expression).output_name is not None:
        return _mentions(text, _parts(expression), near=False)
    form, found = _words(expression), tokens(text)
    spans: list[tuple[int, int]] = []
    for at in range(len(found) - len(form) + 1):
        start, end = found[at].start, found[at + len(form) - 1].end
        if [_word(token) for token in found[at : at + len(form)]] == form and not any(start < done[1] and done[0] < end for done in spans):
            spans += [(start, end)] if _is_operand(found, at, at + len(form)) else []
    if window is not None:
        mentions = _mentions(text, (window.column,), near=False) + _mentions(text, (window.column,), near=True)
        spans += [(start, end) for start, end in mentions if not any(low <= start and end <= high for low, high in spans)]
    return spans


def _is_operand(found: tuple[Token, ...], low: int, high: int) -> bool:
    """Whether the tokens of a range are an operand where they stand: `a + b` is one in `a + b > 1`, and none in `1 - a + b`."""
    own, depth = _TIGHTEST + 1, 0
    for index in range(low, high):
        depth -= found[index].text in (")", "]") or found[index].is_word("end")
        own = own if depth else min(own, _level(found, index) or own)
        depth += found[index].text in ("(", "[") or found[index].is_word("case")
    if own > _TIGHTEST:
        return True  # without an operator it is one everywhere
    if low and (_ends_operand(found, low - 1) or _level(found, low - 1) >= own):
        return False
    if high == len(found) or found[high].text in ("(", "["):
        return high == len(found)
    after = _level(found, high)
    return after < own or (after == own and _SUM <= own < _TIGHTEST)  # of these Spark takes the left one first


def _level(found: tuple[Token, ...], index: int) -> int:
    """How tightly the operator at `index` binds; 0 where there is none."""
    token = found[index]
    if token.kind not in ("op", "word"):
        return 0
    if token.text in ("+", "-") and not (index and _ends_operand(found, index - 1)):
        return _TIGHTEST
    return _LEVEL.get(_word(token), _TIGHTEST if token.kind == "op" else 0)


def _ends_operand(found: tuple[Token, ...], index: int) -> bool:
    """Whether what stands at `index` is a value, so that a sign behind it has two operands."""
    token = found[index]
    if token.kind == "op":
        return token.text in (")", "]")
    return not token.is_name or token.is_word("end", "null", "true", "false") or is_call(found, index) or not is_keyword(found, index)


def near_occurrences(text: str, expression: str) -> list[tuple[int, int]]:
    """Where a column is named with a qualifier that `expression` lacks, or without the one that it has."""
    if parsed(expression).window is not None or parsed(expression).output_name is None:
        return []
    return _mentions(text, _parts(expression), near=True)


def _parts(column: str) -> tuple[str, ...]:
    return tuple(part.lower() for part in parsed(column).columns[0].parts)


def _mentions(text: str, column: tuple[str, ...], *, near: bool) -> list[tuple[int, int]]:
    """Where the column of these name parts is mentioned: `a.x` by `a.x`, nearly by `x`, never by `b.x`; `x` by `x` and nearly by `a.x`."""
    spans: list[tuple[int, int]] = []
    for ref in parsed(text).columns:
        parts = tuple(part.lower() for part in ref.parts)
        if parts[: len(column)] == column:
            length = 0 if near else len(column)
        elif len(column) == 2 and parts[0] == column[1]:
            length = 1 if near else 0
        else:
            length = 2 if near and len(column) == 1 and len(parts) > 1 and parts[1] == column[0] else 0
        if length:
            names = [token for token in tokens(text) if token.start >= ref.start and token.is_name][:length]
            spans.append((ref.start, names[-1].end))
    return spans
