"""A condition of DEFINE as a tree whose leaves are what Spark computes of a row alone, and what the matcher asks of other rows.

Everything that needs no other row stays the user's text. Only what joins it with other rows is taken apart, and must be among OPERATIONS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from penstock.errors import PlanFault, UserError
from penstock.plan.expression.columns import is_call
from penstock.plan.expression.navigation import LABEL, MatchNumber, Navigation, Primitive, primitives
from penstock.plan.expression.parsed import substitute
from penstock.plan.expression.tokens import Token, matching, tokens

FUNCTIONS = frozenset(
    "abs coalesce nvl ifnull nullif if iff greatest least sqrt sin cos tan asin acos atan atan2 radians degrees power pow exp ln log floor ceil "
    "ceiling round sign signum mod pi isnull isnotnull lower upper concat length unix_timestamp unix_seconds unix_millis unix_micros".split()
)
# Null of a null, and asked of one row: what Spark computes of that row before the rows are matched.
_OF_ONE_ROW = frozenset(
    "cast try_cast date_trunc trunc to_date date to_timestamp timestamp date_format year month quarter day dayofmonth dayofweek dayofyear weekday "
    "hour minute second substring substr trim ltrim rtrim split_part regexp_extract element_at get_json_object".split()
)
_TAKE_NULLS = frozenset("coalesce nvl ifnull if iff greatest least isnull isnotnull nullif".split())
_COMPARED = {"=": "=", "==": "=", "<>": "<>", "!=": "<>", "<": "<", ">": ">", "<=": "<=", ">=": ">=", "<=>": "<=>"}
_BINARY = {"||": 5, "+": 6, "-": 6, "*": 7, "/": 7, "%": 7, "div": 7}
_HINT = "compute it of one row inside FIRST, LAST, PREV or NEXT, or in a SELECT below the pattern"


@dataclass(frozen=True)
class Own:
    """What Spark computes of a row's own columns."""

    text: str


@dataclass(frozen=True)
class Asked:
    """What is asked of the rows of the match so far, or around the row."""

    primitive: Primitive


@dataclass(frozen=True)
class Operation:
    """An operator or a function over conditions; `name` is its sign or its name in lower case."""

    name: str
    parts: tuple[Condition, ...]


Condition: TypeAlias = Own | Asked | Operation


def condition(text: str, variables: Mapping[str, str], is_own: Callable[[Navigation], bool]) -> Condition:
    """The tree of a condition; PlanFault where it joins rows by what is not known here. `is_own` says that a navigation means the row itself."""
    return _Parser(text, variables, is_own).whole()


@dataclass(frozen=True)
class _Part:
    """text[start:end] with its operator and parts; `own` where no other row is needed for it."""

    start: int
    end: int
    own: bool
    name: str = ""
    parts: tuple[_Part, ...] = ()
    primitive: Primitive | None = None


class _Parser:
    def __init__(self, text: str, variables: Mapping[str, str], is_own: Callable[[Navigation], bool]) -> None:
        self._text = text
        self._tokens = tokens(text)
        self._found = {entry.start: entry for entry in primitives(text, variables)}
        self._is_own = is_own
        self._at = 0

    def whole(self) -> Condition:
        part = self._expression(0)
        if self._at < len(self._tokens):
            if all(self._owned(entry.primitive) for entry in self._found.values()):
                return Own(self._plain(0, len(self._text)))
            raise self._unknown(self._tokens[self._at].text)
        return self._finished(part)

    def _finished(self, part: _Part) -> Condition:
        if part.own:
            return Own(self._plain(part.start, part.end))
        if part.primitive is not None:
            return Asked(part.primitive)
        if part.name.startswith("?"):
            raise self._unknown(part.name[1:])
        if part.name == "()":
            return self._finished(part.parts[0])
        return Operation(part.name, tuple(map(self._finished, part.parts)))

    def _plain(self, start: int, end: int) -> str:
        """The text with columns that name no variable: the row is its own."""
        inside = [entry for entry in self._found.values() if start <= entry.start and entry.end <= end]
        changes = [(entry.start - start, entry.end - start, _value(entry.primitive)) for entry in inside]
        return substitute(self._text[start:end], changes)

    def _owned(self, primitive: Primitive) -> bool:
        return isinstance(primitive, Navigation) and primitive.value != LABEL and self._is_own(primitive)

    def _unknown(self, what: str) -> UserError:
        return PlanFault(f"`{what}` cannot join a row with other rows in DEFINE", hint=_HINT)

    def _expression(self, level: int) -> _Part:
        left = self._prefix()
        while (found := self._infix(left, level)) is not None:
            left = found
        return left

    def _infix(self, left: _Part, level: int) -> _Part | None:
        token = self._here()
        if token is None:
            return None
        word = token.text.lower()
        if word in ("or", "and") and level < (1 if word == "or" else 2):
            self._at += 1
            return _joined(word, left, self._expression(1 if word == "or" else 2))
        if token.text in _COMPARED and level < 4:
            self._at += 1
            return _joined(_COMPARED[token.text], left, self._expression(4))
        if token.is_word("is", "between", "in", "like", "ilike", "rlike", "not") and level < 4:
            return self._predicate(left)
        strength = _BINARY.get(word)
        if strength is not None and level < strength:
            self._at += 1
            return _joined(word, left, self._expression(strength))
        return None

    def _predicate(self, left: _Part) -> _Part:
        """IS [NOT] ..., [NOT] BETWEEN, IN, LIKE after their first operand."""
        negated = self._takes("not")
        if self._takes("is"):
            negated = self._takes("not")
            if self._takes("distinct"):
                self._takes("from")
                same = _joined("<=>", left, self._expression(4))
                return same if negated else _joined("not", same)
            token = self._next()
            result = self._ending("?" + token.text if not token.is_word("null", "true", "false") else f"is {token.text.lower()}", left)
        elif self._takes("between"):
            low = self._expression(4)
            self._takes("and")
            high = self._expression(4)
            both = (_pair(">=", left, low), _pair("<=", left, high))
            result = _Part(left.start, high.end, left.own and low.own and high.own, "and", both)
        elif self._takes("in"):
            self._next()
            members = self._listed()
            result = self._ending("in", left, *members)
        else:
            word = self._next().text
            result = _joined("like" if word.lower() == "like" else f"?{word}", left, self._expression(4))
        return self._ending("not", result) if negated else result

    def _prefix(self) -> _Part:
        token = self._next()
        if token.is_word("not"):
            return self._ending("not", self._expression(3), start=token.start)
        if token.text in ("-", "+") and token.kind == "op":
            return self._ending("negative" if token.text == "-" else "()", self._expression(8), start=token.start)
        found = self._found.get(token.start)
        if found is not None:
            while self._at < len(self._tokens) and self._tokens[self._at].start < found.end:
                self._at += 1
            own = self._owned(found.primitive)
            return self._subscripted(_Part(found.start, found.end, own, primitive=found.primitive))
        if token.text == "(":
            inner = self._listed()
            return self._ending("()" if len(inner) == 1 else "?a list", *inner, start=token.start)
        if token.is_word("case"):
            return self._case(token)
        if is_call(self._tokens, self._at - 1) or (token.is_word("if", "left", "right") and self._is_open()):
            return self._called(token)
        return self._literal(token)

    def _called(self, token: Token) -> _Part:
        name = token.value.lower()
        opening, close = self._at, matching(self._tokens, self._at)
        inside = [entry for entry in self._found.values() if self._tokens[opening].start < entry.start < self._tokens[close].start]
        if all(self._owned(entry.primitive) for entry in inside):
            self._at = close + 1
            return self._subscripted(_Part(token.start, self._tokens[close].end, True))
        if name in _OF_ONE_ROW:
            self._at = close + 1
            return self._subscripted(self._of_one_row(token.start, self._tokens[close].end, name))
        self._at += 1
        return self._ending(name if name in FUNCTIONS else f"?{name}", *self._listed(), start=token.start)

    def _case(self, token: Token) -> _Part:
        """CASE as `case` over (condition, value) pairs and the value of ELSE, if any."""
        subject = None if self._here_is("when") else self._expression(0)
        parts: list[_Part] = []
        own = subject is None or subject.own
        while self._takes("when"):
            when = self._expression(0)
            own = own and when.own
            parts.append(when if subject is None else _pair("=", subject, when))
            self._takes("then")
            parts.append(self._expression(0))
        if self._takes("else"):
            parts.append(self._expression(0))
        end = self._next().end
        own = own and all(part.own for part in parts if part.name != "=" or subject is None)
        return _Part(token.start, end, own, "case", tuple(parts))

    def _literal(self, token: Token) -> _Part:
        """A literal: one token, DATE '...', or INTERVAL with its units."""
        end = token.end
        if token.is_word("interval"):
            while (here := self._here()) is not None and (here.kind in ("string", "number") or (here.kind == "word" and not _is_joint(here))):
                end = self._next().end
        elif (here := self._here()) is not None and token.kind == "word" and here.kind == "string":
            end = self._next().end
        return _Part(token.start, end, True)

    def _subscripted(self, part: _Part) -> _Part:
        while (here := self._here()) is not None and here.text in ("[", "::", "."):
            self._at = matching(self._tokens, self._at) + 1 if here.text == "[" else self._at + 2
            end = self._tokens[self._at - 1].end
            inside = [entry for entry in self._found.values() if part.start <= entry.start < end]
            own = part.own and all(self._owned(entry.primitive) for entry in inside)
            part = _Part(part.start, end, True) if own else self._of_one_row(part.start, end, here.text)
        return part

    def _of_one_row(self, start: int, end: int, what: str) -> _Part:
        """An expression over columns of one other row, as what is asked of that row."""
        inside = [entry for entry in self._found.values() if start <= entry.start < end]
        if any(self._minds_nulls(index) for index, token in enumerate(self._tokens) if start <= token.start < end):
            raise self._unknown(what)
        rows = {replace(entry.primitive, value="") for entry in inside if isinstance(entry.primitive, Navigation) and entry.primitive.value != LABEL}
        if len(rows) != 1 or any(not isinstance(entry.primitive, Navigation) or entry.primitive.value == LABEL for entry in inside):
            raise self._unknown(what)
        return _Part(start, end, False, primitive=replace(rows.pop(), value=self._plain(start, end)))

    def _minds_nulls(self, index: int) -> bool:
        """Whether something there may be more than null where there is no row to ask."""
        token = self._tokens[index]
        if any(entry.start == token.start for entry in self._found.values()):
            return False
        called = is_call(self._tokens, index) and token.value.lower() not in (_OF_ONE_ROW | FUNCTIONS) - _TAKE_NULLS
        return called or token.is_word(*_TAKE_NULLS, "case", "is", "and", "or") or token.text == "<=>"

    def _listed(self) -> list[_Part]:
        """Expressions up to the closing bracket, which is taken."""
        found: list[_Part] = []
        while not self._here_is(")"):
            found.append(self._expression(0))
            if not self._takes(","):
                break
        self._next()
        return found

    def _ending(self, name: str, *parts: _Part, start: int | None = None) -> _Part:
        """An operation that ends at the token just taken."""
        begin = start if start is not None else min(part.start for part in parts)
        return _Part(begin, self._tokens[self._at - 1].end, all(part.own for part in parts), name, parts)

    def _here(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _is_open(self) -> bool:
        return self._here_is("(")

    def _here_is(self, text: str) -> bool:
        here = self._here()
        return here is not None and here.text.lower() == text

    def _takes(self, text: str) -> bool:
        taken = self._here_is(text)
        self._at += taken
        return taken

    def _next(self) -> Token:
        if self._at >= len(self._tokens):
            raise PlanFault(f"`{self._text}` is not a condition", hint="something is missing at its end")
        self._at += 1
        return self._tokens[self._at - 1]


def _joined(name: str, *parts: _Part) -> _Part:
    return _Part(parts[0].start, parts[-1].end, all(part.own for part in parts), name, parts)


def _pair(name: str, left: _Part, right: _Part) -> _Part:
    """Two parts that are compared, though they do not stand beside each other: no text of its own."""
    return _Part(left.start, right.end, False, name, (left, right))


def _is_joint(token: Token) -> bool:
    """Whether a word after an interval goes on with the condition."""
    return token.is_word("and", "or", "then", "else", "end", "when", "is", "not", "in", "between", "like")


def _value(primitive: Primitive) -> str:
    assert not isinstance(primitive, MatchNumber)
    return primitive.value
