"""The verbs. What Spark does for them is behind `Runner`, so that checking and explaining need no JVM."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Protocol

from penstock.change import Rows
from penstock.errors import NameFault, Where
from penstock.plan.check_files import file_findings
from penstock.plan.declare import Declared, View
from penstock.plan.findings import WARNING, Finding
from penstock.plan.inline import inlined, meaning
from penstock.plan.load import settled, spelled
from penstock.plan.names import Names, schemas
from penstock.plan.nodes import Item, Node, Order, Project, Scan, names_read
from penstock.plan.statements import Select, parse
from penstock.settings import Settings
from penstock.share.explain import Explanation, explain
from penstock.share.progress import Progress
from penstock.share.status import ViewStatus

log = logging.getLogger("penstock.spark")
DEAD = "__dead"


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

    def dead(self, stream: str) -> Rows:
        """A stream's dead letters."""

    def run(
        self,
        *,
        drain: bool,
        stop: threading.Event,
        report: Callable[[list[Progress]], None],
        take_over: bool = False,
        accept_gaps: Collection[str] = (),
    ) -> None: ...

    def close(self) -> None: ...


@dataclass
class Engine:
    """An app that was read and checked."""

    declared: Declared
    settings: Settings
    state: Path
    findings: list[Finding]
    open_runner: Callable[[], Runner]
    _runner: Runner | None = field(default=None, init=False)

    def check(self) -> list[Finding]:
        return self.findings

    def explain(self, view: str | None = None) -> list[Explanation]:
        if view is not None:
            view = self._view(view).name
        return explain(self.declared, view)

    def batch(self, view: str) -> Rows:
        """The view over the whole history, once."""
        found = self._view(view)
        return self._run().evaluate(meaning(found, self.declared.declarations), found)

    def peek(self, name: str, n: int | None = None) -> Rows:
        """The first rows of a stream, table, view or of a stream's dead letters (`NAME__dead`)."""
        stream = self.stream_named(name[: -len(DEAD)]) if name.lower().endswith(DEAD) else None
        if stream is not None:
            return _first(self._run().dead(stream), n)
        declared = self._declaration(name)
        if isinstance(declared, View):
            kept = self._read_kept(declared.name)
            return _first(kept, n) if kept is not None else _first(self.batch(declared.name), n)
        return self._run().evaluate(_limited(declared, n), None)

    def stream_named(self, name: str) -> str | None:
        """The stream of this name as it was declared: case does not matter."""
        return next((known for known in self.declared.streams if known.lower() == name.lower()), None)

    def query(self, sql: str) -> Rows:
        """One SELECT over the history of streams, tables, and the results of views (over history for views that never ran)."""
        statements = parse(sql, "SQL")
        if len(statements) != 1 or not isinstance(statements[0], Select):
            raise NameFault("only a single SELECT can be asked here", hint="declarations belong into the app's files")
        found = statements[0]
        plan = self._spelled(found.node)
        unkept = inlined(plan, self.declared.declarations, stop=lambda view: self._read_kept(view.name) is not None)
        return self._run().evaluate(unkept, View("query", plan, text=found.text, where=Where("SQL", 1), begins=found.where))

    def run(
        self,
        drain: bool,
        stop: threading.Event,
        report: Callable[[list[Progress]], None],
        take_over: bool = False,
        accept_gaps: Collection[str] = (),
    ) -> None:
        """Run every view of the app; blocks until drained or stopped. Raises what jobs failed of, if any was given up.

        `take_over` replaces a driver that holds the state folder and cannot be stopped; that one is fenced. `accept_gaps` names views
        that go on without records which were deleted before they read them.
        """
        accepted = {self._view(name).name for name in accept_gaps}
        for finding in file_findings(self.declared):
            if finding.severity == WARNING:
                log.warning("%s", finding.message, extra={"stage": "source"})
        self._run().run(drain=drain, stop=stop, report=report, take_over=take_over, accept_gaps=accepted)

    def status(self) -> list[ViewStatus]:
        """How every view stands, by what its last run left behind."""
        return self._run().status()

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
            self._runner = self.open_runner()
        return self._runner

    def _declaration(self, name: str) -> View | Scan:
        by_lower = {known.lower(): known for known in self.declared.declarations}
        known = by_lower.get(name.lower())
        if known is None or known in self.declared.sinks:
            near = get_close_matches(name, list(self.declared.declarations), n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"the app declares {', '.join(self.declared.declarations) or 'nothing'}"
            raise NameFault(f"the app has no stream, table or view `{name}`", hint=hint)
        found = self.declared.declarations[known]
        return found if isinstance(found, View) else Scan(known)

    def _view(self, name: str) -> View:
        found = self._declaration(name)
        if not isinstance(found, View):
            raise NameFault(f"`{name}` is not a view", hint=f"`penstock peek` shows it; the views are {', '.join(self.declared.views)}")
        return found

    def _spelled(self, node: Node) -> Node:
        """Names as they were declared: SQL does not mind their case. One that is not declared is named."""
        for name in names_read(node):
            self._declaration(name)
        plan = spelled(node, {known.lower(): known for known in self.declared.declarations})
        return settled(plan, Names(schemas(self.declared.declarations)))


def _limited(plan: Node, n: int | None) -> Node:
    everything = Project(plan, (Item("*"),))
    return everything if n is None else Order(everything, limit=str(n))


def _first(found: Rows, n: int | None) -> Rows:
    return found if n is None else Rows(found.schema, islice(found.lines, n))
