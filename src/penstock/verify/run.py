"""The whole of `verify`: for every view the places that hold it, each compared as of the epoch that it is at."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial

from pyspark.sql import SparkSession

from penstock.catalog import Catalog
from penstock.engine import Engine
from penstock.errors import EngineError, NameFault, StateError
from penstock.plan.model.declare import Emit, Sink
from penstock.schema import Schema
from penstock.share.jobs import Job, Member, jobs
from penstock.sink.files.partitions import partition_names, partitioned_text
from penstock.sink.options import delivery_of
from penstock.sink.spec import SinkSpec
from penstock.spark.checkpoint.agreement import check_ledger
from penstock.spark.compile.frames import AppContext
from penstock.spark.session.session import open_session, stop_session
from penstock.store.postgres_text import without_nul
from penstock.verify.changes import Delivered
from penstock.verify.compare import Comparison, compare
from penstock.verify.consumed import Consumed, consumed_of, has_changed
from penstock.verify.expected import Oracle
from penstock.verify.files import read_files
from penstock.verify.kafka import read_kafka
from penstock.verify.report import SHOWN_MAX, Verdict
from penstock.verify.rows import Reader, Values, has_floats
from penstock.verify.shared import Shared, indistinguishable, shared_places
from penstock.verify.standing import Known, known, place_of, standing
from penstock.verify.tables import Fetch, generation_of, read_postgres, read_sqlite, read_store, sharers_of_table, store_snapshot
from penstock.wiring import secrets

log = logging.getLogger("penstock.verify")
_NOTHING_YET = "nothing was consumed yet"
_NO_OPTIONS: Mapping[str, str] = {}
_CANNOT_BE_READ = {"console": "a console cannot be read back", "callback": "a function cannot be read back"}


def verify(engine: Engine, view: str | None = None, *, session: SparkSession | None = None) -> Iterator[Verdict]:
    """A verdict for every view (or for one) in the results store and in each of its sinks.

    The state folder's lock is not taken: the app may run meanwhile. A view that has consumed nothing is not compared; StateError when
    that is so of all of them, or, after the verdicts on the others, of one that has not finished an epoch or disagrees with itself.
    """
    app = AppContext(engine.declared, engine.settings, engine.state, secrets(engine.declared.folder))
    chosen = _chosen(engine, view)
    generations = {job.name: consumed_of(job, engine.declared, engine.state) for job, _ in chosen}
    if all(consumed.last < 0 for consumed in generations.values()):
        raise _nothing_consumed([member for _, member in chosen])
    spark = session or _open(app)
    try:
        oracle, shared = Oracle(spark, app), shared_places(jobs(engine.declared))
        failed: list[StateError] = []
        for job, member in chosen:
            try:
                yield from _Place(app, oracle, generations[job.name], member, shared).verdicts()
            except StateError as error:  # of this view alone: the others are judged all the same
                failed.append(error)
        if failed:
            raise failed[0]
    finally:
        if session is None:
            stop_session()


def _chosen(engine: Engine, view: str | None) -> list[tuple[Job, Member]]:
    name = None if view is None else engine.explain(view)[0].view  # names the views there are, where it does not exist
    found = [(job, member) for job in jobs(engine.declared) for member in job.members if name is None or member.name == name]
    if not found:
        raise NameFault("the app declares no view, so there is nothing to verify")
    return found


def _nothing_consumed(members: Sequence[Member]) -> StateError:
    names = ", ".join(f"`{member.name}`" for member in members)
    who = f"view {names} has" if len(members) == 1 else f"the views {names} have"
    return StateError(
        f"{who} consumed nothing yet (no epoch is in the checkpoint): there is nothing to compare",
        hint="run the app when there is input: `penstock run APP --drain`",
    )


def _open(app: AppContext) -> SparkSession:
    kafka = any(str(item.options.get("connector")) == "kafka" for item in app.declared.streams.values())
    return open_session(app.settings, app.state, app_name=f"penstock verify {app.declared.name}", needs_kafka=kafka)


def _as_held(options: Mapping[str, str], schema: Schema, key: Collection[str]) -> Callable[[str], str]:
    """What becomes of a row's text in a sink that cannot hold every row as it is."""
    if options.get("connector") == "postgres":
        return partial(without_nul, key=key)
    partition = [column.name for name in partition_names(options) if (column := schema.find(name)) is not None]
    return partial(partitioned_text, partition=partition) if partition else str


class _Place:
    """One view, everywhere it is kept."""

    def __init__(self, app: AppContext, oracle: Oracle, consumed: Consumed, member: Member, shared: Mapping[str, Shared]) -> None:
        self._app, self._oracle, self._member, self._shared = app, oracle, member, shared
        self._started = consumed.last >= 0  # asked once: the app may run meanwhile
        with self._store() as fetch:
            noted = generation_of(fetch, member.name)
            known = generation_of(fetch, consumed.job.name)
        if noted is None and known is not None and known.job_generation == consumed.generation:
            raise StateError(f"view `{member.name}` has not run yet: the job it is in has run without it", hint="run the app again")
        if noted is not None and noted.job_generation == consumed.generation and noted.fingerprint != member.fingerprint:
            raise has_changed(f"`{member.name}`")
        self._consumed = consumed.of_view(noted)

    def verdicts(self) -> Iterator[Verdict]:
        if self._member.stored:
            yield self._in_store()
        for sink in self._member.sinks:
            yield self._sink(sink)

    def _in_store(self) -> Verdict:
        with self._store() as fetch:
            held = read_store(fetch, self._consumed.job.name, self._consumed.generation, self._member.name)
        verdict = Verdict(self._member.name, None, "store", held.epoch, Comparison())
        if not self._started:
            check_ledger(self._consumed.job.name, self._consumed.checkpoint, held.epoch)  # rows without input: a checkpoint was lost
            return replace(verdict, unread=_NOTHING_YET)
        if held.epoch < 0:
            raise self._not_started()
        return self._judged(verdict, self._reader(), held)

    def _not_started(self) -> StateError:
        return StateError(f"view `{self._member.name}` has not finished an epoch yet", hint="`penstock status APP` says why; then run the app again")

    def _store(self) -> AbstractContextManager[Fetch]:
        return store_snapshot(self._app.settings, self._app.state, self._app.secret)

    def _reader(self, options: Mapping[str, str] = _NO_OPTIONS) -> Reader:
        """Of a view that has consumed nothing no row is compared, and the columns are not asked for."""
        schema = self._oracle.expected(self._consumed, self._member, -1).schema if self._started else Schema(())
        key = () if self._member.view.emit is Emit.COMPLETE else self._member.key or ()
        return Reader(schema, self._member.key, as_held=_as_held(options, schema, key))

    def _sink(self, sink: Sink) -> Verdict:
        options = {name.lower(): value for name, value in self._app.options(sink.options).items()}
        connector = options["connector"]
        verdict = Verdict(self._member.name, sink.name, connector, -1, Comparison(), delivery_of(options))
        if connector in _CANNOT_BE_READ:
            return replace(verdict, unread=_CANNOT_BE_READ[connector])
        if others := self._shared[sink.name].others:
            return replace(verdict, unread=indistinguishable(others))
        reader = self._reader(options)
        spec = SinkSpec(
            sink.name,
            self._member.name,
            options,
            reader.schema,
            self._member.key,
            self._member.append_only,
            self._member.view.emit is Emit.COMPLETE,
            self._app.declared.folder,
            Catalog(self._app.state).app(self._app.declared.name),
        )
        if connector == "postgres" and (others := tuple(sharers_of_table(spec))):
            return replace(verdict, unread=indistinguishable(others))
        before = self._known(spec, place_of(spec))
        held = self._delivered(spec, reader, before)
        with self._store() as fetch:
            found = standing(fetch, self._consumed, self._member, spec, before, held.epoch)
        refused = "" if found.fault is None else f"{found.fault.message}; {found.fault.hint}"
        if not self._started:
            return replace(verdict, refused=refused, unread="" if refused else _NOTHING_YET)
        if found.epoch < 0:
            raise self._not_started()
        if held.epoch < 0:
            verdict = replace(verdict, notes=("this generation of the view has delivered nothing here",))
        return self._judged(replace(verdict, epoch=found.epoch, behind=found.behind, refused=refused), reader, held)

    def _known(self, spec: SinkSpec, place: str) -> Known:
        with self._store() as fetch:
            return known(fetch, self._consumed, spec, place)

    def _delivered(self, spec: SinkSpec, reader: Reader, before: Known) -> Delivered:
        consumed = self._consumed

        def position() -> int:
            return self._known(spec, before.place).confirmed

        match spec.options["connector"]:
            case "files":
                return read_files(spec, reader, consumed.view_generation, consumed.since, position)
            case "sqlite":
                return read_sqlite(spec, reader, consumed.view_generation, position)
            case "postgres":
                return read_postgres(spec, reader, consumed.view_generation, position)
            case "kafka":
                marked_only = self._shared[spec.name].marked_only
                return read_kafka(spec, reader, consumed.view_generation, consumed.since, before.confirmed, marked_only=marked_only)
            case other:
                raise EngineError(f"verify cannot read what a {other} sink holds")

    def _judged(self, verdict: Verdict, reader: Reader, held: Delivered) -> Verdict:
        """What was found, against the view as of the verdict's epoch."""
        expected = self._oracle.expected(self._consumed, self._member, verdict.epoch)
        found = compare(reader, expected.rows, held.rows)
        if not found.equal and has_floats(reader.schema):
            found = compare(reader, expected.rows, held.rows, self._oracle.rounding(self._consumed, self._member, verdict.epoch))
        found = replace(found, extra=(*found.extra, *held.repeated))
        verdict = replace(verdict, found=found, earlier=held.earlier, late=expected.late, notes=(*verdict.notes, *expected.notes))
        return verdict if found.equal else self._traced(verdict, reader)

    def _as_expected(self, verdict: Verdict, reader: Reader) -> dict[Values, str]:
        """The texts of the expected rows by their values: a row that was doubled may be written differently where it was found."""
        return {reader.values(row.text): row.text for row in self._oracle.expected(self._consumed, self._member, verdict.epoch).rows}

    def _traced(self, verdict: Verdict, reader: Reader) -> Verdict:
        """The first faulty rows with the input behind them; where that is not known, all the input it may be."""
        found = verdict.found
        faulty = [*found.missing, *(wanted for wanted, _ in found.different), *found.extra][:SHOWN_MAX]
        known = self._as_expected(verdict, reader) if found.extra else {}
        texts = {row.text: known.get(reader.values(row.text), row.text) for row in faulty}
        origins = self._oracle.origins(self._consumed, self._member, verdict.epoch, set(texts.values()))
        if origins:
            return replace(verdict, origins={text: origins[line] for text, line in texts.items() if line in origins})
        end = self._consumed.logged(max(verdict.epoch, 0))[-1]
        ends = {name: self._consumed.span(name, end).end for name in dict.fromkeys(self._consumed.occurrences)}
        taken = "; ".join(f"{name} up to {upto}" if upto is not None else f"nothing of {name}" for name, upto in ends.items())
        return replace(verdict, notes=(*verdict.notes, f"the input is somewhere in epochs 0 to {verdict.epoch}: {taken}"))
