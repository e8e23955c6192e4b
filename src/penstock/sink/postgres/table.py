"""The table that a Postgres sink writes, as a value, and the statements that bring it from one epoch to the next.

Postgres itself decodes the rows, which arrive as JSON text by COPY.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from psycopg import sql

from penstock.change import Change
from penstock.crash_points import crash_point
from penstock.schema import Column
from penstock.store.postgres_server import Connection
from penstock.store.postgres_text import NUL, readable
from penstock.store.postgres_types import decoded

_STAGE = "CREATE TEMPORARY TABLE IF NOT EXISTS penstock_stage (n bigint, op text, r jsonb) ON COMMIT DELETE ROWS"
_NOTHING = sql.SQL("")


@dataclass(frozen=True)
class Field:
    """A column of the view and the column of the table that receives it."""

    column: Column
    name: str
    type: str

    @property
    def identifier(self) -> sql.Identifier:
        return sql.Identifier(self.name)

    @property
    def value(self) -> sql.Composed:
        return decoded(self.column, sql.SQL("s.r"), self.type)


@dataclass(frozen=True)
class Target:
    """A table with the columns that are written and, for a keyed view, those of its key."""

    name: sql.Identifier
    fields: tuple[Field, ...]
    key: tuple[Field, ...] | None

    def put(self, connection: Connection, changes: Sequence[Change]) -> None:
        """Apply the changes of one epoch."""
        if self.key is not None:
            last = {change.key: change for change in changes}
            if not self.key and last:  # a view of one row
                self.fill(connection, [change.row for change in last.values() if change.op == "+"])
                return
            self._stage(connection, [(change.op, change.row) for change in last.values()])
            if any(NUL in (change.key or "") for change in last.values()):
                self._keep_last(connection, self.key)
            self._remove_keys(connection, self.key)
            if any("null" in (change.key or "") for change in last.values()):
                self._put_nulls(connection, self.key)
            self._upsert(connection, self.key)
            return
        net: Counter[str] = Counter()
        for change in changes:
            net[change.row] += 1 if change.op == "+" else -1
        self._stage(connection, [("+" if count > 0 else "-", row) for row, count in net.items() for _ in range(abs(count))])
        if any(count < 0 for count in net.values()):
            self._remove_copies(connection)
        self._insert(connection)

    def fill(self, connection: Connection, rows: Iterable[str]) -> None:
        """Replace the table's content, of which all is this sink's own."""
        clear(connection, self.name)
        self._stage(connection, [("+", row) for row in rows])
        self._insert(connection)

    def _stage(self, connection: Connection, rows: Sequence[tuple[str, str]]) -> None:
        connection.execute(_STAGE)
        key = {field.column.name for field in self.key or ()}
        lines = readable([row for _, row in rows], key)
        with connection.cursor() as cursor, cursor.copy("COPY penstock_stage FROM STDIN") as copy:
            for n, ((op, _), line) in enumerate(zip(rows, lines, strict=True)):
                copy.write_row((n, op, line))
        crash_point("sink.mid-rows")

    def _insert(self, connection: Connection, ending: sql.Composable = _NOTHING) -> None:
        connection.execute(
            sql.SQL("INSERT INTO {} ({}) SELECT {} FROM penstock_stage s WHERE s.op = '+' ORDER BY s.n {}").format(
                self.name, listed([field.identifier for field in self.fields]), listed([field.value for field in self.fields]), ending
            )
        )

    def _upsert(self, connection: Connection, key: tuple[Field, ...]) -> None:
        rest = [field.identifier for field in self.fields if field not in key]
        new = listed([sql.SQL("{} = excluded.{}").format(name, name) for name in rest])
        action = sql.SQL("DO UPDATE SET {}").format(new) if rest else sql.SQL("DO NOTHING")
        self._insert(connection, sql.SQL("ON CONFLICT ({}) {}").format(listed([field.identifier for field in key]), action))

    def _keep_last(self, connection: Connection, key: tuple[Field, ...]) -> None:
        """Of the changes whose keys are one in Postgres, since it cannot hold what distinguishes them, the last is made."""
        connection.execute(
            sql.SQL(
                "DELETE FROM penstock_stage WHERE n IN (SELECT n FROM (SELECT n, row_number() OVER"
                " (PARTITION BY ROW({})::text ORDER BY n DESC) AS place FROM penstock_stage s) placed WHERE place > 1)"
            ).format(listed([field.value for field in key]))
        )

    def _remove_keys(self, connection: Connection, key: tuple[Field, ...]) -> None:
        equal = sql.SQL(" AND ").join([sql.SQL("t.{} = {}").format(field.identifier, field.value) for field in key])
        connection.execute(sql.SQL("DELETE FROM {} t USING penstock_stage s WHERE s.op = '-' AND {}").format(self.name, equal))

    def _put_nulls(self, connection: Connection, key: tuple[Field, ...]) -> None:
        """Changes of rows that are there and whose key holds a null: to most unique indices no two of those are equal."""
        held = listed([sql.SQL("t.{}").format(field.identifier) for field in key])
        null = sql.SQL(" OR ").join([sql.SQL("{} IS NULL").format(field.value) for field in key])
        same = sql.SQL("({}) AND ROW({})::text = ROW({})::text").format(null, held, listed([field.value for field in key]))
        connection.execute(sql.SQL("DELETE FROM {} t USING penstock_stage s WHERE s.op = '-' AND {}").format(self.name, same))
        rest = [sql.SQL("{} = {}").format(field.identifier, field.value) for field in self.fields if field not in key]
        if rest:
            connection.execute(sql.SQL("UPDATE {} t SET {} FROM penstock_stage s WHERE s.op = '+' AND {}").format(self.name, listed(rest), same))
        connection.execute(sql.SQL("DELETE FROM penstock_stage s USING {} t WHERE s.op = '+' AND {}").format(self.name, same))

    def _remove_copies(self, connection: Connection) -> None:
        """Delete exactly one equal row for each that is taken back. Rows are compared as text, which is null-safe and can be hashed."""
        connection.execute(
            sql.SQL(
                "WITH taken AS (SELECT ROW({values})::text AS line FROM penstock_stage s WHERE s.op = '-'),"
                " gone AS (SELECT line, count(*) AS copies FROM taken GROUP BY line),"
                " held AS (SELECT ctid AS place, ROW({names})::text AS line FROM {table}),"
                " numbered AS (SELECT place, copies, row_number() OVER (PARTITION BY line ORDER BY place) AS copy FROM held JOIN gone USING (line))"
                " DELETE FROM {table} WHERE ctid IN (SELECT place FROM numbered WHERE copy <= copies)"
            ).format(
                values=listed([field.value for field in self.fields]), names=listed([field.identifier for field in self.fields]), table=self.name
            )
        )


def clear(connection: Connection, table: sql.Identifier) -> None:
    """Delete every row; only ever done to a table of which all rows are one sink's."""
    connection.execute(sql.SQL("DELETE FROM {}").format(table))


def listed(parts: Sequence[sql.Composable]) -> sql.Composed:
    """The parts with commas between them."""
    return sql.SQL(", ").join(parts)
