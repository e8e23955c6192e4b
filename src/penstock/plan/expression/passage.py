"""A stretch of the user's file as tokens: slices of the text as written, places for errors, and where clauses begin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from penstock.errors import SyntaxFault, UserError, Where, underline
from penstock.plan.expression.tokens import Token, tokens
from penstock.plan.expression.words import NOT_COLUMNS, words

_OPENERS = NOT_COLUMNS - words("null true false end asc desc") | words("on having using join qualify")
_BEFORE_ALL = ("select", "union", "intersect", "except", "minus")


@dataclass(frozen=True)
class Passage:
    """A whole file; ranges of it are pairs of token indexes, the second exclusive."""

    text: str
    file: str = "SQL"
    first_line: int = 1

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        try:
            return tokens(self.text)
        except SyntaxFault as fault:
            where = fault.where or Where(self.file, 1)
            place = Where(self.file, where.line + self.first_line - 1, where.column)
            start = sum(len(line) for line in self.text.splitlines(keepends=True)[: where.line - 1]) + where.column - 1
            raise SyntaxFault(fault.message, where=place, excerpt=underline(self.text, start, start + 1, self.first_line), hint=fault.hint) from None

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """For each token how many brackets are open before it; a bracket counts as outside itself."""
        found: list[int] = []
        depth = 0
        for token in self.tokens:
            if token.kind == "op" and token.text in (")", "]", "}"):
                depth -= 1
            found.append(depth)
            if token.kind == "op" and token.text in ("(", "[", "{"):
                depth += 1
        return tuple(found)

    def slice(self, low: int, high: int) -> str:
        """The text of a range as written, without comments before and after it."""
        return self.text[self.tokens[low].start : self.tokens[high - 1].end] if high > low else ""

    def word(self, index: int, high: int, *words: str) -> bool:
        return index < high and self.tokens[index].is_word(*words)

    def is_op(self, index: int, high: int, text: str) -> bool:
        return index < high and self.tokens[index].kind == "op" and self.tokens[index].text == text

    def close(self, opening: int, high: int) -> int:
        """The index of the bracket that closes the one at `opening`."""
        for index in range(opening + 1, high):
            if self.depths[index] == self.depths[opening]:
                return index
        raise self.fault("this bracket is never closed", opening, opening + 1, "add the missing bracket")

    def split(self, low: int, high: int, separator: str = ",") -> list[tuple[int, int]]:
        """The ranges between separators outside brackets; an empty one is a fault."""
        parts: list[tuple[int, int]] = []
        begin = low
        for index in [*(i for i in self.top(low, high) if self.is_op(i, high, separator)), high]:
            if index == begin:
                raise self.fault("something is missing here", min(index, high - 1), min(index, high - 1) + 1, f"is there a `{separator}` too many?")
            parts.append((begin, index))
            begin = index + 1
        return parts

    def top(self, low: int, high: int) -> Iterator[int]:
        """The indexes of a range outside brackets opened in it."""
        base = self.depths[low] if low < high else 0
        return (index for index in range(low, high) if self.depths[index] == base)

    def opens_clause(self, index: int) -> bool:
        """Whether a keyword at `index` can begin a clause: it does not stand where an operand must (`SELECT offset, limit`)."""
        if index == 0:
            return True
        before, earlier = self.tokens[index - 1], self.tokens[index - 2] if index > 1 else None
        if before.kind == "op":
            return before.text in (")", "]", "}", "*", ";") or before.text == "("
        if earlier is not None and earlier.text == ".":
            return True  # `t.order` is a column, whatever it is called
        if before.is_word("all"):  # GROUP BY ALL is complete, UNION ALL is not
            return earlier is None or not earlier.is_word(*_BEFORE_ALL)
        return not before.is_word(*_OPENERS)

    def where(self, index: int) -> Where:
        if not self.tokens:
            return Where(self.file, self.first_line)
        token = self.tokens[min(index, len(self.tokens) - 1)]
        return Where(self.file, self.first_line + token.line - 1, token.start - self.text.rfind("\n", 0, token.start))

    def fault(self, message: str, low: int, high: int, hint: str | None = None, kind: type[UserError] = SyntaxFault) -> UserError:
        """An error that underlines the tokens of a range."""
        if not self.tokens:
            return kind(message, where=Where(self.file, self.first_line), hint=hint)
        low = max(0, min(low, len(self.tokens) - 1))
        high = max(low + 1, min(high, len(self.tokens)))
        excerpt = underline(self.text, self.tokens[low].start, self.tokens[high - 1].end, self.first_line)
        return kind(message, where=self.where(low), excerpt=excerpt, hint=hint)
