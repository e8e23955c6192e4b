"""An app's files as one set of declarations: SQL is parsed, Python is imported, names are made unique."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from penstock.errors import AppFault, NameFault, SyntaxFault
from penstock.plan.model.declare import Declaration, Declared, Function, Sink, Stream, Table, View
from penstock.plan.model.names import Names, schemas
from penstock.plan.model.nodes import Node, Opaque, Scan, rebuild
from penstock.plan.python.file import creates_of
from penstock.plan.sql.aliases import columns_first
from penstock.plan.sql.statements import Create, Drop, Statement, parse_for_check
from penstock.plan.sql.window_times import by_their_ends

_SUFFIXES = (".sql", ".py")
_KIND_OF = {Stream: "stream", Table: "table", View: "view", Sink: "sink", Function: "function"}


def load(path: str | Path, more: Iterable[Statement] = ()) -> Declared:
    """The app at `path`: a .sql file, a .py file, or a folder of them, read in order of their names; and what is declared besides."""
    place = Path(path).expanduser().resolve()
    if not place.exists():
        raise AppFault(f"there is no app at {path}", hint="give a .sql file, a .py file or a folder of them; `penstock new` makes one")
    folder = place if place.is_dir() else place.parent
    closed: list[Path] = []
    files = list(files_of(place, closed))
    if not files:
        _require_open(closed, folder, {})
        raise AppFault(f"{path} holds no .sql and no .py file", hint="`penstock new` makes an app to start from")
    if files[0].suffix not in _SUFFIXES:
        raise AppFault(f"{path} is neither SQL nor Python", hint="an app is a .sql file, a .py file or a folder of them")
    seen: set[int] = set()
    statements = (entry for file in files for entry in _read(file, folder, alone=len(files) == 1, seen=seen))
    declarations = merged(chain(statements, more))
    if not declarations:
        raise AppFault(f"{path} declares nothing", hint="begin with CREATE STREAM name (...) WITH (connector = '...')")
    _require_open(closed, folder, declarations)
    is_file = place.is_file()
    return Declared(place.stem if is_file else place.name, folder, MappingProxyType(declarations), place.name if is_file else None)


def declared_here(name: str, folder: Path, statements: Iterable[Statement]) -> Declared:
    """An app that is declared in the running process; relative paths are relative to `folder`."""
    declarations = merged(statements)
    if not declarations:
        raise AppFault(f"app `{name}` declares nothing yet", hint='begin with app.stream("name", ps.Files("folder"), "id STRING, ...")')
    return Declared(name, folder, MappingProxyType(declarations))


def _require_open(closed: list[Path], folder: Path, declarations: Mapping[str, Declaration]) -> None:
    """AppFault for a folder that may not be read and may hold files of the app. One that a source names is data: the check speaks of it."""
    data = [folder / str(entry.options.get("path")) for entry in declarations.values() if isinstance(entry, Stream | Table)]
    for place in closed:
        if not any(path.is_relative_to(place) or place.is_relative_to(path) for path in data):
            raise AppFault(f"no right to read the folder {place}", hint=f"give yourself the right: chmod u+rx {place}")


def files_of(app: Path, closed: list[Path] | None = None) -> Iterator[Path]:
    """The files that an app is read from, in order; folders that may not be read are added to `closed`."""
    return _files(app, [] if closed is None else closed) if app.is_dir() else iter([app])


def _files(folder: Path, closed: list[Path]) -> Iterator[Path]:
    """Files of the app, sorted by name; hidden ones, `tests` and what begins with an underscore are not part of it.

    Folders that may not be read are added to `closed`.
    """
    try:
        entries = sorted(folder.iterdir())
    except PermissionError:
        closed.append(folder)
        return
    for entry in entries:
        if entry.name.startswith((".", "_")) or entry.name in ("tests", "venv", "node_modules"):
            continue
        if entry.is_dir():
            yield from _files(entry, closed)
        elif entry.suffix in _SUFFIXES and not entry.name.startswith("test_") and entry.name != "conftest.py":
            yield entry


def _read(file: Path, folder: Path, alone: bool, seen: set[int]) -> Iterable[Statement]:
    shown = _shown(file)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise AppFault(f"{shown} is not UTF-8: {error.reason} at byte {error.start}", hint="save it as UTF-8; files of an app are") from None
    except PermissionError:
        raise AppFault(f"{shown} cannot be read: you have no right to read it", hint=f"give yourself the right: chmod u+r {shown}") from None
    except OSError as error:
        raise AppFault(f"{shown} cannot be read: {error.strerror}") from None
    if file.suffix == ".py":
        return creates_of(file, text, folder, alone, seen)
    return parse_for_check(text, shown)


def _shown(file: Path) -> str:
    """The path as a person would write it."""
    try:
        return str(file.relative_to(Path.cwd()))
    except ValueError:
        return str(file)


def merged(statements: Iterable[Statement]) -> dict[str, Declaration]:
    """The declarations that are left after every CREATE and DROP; two of one name are a fault that names both places."""
    kept: dict[str, Declaration] = {}
    for statement in statements:
        if isinstance(statement, Create):
            _create(kept, statement)
        elif isinstance(statement, Drop):
            _drop(kept, statement)
        else:
            raise SyntaxFault(
                "SELECT and SUBSCRIBE do not declare anything",
                where=statement.where,
                hint="make it a view: CREATE MATERIALIZED VIEW name AS SELECT ...",
            )
    names = {declaration.name.lower(): declaration.name for declaration in kept.values()}
    return _resolve_all_aliases({declaration.name: _with_declared_names(declaration, names) for declaration in kept.values()})


def _resolve_all_aliases(declarations: dict[str, Declaration]) -> dict[str, Declaration]:
    """The same declarations, their queries looked at again now that columns are known."""
    known = Names(schemas(declarations))
    return {
        name: replace(entry, query=resolve_aliases(entry.query, known)) if isinstance(entry, View) else entry for name, entry in declarations.items()
    }


def resolve_aliases(query: Node, known: Names) -> Node:
    """The plan with names in GROUP BY and times of windows as the columns below say: a column goes before an alias, a window is known by its end."""
    return by_their_ends(columns_first(query, known), known)


def _create(kept: dict[str, Declaration], statement: Create) -> None:
    new = statement.declaration
    old = kept.get(new.name.lower())
    if old is not None and statement.if_not_exists:
        return
    if old is not None and not statement.or_replace:
        at = f" at {old.where}" if old.where else ""
        hint = "give one of them another name, or write CREATE OR REPLACE"
        raise NameFault(f"the {_KIND_OF[type(new)]} `{new.name}` has the name of the {_KIND_OF[type(old)]} declared{at}", where=new.where, hint=hint)
    kept[new.name.lower()] = new


def _drop(kept: dict[str, Declaration], statement: Drop) -> None:
    old = kept.get(statement.name.lower())
    if old is None and statement.if_exists:
        return
    if old is None:
        near = difflib.get_close_matches(statement.name.lower(), kept, n=1)
        hint = f"did you mean `{kept[near[0]].name}`?" if near else "DROP ... IF EXISTS says that it may be absent"
        raise NameFault(f"there is no {statement.kind} `{statement.name}` to drop", where=statement.where, hint=hint)
    if _KIND_OF[type(old)] != statement.kind:
        raise NameFault(
            f"`{old.name}` is a {_KIND_OF[type(old)]}, not a {statement.kind}",
            where=statement.where,
            hint=f"DROP {_KIND_OF[type(old)].upper()} {old.name}",
        )
    del kept[statement.name.lower()]


def _with_declared_names(declaration: Declaration, names: Mapping[str, str]) -> Declaration:
    if isinstance(declaration, View):
        return replace(declaration, query=with_declared_names(declaration.query, names))
    if isinstance(declaration, Sink):
        return replace(declaration, view=names.get(declaration.view.lower(), declaration.view))
    return declaration


def with_declared_names(node: Node, names: Mapping[str, str]) -> Node:
    """The plan with the names it reads as they were declared; `names` maps their lower case to their spelling."""
    if isinstance(node, Scan):
        return replace(node, name=names.get(node.name.lower(), node.name))
    if isinstance(node, Opaque):
        return replace(node, names=tuple(names.get(name.lower(), name) for name in node.names))
    return rebuild(node, lambda child: with_declared_names(child, names))
