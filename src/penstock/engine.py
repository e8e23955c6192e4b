"""The verbs. What Spark does for them is behind `Runner`, so that checking and explaining need no JVM."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Protocol

from penstock.catalog import AddedStatement
from penstock.change import DEAD, DEAD_COLUMNS, Rows
from penstock.errors import NameFault, PlanFault, Where
from penstock.observe.request import RunRequest
from penstock.observe.status import ViewStatus
from penstock.plan.added import changed, read_statements, read_statements_of_app, to_keep
from penstock.plan.check.app import check_query
from penstock.plan.check.files import file_findings, not_there, require_readable
from penstock.plan.cut.inline import inlined, meaning
from penstock.plan.expression.predicate import predicate
from penstock.plan.load import resolve_aliases, with_declared_names
from penstock.plan.model.declare import Declared, Table, View
from penstock.plan.model.findings import WARNING, Finding
from penstock.plan.model.names import Names, schemas
from penstock.plan.model.nodes import Item, Node, Order, Project, Scan, names_read
from penstock.plan.sql.statements import Create, Drop, Rollback, Select, parse
from penstock.schema import columns
from penstock.settings import Settings
from penstock.share.explain import Explanation, explain
from penstock.store.protocol import Store

log = logging.getLogger("penstock.spark")
_FORMER = "former "


class Runner(Protocol):
    """What the engine asks of Spark and of the results store."""

    def evaluate(self, plan: Node, view: View | None) -> Rows:
        """Run a plan over the history of streams, tables, and kept results of views it names."""

    def kept(self, view: str) -> Rows | None:
        """A view's rows in the results store; None if it never ran."""

    def trouble(self, view: str) -> str | None:
        """Why the view's kept rows may not be what is asked for: it failed in its last run, or has changed since; None: there is nothing to say."""

    def status(self) -> list[ViewStatus]:
        """Every view as its last run left it, in order of declaration; needs no Spark."""

    def rebuild(self, view: str) -> list[str]:
        """Let the next run compute the view again from history; it and the views of the same job."""

    def dead(self, name: str) -> Rows:
        """The dead letters of a stream or table: as they were kept, or over the history where nothing has run."""

    def replay(self, stream: str) -> str:
        """Take the dead letters off the list that the stream's declaration can read by now; what came of it, in a sentence."""

    def filtered(self, view: str, lines: Sequence[str], condition: str) -> Rows:
        """Rows of a view, given as they are stored, for which a condition holds."""

    def unfit(self, stream: str, lines: Sequence[bytes]) -> int:
        """How many of these lines would be dead letters of the stream."""

    def cancel(self, thread: int, ended: threading.Event) -> None:
        """End the Spark jobs of what a thread has asked for, until it has ended."""

    def results(self) -> Store: ...

    def caught_up(self, timeout_s: float) -> bool:
        """Wait until the jobs of the present run have taken all that there is; False when time is over before. Raises what a job failed of."""

    def run(self, request: RunRequest) -> None: ...

    def change(self, declared: Declared, keep: Callable[[], None]) -> int:
        """Make the app, which may be running, what `declared` says; the last epoch of the views that changed, -1 where none has run.

        `keep` is called once Spark has found nothing wrong, and before anything changes. Returns when the rows of new views can be read.
        """

    def close(self) -> None: ...


class Origin(Protocol):
    """Where the declarations of an app come from: its files, and the statements that were made while it ran."""

    def files(self) -> Declared:
        """By its files alone."""

    def read(self) -> Declared:
        """By its files as they are now, and by what was added."""

    def check(self, declared: Declared) -> list[Finding]:
        """What is found in it; raises the first error."""

    def added(self) -> list[AddedStatement]: ...

    def keep_added(self, statements: list[AddedStatement]) -> None: ...


@dataclass
class Engine:
    """An app that was read and checked."""

    declared: Declared
    settings: Settings
    state: Path
    findings: list[Finding]
    open_runner: Callable[[Declared], Runner]
    origin: Origin | None = None
    _runner: Runner | None = field(default=None, init=False)
    _changing: threading.RLock = field(default_factory=threading.RLock, init=False)

    def check(self) -> list[Finding]:
        return self.findings

    def explain(self, view: str | None = None) -> list[Explanation]:
        if view is not None:
            view = self._view(view).name
        return explain(self.declared, view)

    def batch(self, view: str) -> Rows:
        """The view over the whole history, once."""
        found = self._view(view)
        return self._evaluate(meaning(found, self.declared.declarations), found)

    def peek(self, name: str, n: int | None = None) -> Rows:
        """The first rows of a stream, table, view or of the dead letters of a stream or table (`NAME__dead`)."""
        source = self.source_named(name[: -len(DEAD)]) if name.lower().endswith(DEAD) else None
        if source is not None:
            return _first(self._run().dead(source), n)
        declared = self._declaration(name)
        if isinstance(declared, View):
            kept = self._read_kept(declared.name)
            return _first(kept, n) if kept is not None else _first(self.batch(declared.name), n)
        return self._evaluate(_limited(declared, n), None)

    def stream_named(self, name: str) -> str | None:
        """The stream of this name as it was declared: case does not matter."""
        return next((known for known in self.declared.streams if known.lower() == name.lower()), None)

    def source_named(self, name: str) -> str | None:
        """The stream or table of this name as it was declared: case does not matter."""
        return next((known for known in (*self.declared.streams, *self.declared.tables) if known.lower() == name.lower()), None)

    def query(self, sql: str) -> Rows:
        """One SELECT over the history of streams, tables, and the results of views (over history for views that never ran)."""
        statements = parse(sql, "SQL")
        if len(statements) != 1 or not isinstance(statements[0], Select):
            raise NameFault("only a single SELECT can be asked here", hint="declarations belong into the app's files")
        found = statements[0]
        plan = self._with_declared_names(found.node)
        asked = View("query", plan, text=found.text, where=Where("SQL", 1), begins=found.where)
        check_query(asked, self.declared)
        unkept = inlined(plan, self.declared.declarations, stop=lambda view: self._read_kept(view.name) is not None)
        return self._evaluate(unkept, asked)

    def ask(self, plan: Node) -> Rows:
        """A query over the whole history of streams and tables, once; views that it reads are computed too."""
        asked = View("query", self._with_declared_names(plan))
        check_query(asked, self.declared)
        return self._run().evaluate(meaning(asked, self.declared.declarations), asked)

    def kept(self, view: str) -> Rows | None:
        """The view's rows as its last run left them; None: it never ran."""
        return self._run().kept(self._view(view).name)

    def filtered(self, view: str, lines: Sequence[str], condition: str) -> Rows:
        """Those of the view's rows for which one predicate over its columns holds."""
        name = self._view(view).name
        known = self.results().schema(name)
        return self._run().filtered(name, lines, predicate(condition, columns(known[0]).names if known else ()))

    def unfit(self, stream: str, lines: Sequence[bytes]) -> int:
        """How many of these lines would be dead letters of the stream."""
        return self._run().unfit(stream, lines)

    def cancel(self, thread: int, ended: threading.Event) -> None:
        """End the Spark jobs of what another thread has asked for; returns when that has ended."""
        self._run().cancel(thread, ended)

    def results(self) -> Store:
        """The results store, for whoever follows a view."""
        return self._run().results()

    def caught_up(self, timeout_s: float) -> bool:
        """Wait until the running views have taken all that their sources hold now; False when time is over before."""
        return self._run().caught_up(timeout_s)

    def view_name(self, name: str) -> str:
        """A view's name as it was declared; NameFault where there is none."""
        return self._view(name).name

    def run(self, request: RunRequest) -> None:
        """Run every view of the app; blocks until drained or stopped. Raises what jobs failed of, if any was given up."""
        accepted = frozenset(self._view(name).name for name in request.accept_gaps)
        if request.drain:  # a live run waits for the rights
            require_readable(self.declared, (*self.declared.streams, *self.declared.tables))
        for finding in file_findings(self.declared):
            if finding.severity == WARNING:
                log.warning("%s", finding.message, extra={"stage": "source"})
        self._run().run(replace(request, accept_gaps=accepted))

    def _evaluate(self, plan: Node, view: View | None) -> Rows:
        names = names_read(plan)
        require_readable(self.declared, names)
        for finding in not_there(self.declared, names):
            log.warning("%s; %s", finding.message, finding.hint, extra={"stage": "source"})
        return self._run().evaluate(plan, view)

    def replay(self, name: str) -> str:
        """Dead letters of a stream that its corrected declaration can read are none any more: the next run reads them, once."""
        stream = self.stream_named(name)
        if stream is None:
            raise NameFault(
                f"the app has no stream `{name}`", hint=f"it has {', '.join(self.declared.streams) or 'none'}; a table is read again by every run"
            )
        return self._run().replay(stream)

    def add(self, sql: str) -> int:
        """CREATE, CREATE OR REPLACE and DROP statements, all of them or none, while the app runs or for its next run.

        The epoch as of which they hold: the rows of new views over the history so far can be read. They are kept in the state folder.
        """
        return self._change_by(read_statements(sql))

    def proposed(self, sql: str) -> Declared:
        """The app as these statements would make it, checked without Spark; nothing changes. Raises the first that is wrong."""
        assert self.origin is not None
        made = [self._former(one) if isinstance(one, Rollback) else one for one in read_statements(sql)]
        after = changed(self.declared, made)
        self.origin.check(after)
        return after

    def drop(self, name: str) -> int:
        """The same for DROP: a view with its sinks, a sink, or a stream or table that nothing reads."""
        found = next((entry for known, entry in self.declared.declarations.items() if known.lower() == name.lower()), None)
        if found is None:
            self._declaration(name)
        return self._change_by([Drop(type(found).__name__.lower(), name)])

    def reload(self) -> int:
        """Read the app's files again and make the running app what they say; nothing changes where they are wrong."""
        assert self.origin is not None
        with self._changing:
            return self._change(self.origin.read(), self.origin.added())

    def _change_by(self, statements: Sequence[Create | Drop | Rollback]) -> int:
        assert self.origin is not None
        with self._changing:
            former = {entry.name: entry.text for entry in self.origin.added()}
            made = [self._former(one) if isinstance(one, Rollback) else one for one in statements]
            after = changed(self.declared, made)
            before = self.declared
            epoch = self._change(after, to_keep(self.origin.added(), made, self.origin.files(), after))
            for name, view in before.views.items():  # what ROLLBACK VIEW goes back to
                if name in after.views and after.views[name] != view:
                    self.results().note(f"{_FORMER}{name}", json.dumps(former.get(name)))
            return epoch

    def _former(self, statement: Rollback) -> Create:
        """The view as it was before it was last replaced: by a statement, or by the app's files."""
        assert self.origin is not None
        name = self._view(statement.name).name
        noted = self.results().noted(f"{_FORMER}{name}")
        text = json.loads(noted) if noted is not None else None
        files = self.origin.files().declarations.get(name)
        if noted is None or (text is None and not isinstance(files, View)):
            raise PlanFault(
                f"view `{name}` was not replaced: there is nothing to go back to", where=statement.where, hint="CREATE OR REPLACE replaces it"
            )
        if text is None:
            assert isinstance(files, View)
            return Create(files, or_replace=True, text=files.text)
        (create,) = read_statements_of_app(text)
        return replace(create, or_replace=True)

    def _change(self, declared: Declared, added: list[AddedStatement]) -> int:
        assert self.origin is not None
        origin, before = self.origin, self.origin.added()
        findings = origin.check(declared)
        try:
            epoch = self._run().change(declared, lambda: origin.keep_added(added))
        except BaseException:
            origin.keep_added(before)
            raise
        self.declared, self.findings = declared, findings
        return epoch

    def status(self) -> list[ViewStatus]:
        """How every view stands, by what its last run left behind."""
        return self._run().status()

    def rebuild(self, view: str) -> list[str]:
        """Let the next run compute a view again from history; the names of all views that come with it. StateError while the app runs."""
        return self._run().rebuild(self._view(view).name)

    def _read_kept(self, view: str) -> Rows | None:
        """A view's kept rows; says so where they are none, or may not be all of them."""
        found, trouble = self._run().kept(view), self._run().trouble(view)
        if trouble is not None:
            log.warning("view `%s` %s", view, trouble, extra={"view": view})
        elif found is None:
            log.warning("view `%s` has not run: it is computed over the history", view, extra={"view": view})
        return found

    def close(self) -> None:
        if self._runner is not None:
            self._runner.close()
            self._runner = None

    def _run(self) -> Runner:
        if self._runner is None:
            self._runner = self.open_runner(self.declared)
        return self._runner

    def _declaration(self, name: str) -> View | Scan:
        by_lower = {known.lower(): known for known in self.declared.declarations}
        known = by_lower.get(name.lower())
        if known is None or known not in self.declared.readable:
            near = get_close_matches(name, self.declared.readable, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"the app declares {', '.join(self.declared.readable) or 'nothing'}"
            raise NameFault(f"the app has no stream, table or view `{name}`", hint=hint)
        found = self.declared.declarations[known]
        return found if isinstance(found, View) else Scan(known)

    def _view(self, name: str) -> View:
        found = self._declaration(name)
        if not isinstance(found, View):
            raise NameFault(f"`{name}` is not a view", hint=f"`penstock peek` shows it; the views are {', '.join(self.declared.views)}")
        return found

    def _with_declared_names(self, node: Node) -> Node:
        """Names as they were declared: SQL does not mind their case. One that is not declared is named."""
        letters = {f"{source}{DEAD}": Table(f"{source}{DEAD}", DEAD_COLUMNS, {}) for source in (*self.declared.streams, *self.declared.tables)}
        known = {**self.declared.declarations, **letters}
        by_lower = {name.lower(): name for name in known}
        for name in names_read(node):
            if by_lower.get(name.lower()) not in letters:
                self._declaration(name)
        return resolve_aliases(with_declared_names(node, by_lower), Names(schemas(known)))


def _limited(plan: Node, n: int | None) -> Node:
    everything = Project(plan, (Item("*"),))
    return everything if n is None else Order(everything, limit=str(n))


def _first(found: Rows, n: int | None) -> Rows:
    return found if n is None else replace(found, lines=islice(found.lines, n))
