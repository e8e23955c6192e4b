"""Types as Spark's DDL writes them: reading column lists, finding unknown type names, and what may be compared with what."""

from __future__ import annotations

import difflib

from penstock.errors import SyntaxFault
from penstock.plan.grammar import Token, tokens
from penstock.plan.words import words
from penstock.schema import Column, Schema, family, normal_type

UNKNOWN = "unknown"
WINDOW = "struct<start:timestamp,end:timestamp>"
_PLAIN = words(
    "boolean bool tinyint byte smallint short int integer bigint long float real double date time timestamp timestamp_ltz timestamp_ntz "
    "string text char character varchar binary decimal dec numeric void interval variant geometry geography"
)
_NESTED = frozenset(("array", "map", "struct"))
_OPENING, _CLOSING = "(<[", ")>]"


def parse_columns(text: str) -> Schema:
    """`id STRING, amount DECIMAL(12,2)` as a schema; names in backticks may hold anything; NOT NULL and COMMENT are read over.

    A column may be computed: `at AS timestamp_millis(ms)`; its type, where none is written, is UNKNOWN here.
    """
    columns = []
    for part in _split(tokens(text), ","):
        if len(part) < 2 or not part[0].is_name:
            shown = text[part[0].start : part[-1].end] if part else text
            raise SyntaxFault(f"`{shown}` is not a column", hint="write a name and a type, e.g. `id STRING, amount DECIMAL(12,2)`")
        body = part[2:] if part[1].text == ":" else part[1:]
        mark = next((index for index, token in enumerate(body) if token.is_word("as") and index + 1 < len(body)), None)
        computed = None if mark is None else text[body[mark + 1].start : body[-1].end]
        if mark == 0:
            columns.append(Column(part[0].value, UNKNOWN, computed))
            continue
        stop = next((index for index, token in enumerate(body) if index and token.is_word("not", "comment", "default", "null", "as")), len(body))
        if not body[:stop]:
            raise SyntaxFault(f"the column `{part[0].value}` has no type", hint="write a name and a type, e.g. `id STRING`")
        columns.append(Column(part[0].value, normal_type(text[body[0].start : body[stop - 1].end]), computed))
    return Schema(tuple(columns))


def unknown_type(text: str) -> str | None:
    """The first name in a type that Spark does not know, e.g. `strin` of `array<strin>`; None when all are known."""
    found = tokens(text)
    head = found[0].text.lower() if found else ""
    if head not in _NESTED:
        return None if head in _PLAIN else (found[0].text if found else text)
    parts = _inner_types(text)
    if not parts:
        return text
    return next((wrong for wrong in (unknown_type(type_text) for _, type_text in parts) if wrong is not None), None)


def near_type(name: str) -> str | None:
    """The type name that the user most likely meant."""
    found = difflib.get_close_matches(name.lower(), sorted(_PLAIN | _NESTED), n=1, cutoff=0.5)
    return found[0] if found else None


def fields_of(type_text: str) -> Schema | None:
    """The fields of a struct; None for any other type."""
    if not type_text.lower().startswith("struct<"):
        return None
    return Schema(tuple(Column(name, normal_type(inner)) for name, inner in _inner_types(type_text)))


def field_type(type_text: str, path: tuple[str, ...]) -> str:
    """The type that `path` reaches inside a value of `type_text`; UNKNOWN where that cannot be told."""
    for step in path:
        fields = fields_of(type_text)
        found = fields.find(step) if fields is not None else None
        if found is None:
            return UNKNOWN
        type_text = found.type
    return type_text


def element_type(type_text: str) -> str:
    """The type of an array's elements; UNKNOWN for anything else."""
    parts = _inner_types(type_text) if type_text.startswith("array<") else []
    return parts[0][1] if parts else UNKNOWN


def comparable(left: str, right: str) -> bool:
    """Whether Spark lets values of two types be compared or united; True when in doubt."""
    one, other = family(left), family(right)
    if "other" in (one, other) or UNKNOWN in (left, right) or "variant" in (left, right):
        return True
    if "text" in (one, other):
        return "nested" not in (one, other)
    return one == other


def _split(found: tuple[Token, ...], mark: str) -> list[tuple[Token, ...]]:
    """The tokens between the `mark`s that stand outside every bracket."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in found:
        if token.kind == "op":
            depth += sum(letter in _OPENING for letter in token.text) - sum(letter in _CLOSING for letter in token.text)
        if token.text == mark and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [tuple(part) for part in parts]


def _inner_types(text: str) -> list[tuple[str, str]]:
    """The (name, type) pairs between the angle brackets; the name is empty but for a struct's fields."""
    opening, closing = text.find("<"), text.rfind(">")
    if opening < 0 or closing < opening:
        return []
    inner, named = text[opening + 1 : closing], text[:opening].strip().lower() == "struct"
    pairs = []
    for part in _split(tokens(inner), ","):
        skipped = 0 if not named else 2 if len(part) > 1 and part[1].text == ":" else 1
        body = part[skipped:]
        if body:
            pairs.append((part[0].value if named else "", inner[body[0].start : body[-1].end]))
    return pairs
