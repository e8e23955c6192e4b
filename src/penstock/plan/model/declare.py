"""What a user declares: streams, tables, views and sinks, as values; and the app that holds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TypeAlias

from penstock.errors import UserError, Where
from penstock.plan.model.nodes import Node
from penstock.schema import Schema


class Emit(Enum):
    """When a view's rows are given out."""

    CHANGES = "changes"
    ON_CLOSE = "on close"
    COMPLETE = "complete"


@dataclass(frozen=True)
class Secret:
    """`secret('name')`: a reference, never the value."""

    name: str


Options: TypeAlias = Mapping[str, "str | Secret"]
ON_ERROR = ("dead", "stop")
RESERVED_ENDINGS = ("__late", "__dead", "__kept")
RESERVED_HINT = f"names that begin with __ or end with {', '.join(RESERVED_ENDINGS)} belong to Penstock"


def is_reserved(name: str) -> bool:
    """Whether a name is one of those that Penstock gives itself."""
    return name.startswith("__") or name.lower().endswith(RESERVED_ENDINGS)


@dataclass(frozen=True)
class Stream:
    """A named, typed, unbounded table. `faults` are what is wrong with how it is written, for the check to report beside what else it finds."""

    name: str
    schema: Schema
    options: Options = field(repr=False)
    event_time: str | None = None
    lateness: str | None = None
    where: Where | None = field(default=None, compare=False)
    faults: tuple[UserError, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True)
class Table:
    """Reference data. An empty schema means: as the file or the database says. `faults` as of a stream."""

    name: str
    schema: Schema
    options: Options = field(repr=False)
    where: Where | None = field(default=None, compare=False)
    faults: tuple[UserError, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True)
class View:
    """A continuous query. `text` is the query as the user wrote it, for errors; empty for Python views. `begins` is where the text does."""

    name: str
    query: Node
    emit: Emit = Emit.CHANGES
    options: Options = field(default_factory=dict)
    text: str = field(default="", compare=False)
    where: Where | None = field(default=None, compare=False)
    begins: Where | None = field(default=None, compare=False)
    watermarks: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """What its own FROM declares, which holds instead of a stream's: relation -> (column, lateness)."""

    @property
    def on_error(self) -> str:
        """`dead` or `stop`: what becomes of a row for which a Python function raises."""
        return str(self.options.get("on_error", ON_ERROR[0])).lower()

    @property
    def alerts(self) -> bool:
        """Whether its rows are alerts, for people to see and acknowledge."""
        return str(self.options.get("alert", "false")).lower() == "true"

    @property
    def stored(self) -> bool:
        """Whether its rows are kept in the results store."""
        return str(self.options.get("store", "true")).lower() != "false"


@dataclass(frozen=True)
class Sink:
    """Where a view's changes are delivered."""

    name: str
    view: str
    options: Options = field(repr=False)
    where: Where | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Function:
    """A Python function of the app, `target` its `module:name`, that expressions may call by `name`.

    It is given one value at a time, or whole columns where it is `vectorized`.
    """

    name: str
    target: str
    returns: str
    vectorized: bool = False
    where: Where | None = field(default=None, compare=False)


Declaration: TypeAlias = Stream | Table | View | Sink | Function


@dataclass(frozen=True)
class Declared:
    """A whole app after all its files were read: names are unique across kinds, in order of declaration.

    `file` is the name of the one that it was read from, where it is not a folder.
    """

    name: str
    folder: Path
    declarations: Mapping[str, Declaration]
    file: str | None = None

    @property
    def streams(self) -> dict[str, Stream]:
        return {name: d for name, d in self.declarations.items() if isinstance(d, Stream)}

    @property
    def tables(self) -> dict[str, Table]:
        return {name: d for name, d in self.declarations.items() if isinstance(d, Table)}

    @property
    def views(self) -> dict[str, View]:
        return {name: d for name, d in self.declarations.items() if isinstance(d, View)}

    @property
    def readable(self) -> tuple[str, ...]:
        """The names that may stand in FROM."""
        return tuple(name for name, d in self.declarations.items() if isinstance(d, Stream | Table | View))

    @property
    def functions(self) -> dict[str, Function]:
        return {name: d for name, d in self.declarations.items() if isinstance(d, Function)}

    @property
    def sinks(self) -> dict[str, Sink]:
        return {name: d for name, d in self.declarations.items() if isinstance(d, Sink)}
