"""The table that a Postgres sink writes: made from the view's columns if absent, else checked against them; and the
statements that bring it from one epoch to the next. Postgres itself decodes the rows, which arrive as JSON text by COPY.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from psycopg import sql

from penstock.change import Change
from penstock.errors import RefusalError
from penstock.points import reach
from penstock.schema import Column
from penstock.sink.ddl import parse_type
from penstock.sink.postgres_server import Connection, identifier
from penstock.sink.postgres_types import decoded, postgres_type, without_nul
from penstock.sink.spec import SinkSpec

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
    """A table with the columns that are written and, for a keyed view, those of its key. `made`: Penstock made it just now."""

    name: sql.Identifier
    fields: tuple[Field, ...]
    key: tuple[Field, ...] | None
    made: bool

    def clear(self, connection: Connection) -> None:
        connection.execute(sql.SQL("DELETE FROM {}").format(self.name))

    def put(self, connection: Connection, changes: Sequence[Change]) -> None:
        """Apply the changes of one epoch."""
        if self.key is not None:
            last = {change.key: change for change in changes}
            if not self.key and last:  # a view of one row
                self.fill(connection, [change.row for change in last.values() if change.op == "+"])
                return
            self._stage(connection, [(change.op, change.row) for change in last.values()])
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
        """Replace the table's content."""
        self.clear(connection)
        self._stage(connection, [("+", row) for row in rows])
        self._insert(connection)

    def _stage(self, connection: Connection, rows: Sequence[tuple[str, str]]) -> None:
        connection.execute(_STAGE)
        with connection.cursor() as cursor, cursor.copy("COPY penstock_stage FROM STDIN") as copy:
            for n, (op, row) in enumerate(rows):
                copy.write_row((n, op, without_nul(row)))
        reach("sink.mid-rows")

    def _insert(self, connection: Connection, ending: sql.Composable = _NOTHING) -> None:
        connection.execute(
            sql.SQL("INSERT INTO {} ({}) SELECT {} FROM penstock_stage s WHERE s.op = '+' ORDER BY s.n {}").format(
                self.name, _listed([field.identifier for field in self.fields]), _listed([field.value for field in self.fields]), ending
            )
        )

    def _upsert(self, connection: Connection, key: tuple[Field, ...]) -> None:
        rest = [field.identifier for field in self.fields if field not in key]
        new = _listed([sql.SQL("{} = excluded.{}").format(name, name) for name in rest])
        action = sql.SQL("DO UPDATE SET {}").format(new) if rest else sql.SQL("DO NOTHING")
        self._insert(connection, sql.SQL("ON CONFLICT ({}) {}").format(_listed([field.identifier for field in key]), action))

    def _remove_keys(self, connection: Connection, key: tuple[Field, ...]) -> None:
        equal = sql.SQL(" AND ").join([sql.SQL("t.{} = {}").format(field.identifier, field.value) for field in key])
        connection.execute(sql.SQL("DELETE FROM {} t USING penstock_stage s WHERE s.op = '-' AND {}").format(self.name, equal))

    def _put_nulls(self, connection: Connection, key: tuple[Field, ...]) -> None:
        """Changes of rows that are there and whose key holds a null: to most unique indices no two of those are equal."""
        held = _listed([sql.SQL("t.{}").format(field.identifier) for field in key])
        null = sql.SQL(" OR ").join([sql.SQL("{} IS NULL").format(field.value) for field in key])
        same = sql.SQL("({}) AND ROW({})::text = ROW({})::text").format(null, held, _listed([field.value for field in key]))
        connection.execute(sql.SQL("DELETE FROM {} t USING penstock_stage s WHERE s.op = '-' AND {}").format(self.name, same))
        rest = [sql.SQL("{} = {}").format(field.identifier, field.value) for field in self.fields if field not in key]
        if rest:
            connection.execute(sql.SQL("UPDATE {} t SET {} FROM penstock_stage s WHERE s.op = '+' AND {}").format(self.name, _listed(rest), same))
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
                values=_listed([field.value for field in self.fields]), names=_listed([field.identifier for field in self.fields]), table=self.name
            )
        )


def find_target(connection: Connection, spec: SinkSpec, ledgered: bool) -> Target:
    """The sink's table, made if absent. SinkError when a table of that name cannot take the view's rows."""
    name = identifier(spec.options["table"])
    relation = known_by(connection, name)
    made = relation is None
    if relation is None:
        _create(connection, spec, name)
        relation = known_by(connection, name)
    assert relation is not None
    fields = _fields(connection, spec, relation)
    wanted = {column.lower() for column in spec.key or ()}
    key = None if spec.key is None or spec.complete else tuple(field for field in fields if field.column.name.lower() in wanted)
    if key and not made:
        _check_unique(connection, spec, relation, key)
    if ledgered and not made:
        _check_logged(connection, spec, relation)
    return Target(name, fields, key, made)


def known_by(connection: Connection, name: sql.Identifier) -> int | None:
    """What the server knows a table by, however its name is spelled; None where there is none."""
    found = connection.execute("SELECT to_regclass(%s)::oid", (name.as_string(connection),)).fetchone()
    return found[0] if found else None


def _create(connection: Connection, spec: SinkSpec, name: sql.Identifier) -> None:
    parts: list[sql.Composable] = [
        sql.SQL("{} {}").format(sql.Identifier(column.name), sql.SQL(postgres_type(parse_type(column.type)))) for column in spec.schema
    ]
    if spec.key and not spec.complete:
        # A key may hold nulls, which a primary key refuses; before version 15 two nulls count as different.
        distinct = sql.SQL("NULLS NOT DISTINCT ") if connection.info.server_version >= 150000 else sql.SQL("")
        parts.append(sql.SQL("UNIQUE {}({})").format(distinct, _listed([sql.Identifier(column) for column in spec.key])))
    connection.execute(sql.SQL("CREATE TABLE {} ({})").format(name, _listed(parts)))


def _fields(connection: Connection, spec: SinkSpec, relation: int) -> tuple[Field, ...]:
    found: dict[str, str] = dict(
        connection.execute(
            "SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped",
            (relation,),
        ).fetchall()
    )
    folded = {name.lower(): name for name in found}
    names = {column.name: column.name if column.name in found else folded.get(column.name.lower()) for column in spec.schema}
    missing = [f"{column.name} {postgres_type(parse_type(column.type))}" for column in spec.schema if names[column.name] is None]
    if missing:
        raise RefusalError(
            f"sink `{spec.name}`: table {spec.options['table']} lacks columns of view `{spec.view}`: {', '.join(missing)}",
            hint="add them, or let Penstock make a table of another name",
        )
    return tuple(Field(column, name, found[name]) for column in spec.schema if (name := names[column.name]) is not None)


def _check_unique(connection: Connection, spec: SinkSpec, relation: int, key: tuple[Field, ...]) -> None:
    indices = connection.execute(
        "SELECT (SELECT array_agg(a.attname::text) FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey))"
        " FROM pg_index i WHERE i.indrelid = %s AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL",
        (relation,),
    ).fetchall()
    wanted = {field.name for field in key}
    if not any(set(columns or ()) == wanted for (columns,) in indices):
        listed = ", ".join(field.name for field in key)
        raise RefusalError(
            f"sink `{spec.name}`: table {spec.options['table']} has no unique index on ({listed}), the key of view `{spec.view}`",
            hint=f"CREATE UNIQUE INDEX ON {spec.options['table']} ({listed}) NULLS NOT DISTINCT",
        )


def _check_logged(connection: Connection, spec: SinkSpec, relation: int) -> None:
    persistence = connection.execute("SELECT relpersistence::text FROM pg_class WHERE oid = %s", (relation,)).fetchone()
    if persistence != ("p",):
        raise RefusalError(
            f"sink `{spec.name}`: table {spec.options['table']} is unlogged or temporary and loses its rows in a crash",
            hint=f"ALTER TABLE {spec.options['table']} SET LOGGED, or ask for delivery = 'at-least-once'",
        )


def _listed(parts: Sequence[sql.Composable]) -> sql.Composed:
    return sql.SQL(", ").join(parts)
