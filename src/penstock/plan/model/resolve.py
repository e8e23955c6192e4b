"""What an expression may name: relations with their columns, names of the select list, and the query around a subquery."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from penstock.plan.expression.types import UNKNOWN, field_type, fields_of
from penstock.schema import Column, Schema, family

_PLAIN = ("number", "text", "time", "boolean", "binary", "interval")


@dataclass(frozen=True)
class Relation:
    """What one entry of FROM offers. A column without a name is one that only Spark can name."""

    name: str | None
    columns: tuple[Column, ...]
    open: bool = False

    def find(self, name: str) -> Column | None:
        return Schema(self.columns).find(name)


@dataclass(frozen=True)
class Scope:
    """All that an expression may name: relations, names given in the select list, and what surrounds a subquery."""

    relations: tuple[Relation, ...] = ()
    given: tuple[Column, ...] = ()
    outer: Scope | None = None
    shared: frozenset[str] = frozenset()
    hiding: frozenset[str] = frozenset()
    """Those of the given names that come before columns."""

    def resolve(self, parts: tuple[str, ...]) -> str | None:
        """The type of the column or field that `parts` name, UNKNOWN where it is not known, None where there is none."""
        own = self._own(parts)
        if own is None and self.outer is not None:
            return self.outer.resolve(parts)
        return own

    def _own(self, parts: tuple[str, ...]) -> str | None:
        head = parts[0].lower()
        for relation in self.relations:
            if len(parts) > 1 and relation.name is not None and relation.name.lower() == head:
                column = relation.find(parts[1])
                if column is not None:
                    return _field(column.type, parts[2:])
                if relation.open:
                    return UNKNOWN
        column = self.column(parts[0])
        if column is not None:
            return _field(column.type, parts[1:])
        return UNKNOWN if any(relation.open for relation in self.relations) else None

    def column(self, name: str) -> Column | None:
        """The column of this name without a qualifier; relations come before names of the select list, but for those that hide columns."""
        given = Schema(self.given).find(name)
        if name.lower() in self.hiding:
            return given
        known = (relation.find(name) for relation in self.relations)
        return next((found for found in known if found is not None), given)

    def owners(self, name: str) -> tuple[str, ...]:
        """The relations that an unqualified name may belong to, unless a join has made one column of them."""
        if name.lower() in self.shared or Schema(self.given).find(name) is not None:
            return ()
        return tuple(relation.name for relation in self.relations if relation.name is not None and relation.find(name) is not None)

    @property
    def unnamed(self) -> bool:
        """Whether some column here has a name that only Spark knows."""
        return any(not column.name for relation in self.relations for column in relation.columns)

    def look(self, parts: tuple[str, ...]) -> str:
        return self.resolve(parts) or UNKNOWN

    def with_given(self, columns: Iterable[Column], hiding: Iterable[str] = ()) -> Scope:
        return replace(self, given=(*self.given, *columns), hiding=self.hiding | frozenset(hiding))

    def near(self, parts: tuple[str, ...]) -> str | None:
        """The name that the user most likely wanted, qualified as the user's was."""
        qualified = next((r for r in self.relations if len(parts) > 1 and r.name is not None and r.name.lower() == parts[0].lower()), None)
        if qualified is not None:
            found = closest(parts[1], (column.name for column in qualified.columns))
            return f"{qualified.name}.{found}" if found else None
        if len(parts) > 1:
            column = self.column(parts[0])
            fields = fields_of(column.type) if column is not None else None
            inside = closest(parts[1], fields.names) if fields is not None else None
            if inside:
                return f"{parts[0]}.{inside}"
            relation = closest(parts[0], (r.name for r in self.relations if r.name is not None))
            if relation:
                return f"{relation}.{'.'.join(parts[1:])}"
        every = [column.name for relation in self.relations for column in relation.columns] + [column.name for column in self.given]
        return closest(parts[-1], every)


def closest(name: str, known: Iterable[str]) -> str | None:
    """The nearest of the known names, in its own case."""
    by_lower = {entry.lower(): entry for entry in known if entry}
    found = difflib.get_close_matches(name.lower(), list(by_lower), n=1, cutoff=0.65)
    return by_lower[found[0]] if found else None


def _field(type_text: str, path: tuple[str, ...]) -> str | None:
    """The type of a field; None where a struct is known not to have it, or a plain value to have none."""
    for index, step in enumerate(path):
        fields = fields_of(type_text)
        if fields is None:
            return None if family(type_text) in _PLAIN else field_type(type_text, path[index:])
        found = fields.find(step)
        if found is None:
            return None
        type_text = found.type
    return type_text
