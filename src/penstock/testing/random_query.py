"""Random queries from a seed: joins, aggregates, rankings, subqueries and set operations, up to three levels deep.

Every query means the same to Spark and to DuckDB, and has one answer: what is sorted is sorted by all columns, nulls are placed, and
numbers are whole. Each level is a subquery with columns of its own, so every part of a query is a query too: a mismatch is looked for in the parts.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

STREAMS = ("a", "b")
TABLE = "t"
NUMBER, TEXT = "number", "text"
_BASE = (("id", NUMBER), ("k", NUMBER), ("g", TEXT), ("v", NUMBER))
_TABLE = (("k", NUMBER), ("g", TEXT))


@dataclass(frozen=True)
class Query:
    """A SELECT, its columns with their kinds, and the queries that it is made of."""

    sql: str
    columns: tuple[tuple[str, str], ...]
    parts: tuple[Query, ...] = ()

    def of(self, kind: str) -> list[str]:
        return [name for name, is_kind in self.columns if is_kind == kind]

    def all_parts(self) -> list[Query]:
        """Every query below this one, the shortest first."""
        found = {part.sql: part for inner in self.parts for part in (inner, *inner.all_parts())}
        return sorted(found.values(), key=lambda part: len(part.sql))


def query(seed: int, depth: int = 3) -> Query:
    """The query of this seed."""
    return _Writer(random.Random(seed)).any(depth)


class _Writer:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._fresh = 0

    def any(self, depth: int) -> Query:
        if depth == 0:
            return self._base()
        forms: list[tuple[int, Callable[[int], Query]]] = [
            *((1, self._filter), (4, self._aggregate), (4, self._join), (3, self._ranking)),
            *((3, self._subquery), (2, self._set), (1, self._distinct), (1, self._first)),
        ]
        (form,) = self._rng.choices([form for _, form in forms], [weight for weight, _ in forms])
        return form(depth)

    def _base(self, streams_only: bool = True) -> Query:
        name = self._rng.choice(STREAMS if streams_only else (*STREAMS, TABLE))
        return self._select(_TABLE if name == TABLE else _BASE, name, "")

    def _filter(self, depth: int) -> Query:
        inner = self.any(depth - 1)
        return self._over(inner, f" WHERE {self._condition(inner, 'x')}")

    def _aggregate(self, depth: int) -> Query:
        inner = self.any(depth - 1)
        keys = self._rng.sample([name for name, _ in inner.columns], min(len(inner.columns), self._rng.choice((0, 1, 1, 1, 2))))
        kinds = dict(inner.columns)
        items = [(f"x.{name}", kinds[name]) for name in keys]
        items += [self._aggregated(inner) for _ in range(self._rng.randint(1, 3))]
        group = f" GROUP BY {', '.join(f'x.{name}' for name in keys)}" if keys else ""
        having = f" HAVING count(*) > {self._rng.randint(1, 3)}" if keys and self._rng.random() < 0.3 else ""
        return self._items(items, f" FROM ({inner.sql}) x{group}{having}", (inner,))

    def _aggregated(self, inner: Query) -> tuple[str, str]:
        name, kind = self._rng.choice(inner.columns)
        choices = ["count(*)", f"count(x.{name})", f"count(DISTINCT x.{name})"]
        if kind == NUMBER:
            choices += [f"sum(x.{name})", f"sum(x.{name})", f"sum(x.{name}) FILTER (WHERE {self._condition(inner, 'x')})"]
        if self._rng.random() < 0.3:
            return f"{self._rng.choice(('min', 'max'))}(x.{name})", kind
        return self._rng.choice(choices), NUMBER

    def _join(self, depth: int) -> Query:
        left, right = self.any(depth - 1), (self.any(1) if depth > 1 and self._rng.random() < 0.5 else self._base(streams_only=False))
        shared = [kind for kind in (NUMBER, TEXT) if left.of(kind) and right.of(kind)]
        if not shared:
            return self._filter(depth)
        kind = self._rng.choice(shared)
        how = self._rng.choice(("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"))
        condition = f"x.{self._rng.choice(left.of(kind))} = y.{self._rng.choice(right.of(kind))}"
        if left.of(NUMBER) and right.of(NUMBER) and self._rng.random() < 0.25:
            condition += f" AND x.{self._rng.choice(left.of(NUMBER))} <= y.{self._rng.choice(right.of(NUMBER))}"
        items = [(f"x.{name}", is_kind) for name, is_kind in left.columns]
        if how not in ("SEMI JOIN", "ANTI JOIN"):
            items += [(f"y.{name}", is_kind) for name, is_kind in right.columns]
            self._rng.shuffle(items)
            items = items[:6]
        return self._items(items, f" FROM ({left.sql}) x {how} ({right.sql}) y ON {condition}", (left, right))

    def _ranking(self, depth: int) -> Query:
        inner = self.any(depth - 1)
        names = [name for name, _ in inner.columns]
        by = f"PARTITION BY x.{self._rng.choice(names)} " if self._rng.random() < 0.85 else ""
        order = f"ORDER BY {self._sorted(inner, 'x')}"
        value = self._rng.choice(inner.of(NUMBER) or [""])
        forms = [f"row_number() OVER ({by}{order})", f"rank() OVER ({by}{order})", f"count(*) OVER ({by.strip()})"]
        if value:
            forms += [f"sum(x.{value}) OVER ({by}{order})", f"lag(x.{value}) OVER ({by}{order})", f"max(x.{value}) OVER ({by.strip()})"]
        items = [(f"x.{name}", kind) for name, kind in inner.columns[:5]]
        ranked = self._items([*items, (self._rng.choice(forms), NUMBER)], f" FROM ({inner.sql}) x", (inner,))
        if self._rng.random() < 0.4:
            return ranked
        return self._over(ranked, f" WHERE x.{ranked.columns[-1][0]} <= {self._rng.randint(1, 4)}")

    def _subquery(self, depth: int) -> Query:
        outer, inner = self.any(depth - 1), self.any(1) if depth > 1 and self._rng.random() < 0.5 else self._base(streams_only=False)
        kind = NUMBER if outer.of(NUMBER) and inner.of(NUMBER) else TEXT
        if not outer.of(kind) or not inner.of(kind):
            return self._filter(depth)
        mine, theirs, value = self._rng.choice(outer.of(kind)), self._rng.choice(inner.of(kind)), self._rng.choice(inner.of(kind))
        within = f"({inner.sql}) y"
        forms = [
            f"x.{mine} IN (SELECT y.{theirs} FROM {within})",
            f"x.{mine} NOT IN (SELECT y.{theirs} FROM {within} WHERE y.{theirs} IS NOT NULL)",
            f"EXISTS (SELECT 1 FROM {within} WHERE y.{theirs} = x.{mine})",
            f"NOT EXISTS (SELECT 1 FROM {within} WHERE y.{theirs} = x.{mine})",
            f"x.{mine} >= (SELECT max(y.{value}) FROM {within} WHERE y.{theirs} = x.{mine})",
            f"x.{mine} < (SELECT max(y.{value}) FROM {within})",
        ]
        found = self._over(outer, f" WHERE {self._rng.choice(forms)}")
        return Query(found.sql, found.columns, (outer, inner))

    def _set(self, depth: int) -> Query:
        left, right = self.any(depth - 1), self.any(depth - 1 if depth < 3 else 1)
        kinds = [kind for kind in (NUMBER, TEXT) for _ in range(min(2, len(left.of(kind)), len(right.of(kind))))]
        if not kinds:
            return self._filter(depth)
        how = self._rng.choice(("UNION ALL", "UNION ALL", "UNION", "EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL"))
        sides = []
        for side in (left, right):
            left_over = {kind: self._rng.sample(side.of(kind), len(side.of(kind))) for kind in (NUMBER, TEXT)}
            sides.append(f"SELECT {', '.join(f'x.{left_over[kind].pop()} AS s{place}' for place, kind in enumerate(kinds))} FROM ({side.sql}) x")
        columns = [(f"x.s{place}", kind) for place, kind in enumerate(kinds)]
        return self._items(columns, f" FROM ({sides[0]} {how} {sides[1]}) x", (left, right))

    def _distinct(self, depth: int) -> Query:
        inner = self.any(depth - 1)
        chosen = self._rng.sample(inner.columns, min(2, len(inner.columns)))
        return self._items([(f"x.{name}", kind) for name, kind in chosen], f" FROM ({inner.sql}) x", (inner,), "SELECT DISTINCT")

    def _first(self, depth: int) -> Query:
        inner = self.any(depth - 1)
        return self._over(inner, f" ORDER BY {self._sorted(inner, 'x')} LIMIT {self._rng.randint(1, 6)}")

    def _sorted(self, inner: Query, alias: str) -> str:
        names = self._rng.sample([name for name, _ in inner.columns], len(inner.columns))
        return ", ".join(f"{alias}.{name} {self._rng.choice(('ASC', 'DESC'))} NULLS {self._rng.choice(('FIRST', 'LAST'))}" for name in names)

    def _condition(self, inner: Query, alias: str) -> str:
        name, kind = self._rng.choice(inner.columns)
        if kind == TEXT:
            return self._rng.choice((f"{alias}.{name} = 'g{self._rng.randint(0, 3)}'", f"{alias}.{name} IS NOT NULL"))
        return self._rng.choice((f"{alias}.{name} > {self._rng.randint(0, 9)}", f"{alias}.{name} % 2 = 0", f"{alias}.{name} IS NULL"))

    def _over(self, inner: Query, rest: str) -> Query:
        return self._items([(f"x.{name}", kind) for name, kind in inner.columns], f" FROM ({inner.sql}) x{rest}", (inner,))

    def _select(self, columns: tuple[tuple[str, str], ...], name: str, rest: str) -> Query:
        return self._items([(f"x.{column}", kind) for column, kind in columns], f" FROM {name} x{rest}", ())

    def _items(self, items: list[tuple[str, str]], rest: str, parts: tuple[Query, ...], verb: str = "SELECT") -> Query:
        columns = []
        texts = []
        for text, kind in items:
            self._fresh += 1
            columns.append((f"c{self._fresh}", kind))
            texts.append(f"{text} AS c{self._fresh}")
        return Query(f"{verb} {', '.join(texts)}{rest}", tuple(columns), parts)
