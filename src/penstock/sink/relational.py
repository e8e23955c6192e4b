"""A results store over any database that holds the layout of `sink.tables`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from penstock.change import Change, Epoch
from penstock.errors import FencedError, SinkError, StateError
from penstock.points import reach
from penstock.sink.store import AlreadyCommitted, DeadRow, EpochWriter, Held, HeldByAnother, Position, Turn
from penstock.sink.tables import Database, Session
from penstock.sink.writer import TableEpochWriter


class RelationalStore:
    """The Store of SQLite and Postgres; see `sink.store.Store` for what each method promises."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lives: dict[str, Held] = {}

    def take_over(self, job: str, incarnation: str, *, folder: str = "", place: str = "") -> Position:
        life = Held(incarnation, folder, place)
        try:
            return self._taken_over(job, life)
        except (SinkError, StateError) as error:
            if not self._database.may_try_again(error):
                raise
            return self._taken_over(job, life)

    def _taken_over(self, job: str, life: Held) -> Position:
        incarnation = life.incarnation
        with self._database.writing() as session:
            session.run(
                "INSERT INTO penstock_jobs (job, incarnation, fence) VALUES (?, ?, 1)"
                " ON CONFLICT (job) DO UPDATE SET fence = penstock_jobs.fence + 1, incarnation = excluded.incarnation",
                job,
                incarnation,
            )
            ((fence,),) = session.fetch("SELECT fence FROM penstock_jobs WHERE job = ?", job)
            last = session.fetch("SELECT epoch FROM penstock_ledger WHERE job = ? AND incarnation = ?", job, incarnation)
            held = [Held(*row) for row in session.fetch("SELECT incarnation, folder, place FROM penstock_lives WHERE job = ?", job)]
            if held and held[0].incarnation != incarnation and (last or held[0].folder != life.folder):
                raise HeldByAnother(held[0])
            self._lives[job] = life
            return Position(fence, last[0][0] if last else -1)

    def committed(self, job: str, incarnation: str) -> int:
        return self._number("SELECT coalesce(max(epoch), -1) FROM penstock_ledger WHERE job = ? AND incarnation = ?", job, incarnation)

    @contextmanager
    def open_epoch(self, job: str, incarnation: str, fence: int, epoch: int) -> Iterator[EpochWriter]:
        reach("store.before-begin")
        with self._database.writing() as session:
            self._claim(session, Turn(job, incarnation, fence))
            last = session.fetch("SELECT epoch FROM penstock_ledger WHERE job = ? AND incarnation = ?", job, incarnation)
            if last and epoch <= last[0][0]:
                raise AlreadyCommitted(f"epoch {epoch} of job `{job}`")
            if not last:  # its rows replace those of the life before, so from now on they are this one's
                session.run(
                    "INSERT INTO penstock_lives (job, incarnation, folder, place) VALUES (?, ?, ?, ?) ON CONFLICT (job)"
                    " DO UPDATE SET incarnation = excluded.incarnation, folder = excluded.folder, place = excluded.place",
                    job,
                    *self._lives.get(job, Held(incarnation, "", "")),
                )
            yield TableEpochWriter(session, incarnation, epoch)
            session.run(
                "INSERT INTO penstock_ledger (job, incarnation, fence, epoch) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (job, incarnation) DO UPDATE SET fence = excluded.fence, epoch = excluded.epoch",
                job,
                incarnation,
                fence,
                epoch,
            )
            reach("store.before-commit")
        reach("store.after-commit")

    def check_turn(self, turn: Turn) -> None:
        with self._database.reading() as session:
            _check(session, turn)

    def _claim(self, session: Session, turn: Turn) -> None:
        """Nobody takes over before the transaction ends."""
        _check(session, turn, self._database.row_lock)

    def rows(self, view: str) -> Iterator[str]:
        for (row,) in self._stream("SELECT row FROM penstock_rows WHERE view = ? ORDER BY id", view):
            yield row

    def count(self, view: str) -> int:
        return self._number("SELECT count(*) FROM penstock_rows WHERE view = ?", view)

    def epochs(self, view: str, after: int, incarnation: str) -> Generator[Epoch, None, None]:
        with self._database.reading() as session:
            found = session.fetch(
                "SELECT epoch FROM penstock_epochs WHERE view = ? AND incarnation = ? AND epoch > ? ORDER BY epoch", view, incarnation, after
            )
            for (epoch,) in found:
                changes = session.fetch(
                    "SELECT op, key, row FROM penstock_changes WHERE view = ? AND incarnation = ? AND epoch = ? ORDER BY id", view, incarnation, epoch
                )
                yield Epoch(view, incarnation, epoch, [Change(*change) for change in changes])

    def delivered(self, sink: str, incarnation: str) -> int:
        return self._number("SELECT coalesce(max(epoch), -1) FROM penstock_delivered WHERE sink = ? AND incarnation = ?", sink, incarnation)

    def set_delivered(self, turn: Turn, sink: str, epoch: int, *, durable: bool = False) -> None:
        with self._database.writing(durable=durable) as session:
            self._claim(session, turn)
            session.run(
                "INSERT INTO penstock_delivered (sink, incarnation, epoch) VALUES (?, ?, ?)"
                " ON CONFLICT (sink, incarnation) DO UPDATE SET epoch = excluded.epoch WHERE penstock_delivered.epoch < excluded.epoch",
                sink,
                turn.incarnation,
                epoch,
            )

    def trim(self, view: str, keep_epochs: int, below: int) -> None:
        with self._database.reading() as session:
            spans = session.fetch("SELECT incarnation, min(epoch), max(epoch) FROM penstock_epochs WHERE view = ? GROUP BY incarnation", view)
        bounds = [(incarnation, min(below, newest - keep_epochs + 1), oldest) for incarnation, oldest, newest in spans]
        # Many at a time: else every epoch would open one more transaction to drop a single one.
        old = [(incarnation, bound) for incarnation, bound, oldest in bounds if oldest + keep_epochs // 10 < bound]
        if not old:  # the usual case, and it waits for nobody
            return
        with self._database.writing() as session:
            for incarnation, bound in old:
                session.run(
                    "INSERT INTO penstock_notes (name, value) SELECT ?, CAST(max(epoch) AS TEXT) FROM penstock_epochs"
                    " WHERE view = ? AND incarnation = ? AND epoch < ? HAVING max(epoch) IS NOT NULL"
                    " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                    trimmed_note(view, incarnation),
                    view,
                    incarnation,
                    bound,
                )
                for table in ("penstock_changes", "penstock_epochs"):
                    session.run(f"DELETE FROM {table} WHERE view = ? AND incarnation = ? AND epoch < ?", view, incarnation, bound)

    def trimmed(self, view: str, incarnation: str) -> int:
        return int(self.noted(trimmed_note(view, incarnation)) or -1)

    def snapshot(self, view: str, incarnation: str) -> Epoch:
        known = self.schema(view)
        with self._database.reading() as session:
            ((newest,),) = session.fetch("SELECT max(epoch) FROM penstock_epochs WHERE view = ? AND incarnation = ?", view, incarnation)
            found = session.fetch("SELECT key, row FROM penstock_rows WHERE view = ? ORDER BY id", view)
        keyed = known is not None and known[1] is not None
        epoch = self.trimmed(view, incarnation) if newest is None else newest
        return Epoch(view, incarnation, epoch, [Change("+", key if keyed else None, row) for key, row in found])

    def put_schema(self, view: str, ddl: str, key: tuple[str, ...] | None) -> None:
        if self.schema(view) == (ddl, key):
            return
        with self._database.writing() as session:
            session.run(
                "INSERT INTO penstock_views (view, ddl, key) VALUES (?, ?, ?)"
                " ON CONFLICT (view) DO UPDATE SET ddl = excluded.ddl, key = excluded.key",
                view,
                ddl,
                None if key is None else json.dumps(key),
            )
            self._database.publish(session, view, ddl)

    def schema(self, view: str) -> tuple[str, tuple[str, ...] | None] | None:
        with self._database.reading() as session:
            found = session.fetch("SELECT ddl, key FROM penstock_views WHERE view = ?", view)
        return next(((ddl, None if key is None else tuple(json.loads(key))) for ddl, key in found), None)

    def views(self) -> list[str]:
        with self._database.reading() as session:
            return [view for (view,) in session.fetch("SELECT view FROM penstock_views ORDER BY view")]

    def add_dead(self, stream: str, rows: Iterable[tuple[str, str, bytes, str]]) -> int:
        with self._database.writing() as session:
            session.run("DELETE FROM penstock_dead_batch")
            columns = ("n", "position", "reason", "raw", "seen_at")
            session.load("penstock_dead_batch", columns, ((n, where, _printable(why), raw, at) for n, (where, why, raw, at) in enumerate(rows)))
            self._tell_apart(session, stream)
            return session.run(
                "INSERT INTO penstock_dead (stream, position, reason, raw, seen_at)"
                " SELECT ?, position, reason, raw, seen_at FROM penstock_dead_batch WHERE true ORDER BY n ON CONFLICT DO NOTHING",
                stream,
            )

    def _tell_apart(self, session: Session, stream: str) -> None:
        """Another record than the one kept of its position is no repetition: the topic or file was made anew. Its position says what it holds."""
        found = session.fetch(
            "SELECT b.n, b.position, b.raw FROM penstock_dead_batch b JOIN penstock_dead d ON d.stream = ? AND d.position = b.position"
            " WHERE d.raw <> b.raw",
            stream,
        )
        for n, position, raw in found:
            place = {**json.loads(position), "record": hashlib.sha256(raw).hexdigest()[:12]}
            session.run("UPDATE penstock_dead_batch SET position = ? WHERE n = ?", json.dumps(place, ensure_ascii=False), n)

    def dead(self, stream: str) -> Iterator[DeadRow]:
        for row in self._stream("SELECT position, reason, raw, seen_at FROM penstock_dead WHERE stream = ? ORDER BY id", stream):
            yield DeadRow(*row)

    def dead_count(self, stream: str) -> int:
        return self._number("SELECT count(*) FROM penstock_dead WHERE stream = ?", stream)

    def note(self, name: str, value: str) -> None:
        with self._database.writing() as session:
            session.run("INSERT INTO penstock_notes (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", name, value)

    def noted(self, name: str) -> str | None:
        with self._database.reading() as session:
            found = session.fetch("SELECT value FROM penstock_notes WHERE name = ?", name)
        return found[0][0] if found else None

    def close(self) -> None:
        self._database.close()

    def _stream(self, sql: str, *values: object) -> Iterator[tuple[Any, ...]]:
        with self._database.reading() as session, closing(session.stream(sql, *values)) as found:
            yield from found

    def _number(self, sql: str, *values: object) -> int:
        with self._database.reading() as session:
            return int(session.fetch(sql, *values)[0][0])


def _check(session: Session, turn: Turn, row_lock: str = "") -> None:
    holder = session.fetch(f"SELECT fence, incarnation FROM penstock_jobs WHERE job = ?{row_lock}", turn.job)
    if holder != [(turn.fence, turn.incarnation)]:
        raise FencedError(
            f"another driver has taken over job `{turn.job}`; this one writes nothing any more",
            hint="only one `penstock run` may use a state folder or a results store at a time",
        )


def _printable(text: str) -> str:
    """Postgres cannot keep the character NUL in a text."""
    return text.replace("\0", "")


def trimmed_note(view: str, incarnation: str) -> str:
    """The name of the note that says how far a view's log was dropped."""
    return f"trimmed {view} {incarnation}"
