"""Statements that are made while an app runs: what they make of it, and what of them still holds when its files are read again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from penstock.catalog import AddedStatement
from penstock.errors import InUseFault, SyntaxFault
from penstock.plan.load import merged
from penstock.plan.model.declare import Declaration, Declared, Options, Secret, Sink, Stream, Table, View
from penstock.plan.model.nodes import names_read
from penstock.plan.model.text import sql
from penstock.plan.sql.statements import Create, Drop, Rollback, Statement, parse

_FILE = "added statement"


def read_statements(text: str) -> list[Create | Drop | Rollback]:
    """CREATE, CREATE OR REPLACE, DROP and ROLLBACK VIEW; nothing else can be made part of an app."""
    found: list[Create | Drop | Rollback] = []
    for statement in parse(text, "SQL"):
        if not isinstance(statement, Create | Drop | Rollback):
            raise SyntaxFault("only CREATE, DROP and ROLLBACK VIEW change an app", where=statement.where, hint="a SELECT is for `penstock query`")
        found.append(statement)
    if not found:
        raise SyntaxFault("there is no statement", hint="CREATE MATERIALIZED VIEW name AS SELECT ...")
    return found


def changed(declared: Declared, statements: Iterable[Create | Drop]) -> Declared:
    """The app after these statements; a view that is dropped takes its sinks along. InUseFault for what others still read."""
    all_of_them: list[Statement] = [Create(found) for found in declared.declarations.values()]
    for statement in statements:
        if isinstance(statement, Drop) and statement.kind == "view":
            sinks = [sink for sink in declared.sinks.values() if sink.view.lower() == statement.name.lower()]
            all_of_them += [Drop("sink", sink.name, if_exists=True) for sink in sinks]
        all_of_them.append(statement)
    found = merged(all_of_them)
    for name in declared.declarations:
        readers = [other.name for other in found.values() if isinstance(other, View) and name in names_read(other.query)]
        if name not in found and readers:
            raise InUseFault(
                f"`{name}` cannot be dropped: {', '.join(f'`{reader}`' for reader in readers)} read{'s' * (len(readers) == 1)} it",
                hint="drop what reads it first, or in the same request before it",
            )
    return _with(declared, found)


def to_keep(kept: Sequence[AddedStatement], statements: Iterable[Create | Drop], files: Declared, after: Declared) -> list[AddedStatement]:
    """What is to be kept of all statements so far, so that the app is the same when its files are read again."""
    found = {statement.name: statement for statement in kept}
    for statement in statements:
        name = statement.declaration.name if isinstance(statement, Create) else statement.name
        name = next((known for known in (*files.declarations, *found) if known.lower() == name.lower()), name)
        found.pop(name, None)
        if isinstance(statement, Create) and statement.declaration == files.declarations.get(name):
            continue  # it is again what the files say
        if isinstance(statement, Create):
            found[name] = AddedStatement(name, statement.text, identity(files.declarations.get(name)))
        elif name in files.declarations:
            found[name] = AddedStatement(name, None, identity(files.declarations[name]))
    for name, sink in files.sinks.items():  # those that went with their view
        if name not in after.declarations:
            found.setdefault(name, AddedStatement(name, None, identity(sink)))
    return [statement for statement in found.values() if statement.text is None or statement.name in after.declarations]


def with_added(files: Declared, kept: Sequence[AddedStatement]) -> tuple[Declared, list[AddedStatement], list[str]]:
    """The app by its files and by what was added; what of that holds; and why the rest does not.

    A statement was made later than the declaration it replaces. Where the file says something else by now, that is later still.
    """
    declarations, holds, reasons = dict(files.declarations), list[AddedStatement](), list[str]()
    for statement in kept:
        if identity(files.declarations.get(statement.name)) != statement.against:
            reasons.append(f"`{statement.name}` is as the app's files say: they have changed since a statement replaced it")
            continue
        declarations.pop(statement.name, None)
        holds.append(statement)
        if statement.text is not None:
            (create,) = read_statements_of_app(statement.text)
            declarations[create.declaration.name] = create.declaration
    while (lost := _unreadable(declarations, {statement.name for statement in holds})) is not None:
        name, read = lost
        del declarations[name]
        holds = [statement for statement in holds if statement.name != name]
        reasons.append(f"`{name}`, which a statement added, is left out: the app has no `{read}` any more")
    return _with(files, merged(Create(found) for found in declarations.values())), holds, reasons


def read_statements_of_app(text: str) -> list[Create]:
    """A statement that was kept: it was checked when it was made."""
    return [statement for statement in parse(text, _FILE) if isinstance(statement, Create)]


def identity(declaration: Declaration | None) -> str:
    """What a declaration says, in short; empty for none. Where it stands does not matter."""
    match declaration:
        case None:
            return ""
        case Stream() | Table():
            parts = [declaration.schema.ddl, str([column.computed for column in declaration.schema]), _options(declaration.options)]
            parts += [str(declaration.event_time), str(declaration.lateness)] if isinstance(declaration, Stream) else []
        case View():
            parts = [sql(declaration.query), declaration.emit.value, _options(declaration.options), str(sorted(declaration.watermarks.items()))]
        case Sink():
            parts = [declaration.view, _options(declaration.options)]
    return hashlib.sha256("\x00".join([type(declaration).__name__, declaration.name, *parts]).encode()).hexdigest()[:16]


def _options(options: Options) -> str:
    return str(sorted((name, f"secret {value.name}" if isinstance(value, Secret) else str(value)) for name, value in options.items()))


def _unreadable(declarations: dict[str, Declaration], names: set[str]) -> tuple[str, str] | None:
    """One of the added views or sinks that reads what is not there, and what that is."""
    known = {name.lower() for name in declarations}
    for name in names & declarations.keys():
        found = declarations[name]
        read = names_read(found.query) if isinstance(found, View) else (found.view,) if isinstance(found, Sink) else ()
        for other in read:
            if other.lower() not in known:
                return name, other
    return None


def _with(declared: Declared, declarations: dict[str, Declaration]) -> Declared:
    return Declared(declared.name, declared.folder, declarations, declared.file)
