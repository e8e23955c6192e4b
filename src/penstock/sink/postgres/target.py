"""Finds the table of a Postgres sink: made from the view's columns if absent, recreated where a view that starts over has other ones, else
checked against them. A table is not written to where it cannot hold what the view holds, or where that would cost rows that are not the sink's.

A table that Penstock makes says so in its comment, and for which sink: a sink without a ledger has no other way to know.
"""

from __future__ import annotations

from psycopg import sql
from psycopg.errors import DependentObjectsStillExist

from penstock.errors import RefusalError
from penstock.schema import parse_type
from penstock.sink.postgres.table import Field, Target, clear, listed
from penstock.sink.spec import SinkSpec
from penstock.store.postgres_server import Connection, identifier
from penstock.store.postgres_types import holds, postgres_type

_MADE, _ALONE = "Penstock made this table for sink ", ", which replaces all its rows with every epoch"
_COLUMNS = (  # a domain is as its type, an enumeration is one by any name
    "SELECT attname::text, format_type(atttypid, atttypmod), CASE typtype WHEN 'e' THEN 'enum' WHEN 'd' THEN format_type(typbasetype, typtypmod)"
    " ELSE format_type(atttypid, atttypmod) END FROM pg_attribute JOIN pg_type t ON t.oid = atttypid"
    " WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
)


def replaces_all(spec: SinkSpec) -> bool:
    """Whether every epoch replaces the whole table: its view is complete, or has a single row."""
    return spec.complete or spec.key == ()


def make_if_absent(connection: Connection, spec: SinkSpec) -> bool:
    """Whether the table had to be made."""
    name = identifier(spec.options["table"])
    if known_by(connection, name) is not None:
        return False
    connection.execute(sql.SQL("CREATE TABLE {} ({})").format(name, listed(_parts(connection, spec))))
    _mark(connection, spec)
    return True


def find_target(connection: Connection, spec: SinkSpec, ledgered: bool) -> Target:
    """The sink's table, which is there. RefusalError when it cannot take the view's rows as they are."""
    name = identifier(spec.options["table"])
    relation = _relation(connection, name)
    owner = _marked(connection, relation)
    if owner.endswith(_ALONE) and owner != _mark_of(spec):
        raise RefusalError(
            f"sink `{spec.name}`: table {spec.options['table']} is that of sink {owner.removeprefix(_MADE).removesuffix(_ALONE)}{_ALONE}",
            hint="name another table: Penstock makes it",
        )
    fields = _fields(connection, spec, relation)
    key = _key_of(spec, fields)
    if key and {field.name for field in key} not in _unique(connection, relation):
        named = ", ".join(field.name for field in key)
        raise RefusalError(
            f"sink `{spec.name}`: table {spec.options['table']} has no unique index on ({named}), the key of view `{spec.view}`",
            hint=f"CREATE UNIQUE INDEX ON {spec.options['table']} ({named}) NULLS NOT DISTINCT",
        )
    if ledgered:
        _check_logged(connection, spec, relation)
    return Target(name, fields, key)


def renewed(connection: Connection, spec: SinkSpec, ledgered: bool) -> Target:
    """The table, emptied for a view that starts over, and recreated where the view has other columns or another key than it had.

    Its owner, its rights and its place in the database stay: only its columns are replaced. A reader sees the old rows until the end of the
    transaction, and then the new ones.
    """
    name = identifier(spec.options["table"])
    clear(connection, name)
    if not _fits(connection, spec, ledgered):
        dropped = [sql.SQL("DROP COLUMN {}").format(sql.Identifier(column)) for column, _, _ in _columns(connection, _relation(connection, name))]
        added = [sql.SQL("ADD {}").format(part) for part in _parts(connection, spec)]
        try:
            connection.execute(sql.SQL("ALTER TABLE {} {}").format(name, listed(dropped)))
            connection.execute(sql.SQL("ALTER TABLE {} {}").format(name, listed(added)))
        except DependentObjectsStillExist as error:
            raise RefusalError(
                f"sink `{spec.name}`: view `{spec.view}` starts over with other columns or another key, and table {spec.options['table']}"
                f" cannot be recreated, for others depend on it: {error.diag.message_detail}",
                hint="drop them and make them again afterwards, or name another table",
            ) from error
    _mark(connection, spec)
    return find_target(connection, spec, ledgered)


def check_alone(connection: Connection, spec: SinkSpec, *, made: bool | None, shared: bool) -> None:
    """RefusalError where every epoch would remove rows that are not the sink's own. `made` is its ledger's word, None where it has none."""
    own = made if made is not None else _marked(connection, _relation(connection, identifier(spec.options["table"]))) == _mark_of(spec)
    if replaces_all(spec) and (shared or not own):
        raise RefusalError(
            f"sink `{spec.name}`: every epoch of view `{spec.view}` replaces all rows of table {spec.options['table']},"
            f" but {'other sinks write to it too' if shared else 'Penstock did not make that table for it'}",
            hint="name another table: Penstock makes it",
        )


def known_by(connection: Connection, name: sql.Identifier) -> int | None:
    """What the server knows a table by, however its name is written; None where there is none."""
    found = connection.execute("SELECT to_regclass(%s)::oid", (name.as_string(connection),)).fetchone()
    return found[0] if found else None


def _relation(connection: Connection, name: sql.Identifier) -> int:
    relation = known_by(connection, name)
    assert relation is not None
    return relation


def _mark_of(spec: SinkSpec) -> str:
    return f"{_MADE}{spec.name}{_ALONE if replaces_all(spec) else ''}"


def _mark(connection: Connection, spec: SinkSpec) -> None:
    connection.execute(sql.SQL("COMMENT ON TABLE {} IS {}").format(identifier(spec.options["table"]), sql.Literal(_mark_of(spec))))


def _marked(connection: Connection, relation: int) -> str:
    found = connection.execute("SELECT coalesce(obj_description(%s, 'pg_class'), '')", (relation,)).fetchone()
    return str(found[0]) if found else ""


def _parts(connection: Connection, spec: SinkSpec) -> list[sql.Composable]:
    """The columns and the key of a table that Penstock makes."""
    parts: list[sql.Composable] = [
        sql.SQL("{} {}").format(sql.Identifier(column.name), sql.SQL(postgres_type(parse_type(column.type)))) for column in spec.schema
    ]
    if spec.key and not spec.complete:
        # A key may hold nulls, which a primary key refuses; before version 15 two nulls count as different.
        distinct = sql.SQL("NULLS NOT DISTINCT ") if connection.info.server_version >= 150000 else sql.SQL("")
        parts.append(sql.SQL("UNIQUE {}({})").format(distinct, listed([sql.Identifier(column) for column in spec.key])))
    return parts


def _columns(connection: Connection, relation: int) -> list[tuple[str, str, str]]:
    """Name and type of each column, and the type that says what it holds."""
    return [(name, kind, held) for name, kind, held in connection.execute(_COLUMNS, (relation,)).fetchall()]


def _fields(connection: Connection, spec: SinkSpec, relation: int) -> tuple[Field, ...]:
    found = {name: (kind, held) for name, kind, held in _columns(connection, relation)}
    folded = {name.lower(): name for name in found}
    names = {column.name: column.name if column.name in found else folded.get(column.name.lower()) for column in spec.schema}
    wanted = {column.name: postgres_type(parse_type(column.type)) for column in spec.schema}
    missing = [f"{column} {wanted[column]}" for column, name in names.items() if name is None]
    if missing:
        raise RefusalError(
            f"sink `{spec.name}`: table {spec.options['table']} lacks columns of view `{spec.view}`: {', '.join(missing)}",
            hint="add them, or let Penstock make a table of another name",
        )
    fields = tuple(Field(column, name, found[name][0]) for column in spec.schema if (name := names[column.name]) is not None)
    unfit = [field for field in fields if not holds(found[field.name][1], parse_type(field.column.type))]
    if unfit:
        problems = ", ".join(f"{field.name} is {field.type} and should be {wanted[field.column.name]}" for field in unfit)
        first = f"ALTER TABLE {spec.options['table']} ALTER COLUMN {unfit[0].name} TYPE {wanted[unfit[0].column.name]}"
        raise RefusalError(
            f"sink `{spec.name}`: table {spec.options['table']} cannot hold every value of view `{spec.view}` as it is: {problems}",
            hint=f"{first}, or cast the column in the view, or let Penstock make a table of another name",
        )
    return fields


def _key_of(spec: SinkSpec, fields: tuple[Field, ...]) -> tuple[Field, ...] | None:
    wanted = {column.lower() for column in spec.key or ()}
    return None if spec.key is None or spec.complete else tuple(field for field in fields if field.column.name.lower() in wanted)


def _unique(connection: Connection, relation: int) -> list[set[str]]:
    """The columns of each unique index that is over columns alone and all rows."""
    found = connection.execute(
        "SELECT (SELECT array_agg(a.attname::text) FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey))"
        " FROM pg_index i WHERE i.indrelid = %s AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL",
        (relation,),
    ).fetchall()
    return [set(columns or ()) for (columns,) in found]


def _fits(connection: Connection, spec: SinkSpec, ledgered: bool) -> bool:
    """Whether a table that Penstock made takes the rows of the view as it is now: its columns do, and its key is no other."""
    try:
        target = find_target(connection, spec, ledgered)
    except RefusalError:
        return False
    own, key = {field.name for field in target.fields}, {field.name for field in target.key or ()}
    return all(columns == key for columns in _unique(connection, _relation(connection, target.name)) if columns <= own)


def _check_logged(connection: Connection, spec: SinkSpec, relation: int) -> None:
    persistence = connection.execute("SELECT relpersistence::text FROM pg_class WHERE oid = %s", (relation,)).fetchone()
    if persistence != ("p",):
        raise RefusalError(
            f"sink `{spec.name}`: table {spec.options['table']} is unlogged or temporary and loses its rows in a crash",
            hint=f"ALTER TABLE {spec.options['table']} SET LOGGED, or ask for delivery = 'at-least-once'",
        )
