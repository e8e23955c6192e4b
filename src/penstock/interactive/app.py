"""An app whose verbs are called where it is declared, or where it was opened: `ps.App`, `ps.open`.

Declaring is plan/python/app.py's; here are the verbs. What needs no Spark never starts it; what does shares the one session of the process.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Self

from penstock.errors import AppFault, UserError
from penstock.interactive.memory import Memory
from penstock.interactive.process import temporary_folder, to_be_closed
from penstock.plan.load import declared_here, load
from penstock.plan.model.declare import Declaration, Declared
from penstock.plan.model.findings import from_error
from penstock.plan.model.nodes import Node
from penstock.plan.python.app import App as DeclaringApp
from penstock.plan.python.connectors import Connector, Value
from penstock.plan.python.query import Query, check_text, user_place
from penstock.plan.sql.definition import parse_columns
from penstock.plan.sql.statements import Create, Select, parse
from penstock.settings import Settings, make_state, of_app

if TYPE_CHECKING:
    from penstock.engine import Engine
    from penstock.interactive.answers import Answers, Findings, Graph, Table
    from penstock.interactive.live import Live
    from penstock.interactive.result import Result
    from penstock.observe.status import ViewStatus
    from penstock.share.explain import Explanation
    from penstock.verify.report import Verdict

_NO_SETTINGS: Mapping[str, object] = MappingProxyType({})


class App(DeclaringApp):
    """Declarations, and the verbs over them.

    `state` is the state folder; without one an app that is declared here has a temporary one. Relative paths are relative to `folder`: that of
    the file which makes the App, in a notebook the working directory. `settings` are those of docs/settings.md.
    """

    def __init__(
        self, name: str, *, state: str | Path | None = None, folder: str | Path | None = None, settings: Mapping[str, object] = _NO_SETTINGS
    ) -> None:
        super().__init__(name, self)
        self._path: Path | None = None
        self._state = None if state is None else Path(state).expanduser().absolute()
        self._folder = _folder_of(user_place().file) if folder is None else Path(folder).expanduser().absolute()
        self._overrides = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in settings.items()}
        self._temporary: Path | None = None
        self._engine: Engine | None = None
        self._read_creates = -1
        self._lives: list[Live] = []

    # Declarations that only make sense in a process.

    def stream(
        self, name: str, source: Connector, columns: str = "", *, event_time: str | None = None, lateness: str | None = None, **options: Value
    ) -> Query:
        """A named, typed, unbounded table; `ps.Memory(...)` may leave out the columns."""
        if isinstance(source, Memory):
            source, columns = self._placed(name, source, columns)
            options = {"files_per_batch": 1, **options}
        return super().stream(name, source, columns, event_time=event_time, lateness=lateness, **options)

    def table(self, name: str, source: Connector, columns: str = "", **options: Value) -> Query:
        """Reference data to join with; without columns, as the data, the file or the database says."""
        if isinstance(source, Memory):
            source, columns = self._placed(name, source, columns)
        return super().table(name, source, columns, **options)

    def sql(self, text: str) -> Any:
        """One SELECT over streams, tables and what views hold: a Result. Or declarations in SQL: CREATE ... statements."""
        try:
            asked = parse(text, "SQL") if isinstance(text, str) else []
        except UserError:
            asked = []
        if len(asked) == 1 and isinstance(asked[0], Select):
            return self._rows_of(lambda engine: engine.query(text), "query")
        return super().sql(text)

    # The verbs.

    def check(self) -> Findings:
        """What is wrong or costly in the declarations; no Spark, no network."""
        from penstock.interactive.answers import Findings
        from penstock.wiring import findings_of

        try:
            declared, settings, home = self._declared()
            return Findings(findings_of(declared, settings, home), "ok")
        except UserError as error:
            return Findings([from_error(error, error.where)])

    def explain(self, view: str | None = None) -> Explanation | Answers[Explanation]:
        """How a view runs, or all of them: strategy, where the plan is cut and why, what it costs."""
        from penstock.interactive.answers import Answers

        found = self._opened().explain(view)
        return found[0] if view is not None else Answers(found)

    def graph(self) -> Graph:
        """The app drawn: streams, tables, views and sinks."""
        from penstock.interactive.answers import graph

        return graph(self._opened())

    def batch(self, view: str) -> Result:
        """A view over the whole history, once."""
        return self._rows_of(lambda engine: engine.batch(view), f"batch {view}")

    def peek(self, name: str, count: int | None = 20) -> Result:
        """The first rows of a stream, table or view, or of a stream's dead letters (`NAME__dead`)."""
        return self._rows_of(lambda engine: engine.peek(name, count), f"peek {name}")

    def ask(self, plan: Node) -> Result:
        """The rows of a query value over the history: what `query.batch()` calls."""
        return self._rows_of(lambda engine: engine.ask(plan), "query")

    def rows(self, view: str, where: str | None = None, *, limit: int | None = None) -> Result:
        """What a view holds since its last run; no Spark, unless there is a condition."""
        from penstock.interactive.stored import stored_rows
        from penstock.interactive.waiting import waited_for

        engine = self._opened()
        if where is None:
            return stored_rows(engine, view, None, limit)
        return waited_for(lambda: stored_rows(engine, view, where, limit), f"rows of {view}")

    def status(self) -> Table[ViewStatus]:
        """How every view stands, by what its last run left behind; no Spark."""
        from penstock.interactive.answers import statuses

        return statuses(self._opened().status())

    def run(self, *, drain: bool = False) -> Live:
        """Run all views in the background of this process; with `drain` until the sources are taken."""
        from penstock.interactive.live import Live

        live = Live(self._opened(), drain=drain)
        self._lives.append(live)
        return live

    def verify(self, view: str | None = None) -> Answers[Verdict]:
        """Compare what every view and sink holds with a batch run over exactly the same input: a verdict for each."""
        from penstock.interactive.answers import Answers
        from penstock.interactive.proof import verdicts
        from penstock.interactive.waiting import waited_for

        engine = self._opened()
        return Answers(waited_for(lambda: verdicts(engine, view), "verify"))

    @property
    def state(self) -> Path:
        """The state folder."""
        return self._declared()[2]

    @property
    def running(self) -> bool:
        """Whether it runs in the background of this process."""
        return any(live.running for live in self._lives)

    def close(self) -> None:
        """Stop what runs and close the results store. Spark stays, for the other apps of this process; it ends with the process."""
        for live in self._lives:
            if live.running:
                live.stop()
        self._lives.clear()
        if self._engine is not None:
            self._engine.close()
            self._engine, self._read_creates = None, -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(declaration.name for declaration in self.declarations()))
        return f"App({self.name!r}" + (f" at {self._path}" if self._path is not None else "") + (f": {names})" if names else ")")

    def _rows_of(self, ask: Any, what: str) -> Result:
        from penstock.interactive.result import Result
        from penstock.interactive.waiting import waited_for

        engine = self._opened()
        return waited_for(lambda: Result.of(ask(engine)), what)

    def _declared(self) -> tuple[Declared, Settings, Path]:
        settings, home = of_app(self._path or self._folder, self._overrides, self._state)
        if self._path is not None:
            return load(self._path, self._creates), settings, home
        if self._state is None and not settings.text("state"):
            home = self._temporary_state()
        return declared_here(self.name, self._folder, self.creates()), settings, home

    def _opened(self) -> Engine:
        """The engine of what is declared by now."""
        from penstock.wiring import open_declared

        if self._engine is None or self._read_creates != len(self.creates()):
            declared, settings, home = self._declared()
            make_state(home)
            engine = open_declared(declared, settings, home, warm=True)
            if self._engine is not None and not self.running:
                self._engine.close()
            self._engine, self._read_creates = engine, len(self.creates())
            to_be_closed(self)
        return self._engine

    def _temporary_state(self) -> Path:
        if self._temporary is None:
            self._temporary = temporary_folder("app")
        return self._temporary

    def _placed(self, name: str, source: Memory, columns: str) -> tuple[Connector, str]:
        """The files of data in memory: in the state folder where one was named, so that another process finds them at the same place."""
        given = columns if columns.strip() else source.columns()
        _, home = of_app(self._path or self._folder, self._overrides, self._state)
        named = self._state is not None or self._path is not None
        safe = re.sub(r"\W", "_", check_text(name, "name", user_place(), "cards"))
        return source.written((home if named else self._temporary_state()) / "memory" / safe, parse_columns(given)), given

    def _declare(self, declaration: Declaration) -> None:
        """In a notebook a cell is run again and again: there the newer declaration takes the place of the older."""
        place = declaration.where
        replaces = place is not None and not Path(place.file).is_file()
        self._creates.append(Create(declaration, or_replace=replaces))


def open(app: str | Path | App, *, state: str | Path | None = None, settings: Mapping[str, object] = _NO_SETTINGS) -> App:
    """The app at a path, a .sql or .py file or a folder of them, with its verbs. Raises the first error of its check."""
    if isinstance(app, App):
        return app
    path = Path(app).expanduser()
    if not path.exists():
        raise AppFault(f"there is no app at {app}", hint="give a .sql file, a .py file or a folder of them; `penstock new` makes one")
    found = App(path.resolve().stem, state=state, folder=path if path.is_dir() else path.parent, settings=settings)
    found._path = path.absolute()
    found._opened()
    return found


def _folder_of(file: str) -> Path:
    """Where an App is made: beside the file that makes it; in a notebook or at a prompt, where the process works."""
    return Path(file).absolute().parent if Path(file).is_file() else Path.cwd()
