"""What an expression says: its tokens, the functions it calls, the columns it names, the parts of a condition.

Scalars are the user's own text, and every answer is a place in it or a piece of it, so that what is not changed stays as written.
`parsed` gives one value for one text; a question is answered when it is first asked, and then known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from penstock.plan.expression.calls import Call, WindowCall, read_calls, read_partitions, read_window, texts
from penstock.plan.expression.columns import ColumnRef, is_keyword, not_expression, read_columns
from penstock.plan.expression.tokens import Token, matching, tokens
from penstock.plan.expression.words import AGGREGATES, GENERATORS

_COMPARED = ("<", ">", "<=", ">=", "!=", "<>")
_DIRECTION = ("asc", "desc", "nulls", "first", "last")


@lru_cache(maxsize=8192)
def parsed(text: str) -> Expression:
    """The expression that a text is; SyntaxFault, at the first question, for a string, name or comment that does not end."""
    return Expression(text)


def substitute(text: str, changes: Iterable[tuple[int, int, str]]) -> str:
    """`text` with each text[start:end] replaced by its new text; the places must not overlap."""
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def same(a: str, b: str) -> bool:
    """Whether two texts differ at most in spaces, comments and the case of unquoted words."""
    return a == b or parsed(a).words == parsed(b).words


@dataclass(frozen=True)
class Star:
    """`*` or `t.*`, with the columns that EXCEPT leaves out; both in lower case."""

    qualifier: str | None
    left_out: frozenset[str]


@dataclass(frozen=True)
class Expression:
    """One scalar text."""

    text: str

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        return tokens(self.text)

    @cached_property
    def words(self) -> tuple[tuple[str, str], ...]:
        """Its tokens by kind and text, unquoted words in lower case."""
        return tuple((token.kind, token.text.lower() if token.kind == "word" else token.text) for token in self.tokens)

    @cached_property
    def _skipped(self) -> frozenset[int]:
        return not_expression(self.tokens)

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """Every function call, outer before inner."""
        return read_calls(self.text, self.tokens, self._skipped)

    @cached_property
    def aggregates(self) -> tuple[Call, ...]:
        """The outermost aggregates that are not window functions; `sum(sum(x)) OVER ()` holds one, the inner sum."""
        taken: list[Call] = []
        for call in self.calls:
            if call.name in AGGREGATES and not call.over and not (taken and call.start < taken[-1].end):
                taken.append(call)
        return tuple(taken)

    @cached_property
    def columns(self) -> tuple[ColumnRef, ...]:
        """The columns that it names."""
        return read_columns(self.tokens, self._skipped)

    @cached_property
    def column(self) -> tuple[str, ...]:
        """The name of the one column that it is, in parts; none where it is more than a name."""
        refs = self.columns
        alone = len(refs) == 1 and self.text[refs[0].start : refs[0].end] == self.text.strip()
        return refs[0].parts if alone else ()

    @cached_property
    def window(self) -> WindowCall | None:
        """The first window() or session_window() in it."""
        return read_window(self.calls)

    @property
    def has_window_function(self) -> bool:
        """Whether anything in it is computed OVER a window of rows."""
        return any(call.over for call in self.calls)

    @cached_property
    def partitions(self) -> tuple[tuple[str, ...], ...]:
        """The PARTITION BY lists of its window functions; a window that has none gives an empty one."""
        return tuple(read_partitions(self.text, self.tokens))

    @cached_property
    def output_name(self) -> str | None:
        """The name Spark gives an item without alias when it is a column (`a.b` is b) or a time window; else None."""
        found = self.tokens
        if found and all(token.is_name if index % 2 == 0 else token.text == "." for index, token in enumerate(found)) and len(found) % 2:
            return None if len(found) == 1 and is_keyword(found, 0) else found[-1].value
        call = self.window
        whole = call is not None and (call.start, call.end) == (found[0].start, found[-1].end)
        return call.column if call is not None and whole else None

    @cached_property
    def star(self) -> Star | None:
        """The star that an item is; None where it is an expression."""
        found = self.tokens
        at = 2 if len(found) > 2 and found[0].is_name and found[1].text == "." else 0
        if len(found) <= at or found[at].text != "*" or (len(found) > at + 1 and not found[at + 1].is_word("except")):
            return None
        return Star(found[0].value.lower() if at else None, frozenset(token.value.lower() for token in found[at + 2 :] if token.is_name))

    @property
    def has_star(self) -> bool:
        """Whether a `*` in it stands for columns, as in `struct(*)`, and does not multiply."""
        return any(token.text == "*" and (not at or self.tokens[at - 1].text in ("(", ",", ".")) for at, token in enumerate(self.tokens))

    @property
    def has_subquery(self) -> bool:
        """Whether a SELECT stands in it, by the name that a plan gives it."""
        return any(token.kind == "word" and token.text.startswith("__sub_") for token in self.tokens)

    @property
    def has_comment(self) -> bool:
        """Whether anything but space stands between its tokens."""
        ends, starts = [0, *(token.end for token in self.tokens)], [*(token.start for token in self.tokens), len(self.text)]
        return any(self.text[low:high].strip() for low, high in zip(ends, starts, strict=True))

    @property
    def is_constant(self) -> bool:
        """Whether it names no column: Spark wants the separator of listagg() and the like to be so, and to stay so."""
        return not self.columns and not self.has_star

    @property
    def makes_rows(self) -> bool:
        """Whether it makes several rows of one."""
        return any(call.name in GENERATORS for call in self.calls)

    @property
    def is_generator(self) -> bool:
        """Whether all of it is the call of a function that makes several rows of one."""
        outermost = next(iter(self.calls), None)
        return outermost is not None and outermost.name in GENERATORS and (outermost.start, outermost.end) == (0, len(self.text))

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The texts between its commas outside brackets."""
        return texts(self.text, self.tokens, 0, len(self.tokens))

    @cached_property
    def conjuncts(self) -> tuple[str, ...]:
        """The parts of a condition that must all hold: split at top-level AND (not the AND of BETWEEN)."""
        parts, depth, start, between, cases = list[str](), 0, 0, 0, 0
        for token in self.tokens:
            depth += (token.text in "([") - (token.text in ")]") if token.kind == "op" else 0
            if depth:
                continue
            cases += token.is_word("case") - token.is_word("end")
            if token.is_word("or") and not cases:
                return (self.text.strip(),)
            if token.is_word("between"):
                between += 1
            elif token.is_word("and") and between:
                between -= 1
            elif token.is_word("and") and not cases:
                parts.append(self.text[start : token.start].strip())
                start = token.end
        return (*parts, self.text[start:].strip())

    @cached_property
    def equality(self) -> tuple[str, str] | None:
        """The two sides of `a = b`, brackets around it taken off; None where it is anything else."""
        text, depth, marks = self.unwrapped.text, 0, list[Token]()
        for token in self.unwrapped.tokens:
            depth += (token.text in "([") - (token.text in ")]") if token.kind == "op" else 0
            if depth == 0 and token.kind == "op" and token.text in ("=", "==", "<=>"):
                marks.append(token)
            elif depth == 0 and (token.is_word("or", "not", "and", "between", "case") or token.text in _COMPARED):
                return None
        return (text[: marks[0].start].strip(), text[marks[0].end :].strip()) if len(marks) == 1 else None

    @cached_property
    def unwrapped(self) -> Expression:
        """The same without the brackets around it; those of a subquery and of a row `(a, b)` are part of it."""
        found = self.tokens
        if len(found) > 2 and found[0].text == "(" and matching(found, 0) == len(found) - 1:
            inner = parsed(self.text[found[0].end : found[-1].start].strip())
            if len(inner.parts) == 1 and not inner.text.startswith("__sub_"):
                return inner.unwrapped
        return parsed(self.text.strip())

    @cached_property
    def direction(self) -> tuple[str, str]:
        """A sort key apart: the expression, and `DESC NULLS LAST` or whatever follows it."""
        mark = len(self.tokens)
        while mark and self.tokens[mark - 1].is_word(*_DIRECTION):
            mark -= 1
        while mark < len(self.tokens) and not self.tokens[mark].is_word("asc", "desc", "nulls"):
            mark += 1
        place = self.tokens[mark].start if mark < len(self.tokens) else len(self.text)
        return self.text[:place].strip(), self.text[place:].strip()
