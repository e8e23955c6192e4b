"""`col [ASC|DESC] [NULLS FIRST|LAST], ...`: an order that somebody gives at run time, over the columns of one view."""

from __future__ import annotations

from typing import NamedTuple

from penstock.errors import NameFault, SyntaxFault
from penstock.plan.expression.parsed import parsed
from penstock.plan.expression.tokens import Token, split, tokens
from penstock.schema import Schema, parse_type

_HINT = "col [ASC|DESC] [NULLS FIRST|LAST], ..."
_WITHOUT_ORDER = ("map", "variant")


class By(NamedTuple):
    """One column of an order, by its path: fields of a struct after its name."""

    path: tuple[str, ...]
    descending: bool
    nulls_first: bool


def ordering(text: str, schema: Schema) -> list[By]:
    """SyntaxFault where it is none, NameFault where a column is not there."""
    if parsed(text).has_comment:
        raise SyntaxFault("an order has no comments", hint=_HINT)
    found = tokens(text)
    return [_by(found[low:high], schema) for low, high in split(found, 0, len(found))]


def _by(part: tuple[Token, ...], schema: Schema) -> By:
    at, path = 0, list[str]()
    while at < len(part) and part[at].is_name and (not path or part[at - 1].text == "."):
        path.append(part[at].value)
        at += 2 if at + 1 < len(part) and part[at + 1].text == "." else 1
    descending = at < len(part) and part[at].is_word("desc")
    at += 1 if at < len(part) and part[at].is_word("asc", "desc") else 0
    nulls_first = not descending
    if at + 1 < len(part) and part[at].is_word("nulls") and part[at + 1].is_word("first", "last"):
        nulls_first = part[at + 1].is_word("first")
        at += 2
    if not path or at != len(part):
        written = " ".join(token.text for token in part)
        raise SyntaxFault(f"`{written}` is no order", hint=_HINT)
    return By(_found(path, schema), descending, nulls_first)


def _found(path: list[str], schema: Schema) -> tuple[str, ...]:
    column = schema.find(path[0])
    if column is None:
        raise NameFault(f"there is no column `{path[0]}`", hint=f"the view has {', '.join(schema.names)}")
    kind, names = parse_type(column.type), [column.name]
    for name in path[1:]:
        field = next((field for field in kind.fields if field[0].lower() == name.lower()), None) if kind.name == "struct" else None
        if field is None:
            raise NameFault(f"there is no column `{'.'.join(path)}`", hint=f"the view has {', '.join(schema.names)}")
        names.append(field[0])
        kind = field[1]
    if kind.name in _WITHOUT_ORDER:
        raise SyntaxFault(f"a {kind.name} has no order: `{'.'.join(path)}`", hint=_HINT)
    return tuple(names)
