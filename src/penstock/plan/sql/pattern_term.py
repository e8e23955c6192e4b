"""What stands between the brackets of PATTERN: variables, groups, alternatives, quantifiers, exclusion, anchors, PERMUTE, NOT."""

from __future__ import annotations

from penstock.errors import PlanFault
from penstock.plan.expression.passage import Passage
from penstock.plan.model.pattern import Absent, Anchor, Choice, Exclude, Permute, Repeat, Sequence, Term, Variable

_SIMPLE = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_TIMES_MAX = 10_000


def read_term(passage: Passage, low: int, high: int) -> Term:
    """The term between two tokens; SyntaxFault where it is none."""
    return _TermReader(passage, low, high).alternatives()


class _TermReader:
    def __init__(self, passage: Passage, low: int, high: int) -> None:
        self._passage = passage
        self._at = low
        self._high = high

    def alternatives(self) -> Term:
        parts = [self._sequence()]
        while self._takes("|"):
            parts.append(self._sequence())
        if self._at < self._high:
            raise self._passage.fault("this is not expected in a pattern", self._at, self._at + 1, "PATTERN (a b+ (c | d)? {- e* -} f{2,3})")
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _sequence(self) -> Term:
        parts: list[Term] = []
        while self._at < self._high and not self._is_op("|"):
            parts.append(self._quantified())
        absent = next((part for part in parts[:-1] if isinstance(part, Absent) and not part.next_only), None)
        if absent is not None:
            message = f"NOT {absent.name} must be the last of its pattern"
            hint = "for a row in between, define a variable of the rows that may come: b AS NOT (...)"
            raise self._passage.fault(message, self._at - 1, self._at, hint, PlanFault)
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _quantified(self) -> Term:
        begin = self._at
        part = self._primary()
        bounds = self._bounds()
        if bounds is None:
            return part
        if isinstance(part, Absent | Anchor):
            raise self._passage.fault("this cannot be repeated: it takes no row", begin, self._at)
        return Repeat(part, *bounds, greedy=not self._takes("?"))

    def _bounds(self) -> tuple[int, int | None] | None:
        """A quantifier without its `?` for reluctant."""
        for sign, bounds in _SIMPLE.items():
            if self._takes(sign):
                return bounds
        if not self._is_op("{") or self._passage.is_op(self._at + 1, self._high, "-"):
            return None
        begin, close = self._at, self._passage.close(self._at, self._high)
        inside = "".join(token.text for token in self._passage.tokens[begin + 1 : close])
        low, comma, high = inside.partition(",")
        if not _is_range(low, high):
            raise self._passage.fault(f"`{{{inside}}}` is not a number of times", begin, close + 1, "a{3}, a{2,5}, a{2,} or a{,5}")
        self._at = close + 1
        return int(low or 0), (int(high) if high else None) if comma else int(low)

    def _primary(self) -> Term:
        passage, begin = self._passage, self._at
        if self._is_op("(") or self._is_op("{"):
            excluded = self._is_op("{")
            close = passage.close(begin, self._high)
            low, high = (begin + 2, close - 1) if excluded else (begin + 1, close)
            if excluded and not (passage.is_op(begin + 1, close, "-") and passage.is_op(close - 1, close, "-") and low < high):
                raise passage.fault("this is not an exclusion", begin, close + 1, "{- a -}")
            self._at = close + 1
            inner = read_term(passage, low, high) if low < high else Sequence(())
            return Exclude(inner) if excluded else inner
        if passage.word(begin, self._high, "permute") and passage.is_op(begin + 1, self._high, "("):
            close = passage.close(begin + 1, self._high)
            self._at = close + 1
            return Permute(tuple(read_term(passage, *part) for part in passage.split(begin + 2, close)))
        if self._is_op("^") or self._is_op("$"):
            self._at += 1
            return Anchor(passage.tokens[begin].text)
        if passage.word(begin, self._high, "not"):
            next_only = passage.word(begin + 1, self._high, "next") and begin + 2 < self._high and passage.tokens[begin + 2].is_name
            self._at = begin + 2 + next_only
            if self._at > self._high or not passage.tokens[self._at - 1].is_name:
                raise passage.fault("NOT wants a variable", begin, begin + 1, "PATTERN (a NOT b) WITHIN INTERVAL '30' MINUTE")
            return Absent(passage.tokens[self._at - 1].value, next_only)
        if not passage.tokens[begin].is_name:
            raise passage.fault("a variable is wanted here", begin, begin + 1, "PATTERN (a b+ c)")
        self._at += 1
        return Variable(passage.tokens[begin].value)

    def _is_op(self, text: str) -> bool:
        return self._passage.is_op(self._at, self._high, text)

    def _takes(self, text: str) -> bool:
        taken = self._is_op(text)
        self._at += taken
        return taken


def _is_range(low: str, high: str) -> bool:
    """Whether two texts, one of which may be empty, are a number of times."""
    if not (low or high) or not all(text.isdigit() for text in (low, high) if text):
        return False
    fewest, most = int(low or 0), int(high or low)
    return max(fewest, most) <= _TIMES_MAX and most >= fewest and int(high or 1) > 0
