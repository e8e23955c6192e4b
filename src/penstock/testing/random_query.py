"""Random queries from a seed: joins, aggregates, rankings, subqueries and set operations, up to three levels deep.

Every query means the same to Spark and to DuckDB, and has one answer: what is sorted is sorted by all columns, nulls are placed, and
numbers are whole. Each level is a subquery with columns of its own, so every part of a query is a query too: a mismatch is looked for in the parts.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

STREAMS = ("a", "b")
TABLE = "t"
NUMBER, TEXT = "number", "text"
_BASE = (("id", NUMBER), ("k", NUMBER), ("g", TEXT), ("v", NUMBER))
_TABLE = (("k", NUMBER), ("g", TEXT))


@dataclass(frozen=True)
class Query:
    """A SELECT, its columns with their kinds, and the queries that it is made of; `stacked`: the first of those is to be a view of its own."""

    sql: str
    columns: tuple[tuple[str, str], ...]
    parts: tuple[Query, ...] = ()
    stacked: bool = False

    def views(self, name: str) -> dict[str, str]:
        """What it is declared as, the last view being the query."""
        below = next((part for part in self.parts if part.parts), None) if self.stacked else None
        if below is None:
            return {name: self.sql}
        return {f"{name}_below": below.sql, name: self.sql.replace(f"({below.sql})", f"(SELECT * FROM {name}_below)")}

    def of(self, kind: str) -> list[str]:
        return [name for name, is_kind in self.columns if is_kind == kind]

    def all_parts(self) -> list[Query]:
        """Every query below this one, the shortest first."""
        found = {part.sql: part for inner in self.parts for part in (inner, *inner.all_parts())}
        return sorted(found.values(), key=lambda part: len(part.sql))


def query(seed: int, depth: int = 3) -> Query:
    """The query of this seed; every other one reads a view."""
    return replace(_Writer(random.Random(seed)).any(depth), stacked=seed % 2 == 1)


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
            *((1, self._using), (1, self._itself), (1, self._answers), (1, self._lateral)),
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
        groups = [(self._grouped(name, kinds[name]), kinds[name]) for name in keys]
        items = [*groups, *(self._aggregated(inner) for _ in range(self._rng.randint(1, 3)))]
        listed = ", ".join(text for text, _ in groups)
        group = f" GROUP BY {f'ROLLUP ({listed})' if self._rng.random() < 0.1 else listed}" if keys else ""
        having = f" HAVING {self._rng.choice(('count(*)', self._aggregated(inner, NUMBER)[0]))} > {self._rng.randint(1, 3)}"
        return self._items(items, f" FROM ({inner.sql}) x{group}{having if keys and self._rng.random() < 0.3 else ''}", (inner,))

    def _grouped(self, name: str, kind: str) -> str:
        """A column to group by, or an expression over it."""
        if self._rng.random() < 0.8:
            return f"x.{name}"
        return self._rng.choice((f"x.{name} % 3", f"coalesce(x.{name}, -1)") if kind == NUMBER else (f"x.{name} || '-'", f"coalesce(x.{name}, '')"))

    def _aggregated(self, inner: Query, wanted: str | None = None) -> tuple[str, str]:
        name, kind = self._rng.choice(inner.columns)
        condition = self._condition(inner, "x")
        choices = ["count(*)", f"count(x.{name})", f"count(DISTINCT x.{name})", f"count(*) FILTER (WHERE {condition})"]
        choices += [f"CASE WHEN {self._rng.choice(('bool_and', 'bool_or'))}({condition}) THEN 1 ELSE 0 END"]
        if kind == NUMBER:
            choices += [f"sum(x.{name})", f"sum(x.{name})", f"sum(x.{name}) FILTER (WHERE {condition})", f"CAST(round(avg(x.{name})) AS BIGINT)"]
        if wanted is None and self._rng.random() < 0.3:
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
        if left.of(NUMBER) and right.of(NUMBER) and self._rng.random() < 0.4:
            condition += f" AND x.{self._rng.choice(left.of(NUMBER))} {self._rng.choice(('<=', '='))} y.{self._rng.choice(right.of(NUMBER))}"
        items = self._beside(how, left, right)
        if how == "JOIN" and self._rng.random() < 0.3:
            return self._items(items, f" FROM ({left.sql}) x, ({right.sql}) y WHERE {condition}", (left, right))
        third = ""
        if how == "JOIN" and self._rng.random() < 0.3:
            how_third, name = self._rng.choice(("LEFT JOIN", "JOIN")), self._rng.choice((*STREAMS, TABLE))
            first = condition.split(" AND ")[0].split(" = ")
            third = f" {how_third} {name} z ON z.{'k' if kind == NUMBER else 'g'} = {self._rng.choice(first)}"
        return self._items(items, f" FROM ({left.sql}) x {how} ({right.sql}) y ON {condition}{third}", (left, right))

    def _beside(self, how: str, left: Query, right: Query) -> list[tuple[str, str]]:
        """The columns of a join: a semi or an anti join has those of its left side."""
        if how in ("SEMI JOIN", "ANTI JOIN"):
            return [(f"x.{name}", kind) for name, kind in left.columns]
        return self._some_of(left, right)

    def _some_of(self, left: Query, right: Query) -> list[tuple[str, str]]:
        items = [*((f"x.{name}", kind) for name, kind in left.columns), *((f"y.{name}", kind) for name, kind in right.columns)]
        self._rng.shuffle(items)
        return items[:6]

    def _using(self, depth: int) -> Query:
        """A join by one name, which is a column of its own in the result."""
        left, right = self.any(depth - 1), self._base()
        kind = self._rng.choice([kind for kind in (NUMBER, TEXT) if left.of(kind)])
        sides = (f"(SELECT {alias}.*, {alias}.{self._rng.choice(side.of(kind))} AS u FROM ({side.sql}) {alias}) {alias}"
                 for alias, side in (("x", left), ("y", right)))  # fmt: skip
        how = self._rng.choice((" JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN "))
        return self._items([("u", kind), *self._some_of(left, right)], f" FROM {how.join(sides)} USING (u)", (left, right))

    def _itself(self, depth: int) -> Query:
        """A query joined with itself, by a name that both sides read."""
        inner = self.any(depth - 1)
        (name, _), (other, _) = self._rng.choice(inner.columns), self._rng.choice(inner.columns)
        theirs = name if self._rng.random() < 0.7 or dict(inner.columns)[name] != dict(inner.columns)[other] else other
        how = self._rng.choice(("JOIN", "LEFT JOIN", "SEMI JOIN", "ANTI JOIN"))
        found = self._items(self._beside(how, inner, inner), f" FROM w x {how} w y ON x.{name} = y.{theirs}", (inner,))
        return Query(f"WITH w AS ({inner.sql}) {found.sql}", found.columns, found.parts)

    def _answers(self, depth: int) -> Query:
        """A subquery in the select list."""
        outer, inner = self.any(depth - 1), self._base(streams_only=False)
        kind = self._rng.choice([kind for kind in (NUMBER, TEXT) if outer.of(kind)])
        value, theirs, mine = self._rng.choice(inner.of(NUMBER)), self._rng.choice(inner.of(kind)), self._rng.choice(outer.of(kind))
        asked = self._rng.choice(("count(*)", f"max(y.{value})", f"sum(y.{value})"))
        answer = (f"(SELECT {asked} FROM ({inner.sql}) y WHERE y.{theirs} = x.{mine})", NUMBER)
        return self._items([*((f"x.{name}", kind) for name, kind in outer.columns[:4]), answer], f" FROM ({outer.sql}) x", (outer, inner))

    def _lateral(self, depth: int) -> Query:
        outer, inner = self.any(depth - 1), self._base()
        kind = self._rng.choice([kind for kind in (NUMBER, TEXT) if outer.of(kind)])
        theirs, mine = self._rng.choice(inner.of(kind)), self._rng.choice(outer.of(kind))
        near = f"SELECT * FROM ({inner.sql}) y WHERE y.{theirs} = x.{mine}"
        near = f"{near} ORDER BY {self._sorted(inner, 'y')} LIMIT 1" if self._rng.random() < 0.5 else near
        how = self._rng.choice(("JOIN", "LEFT JOIN"))
        return self._items(self._some_of(outer, inner), f" FROM ({outer.sql}) x {how} LATERAL ({near}) y ON true", (outer, inner))

    def _ranking(self, depth: int) -> Query:
        inner = self.any(depth - 1)
        names = [name for name, _ in inner.columns]
        by = f"PARTITION BY {', '.join(f'x.{name}' for name in self._rng.sample(names, min(len(names), self._rng.choice((1, 1, 2)))))} "
        by = by if self._rng.random() < 0.85 else ""
        order = f"ORDER BY {self._sorted(inner, 'x')}"
        value = self._rng.choice(inner.of(NUMBER) or [""])
        forms = [f"row_number() OVER ({by}{order})", f"rank() OVER ({by}{order})", f"count(*) OVER ({by.strip()})"]
        if value:
            forms += [f"sum(x.{value}) OVER ({by}{order})", f"lag(x.{value}) OVER ({by}{order})", f"max(x.{value}) OVER ({by.strip()})"]
            forms += [f"first_value(x.{value}) OVER ({by}{order})", f"min(x.{value}) OVER ({by}{order} ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)"]
        if self._rng.random() < 0.2:
            return self._over(inner, f" QUALIFY {self._rng.choice(forms)} <= {self._rng.randint(1, 4)}")
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
            f"(EXISTS (SELECT 1 FROM {within} WHERE y.{theirs} = x.{mine}) OR {self._condition(outer, 'x')})",
            f"x.{mine} IN (SELECT max(y.{theirs}) FROM {within} GROUP BY y.{value})",
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
        return self._over(inner, f" ORDER BY {self._sorted(inner, 'x')} LIMIT {self._rng.randint(1, 6)}{self._rng.choice(('', '', ' OFFSET 2'))}")

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
