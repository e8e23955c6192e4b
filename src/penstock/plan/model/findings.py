"""What a check finds, and where: a place in the user's own text, with the words underlined."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock import errors
from penstock.errors import PenstockError, UserError, Where, underline
from penstock.plan.expression.tokens import Token, tokens
from penstock.plan.model.declare import View
from penstock.plan.model.python_place import argument_place

ERROR = "error"
WARNING = "warning"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong (`error`) or costly (`warning`); `code` is the name of an error class."""

    severity: str
    code: str
    message: str
    where: Where | None = None
    excerpt: str | None = None
    hint: str | None = None

    def as_error(self) -> PenstockError:
        """The finding as the error that it is."""
        kind: type[PenstockError] = getattr(errors, self.code)
        return kind(self.message, where=self.where, excerpt=self.excerpt, hint=self.hint)

    def __str__(self) -> str:
        return f"{self.severity}: {self.as_error()}"


def from_error(error: UserError, where: Where | None) -> Finding:
    """The finding that an error is; `where` is used when the error has no place of its own."""
    return Finding(ERROR, type(error).__name__, error.message, error.where or where, error.excerpt, error.hint)


def from_errors(error: UserError, where: Where | None) -> Iterator[Finding]:
    """The findings that an error and those beside it are."""
    for one in (error, *error.others):
        yield Finding(ERROR, type(one).__name__, one.message, one.where or where, one.excerpt, one.hint)


@dataclass(frozen=True)
class Spot:
    """Part of a scalar expression, or (without `text`) a whole node."""

    where: Where | None
    text: str = ""
    start: int = 0
    end: int = 0

    def part(self, start: int, end: int) -> Spot:
        return Spot(self.where, self.text, start, end)


def placed(view: View, spot: Spot) -> tuple[Where | None, str | None]:
    """Where in the user's file a spot is, and the excerpt that shows it."""
    if not view.text or view.where is None:
        where = spot.where or view.where
        where = argument_place(spot.text, where) if spot.text and where is not None else where
        shown = underline(spot.text, spot.start, spot.end, where.line) if spot.text and where is not None else None
        return where, shown
    begins = text_place(view)
    first = begins.line
    own = spot.where or begins
    base = _offset(view.text, own.line - first)
    if not spot.text:
        line = view.text[base:].split("\n", 1)[0]
        start = base + max(len(line) - len(line.lstrip()), own.column - (begins.column if own.line == first else 1))
        return own, underline(view.text, start, base + len(line.rstrip()), first)
    found = _located(view.text, spot, base)
    if found is None:
        return spot.where or view.where, None
    start, end = found
    below = view.text.count("\n", 0, start)
    where = Where(begins.file, first + below, start - view.text.rfind("\n", 0, start) + (0 if below else begins.column - 1))
    return where, underline(view.text, start, end, first)


def text_place(view: View) -> Where:
    """Where the view's text begins; where it is declared, if nothing else is known."""
    if view.begins is not None:
        return view.begins
    return Where(view.where.file, view.where.line) if view.where is not None else Where("SQL", 1)


def _offset(text: str, lines: int) -> int:
    at = 0
    for _ in range(lines):
        at = text.find("\n", at) + 1
    return at


def _located(text: str, spot: Spot, base: int) -> tuple[int, int] | None:
    """The spot in the whole text: first by its whole expression, then by its own words alone."""
    every = tokens(text)
    whole, own = tokens(spot.text), tokens(spot.text[spot.start : spot.end])
    before = sum(1 for token in whole if token.end <= spot.start)
    for begin in (base, 0):
        at = _find(every, whole, begin)
        if at is not None:
            return every[at + before].start, every[at + before + len(own) - 1].end
        at = _find(every, own, begin)
        if at is not None:
            return every[at].start, every[at + len(own) - 1].end
    return None


def _find(every: tuple[Token, ...], wanted: tuple[Token, ...], begin: int) -> int | None:
    """The index of the first run of tokens from `begin` on that are written as `wanted`."""
    texts = [token.text for token in wanted]
    for at in range(len(every) - len(wanted) + 1 if wanted else 0):
        if every[at].start >= begin and [token.text for token in every[at : at + len(wanted)]] == texts:
            return at
    return None
