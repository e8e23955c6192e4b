"""A results store over any database that holds the layout of `store.layout`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from types import MappingProxyType
from typing import Any

from penstock.change import Change, Epoch
from penstock.crash_points import crash_point
from penstock.errors import SinkError, StateError
from penstock.store import ledger
from penstock.store.dead import add_dead
from penstock.store.difference import Fresh
from penstock.store.forgetting import drop, drop_job, put_note, swap, trimmed_note
from penstock.store.layout import Database, Session
from penstock.store.protocol import DeadRow, FenceToken, Position, RowOwner
from penstock.store.writer import EpochWriter

_PARTS_AT_ONCE = 500


class RelationalStore:
    """The Store of SQLite and Postgres; see `store.protocol.Store` for what each method promises."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._owners: dict[str, RowOwner] = {}

    def take_over(self, job: str, generation: str, *, folder: str = "", place: str = "") -> Position:
        owner = RowOwner(generation, folder, place)
        try:
            return self._taken_over(job, owner)
        except (SinkError, StateError) as error:
            if not self._database.may_try_again(error):
                raise
            return self._taken_over(job, owner)

    def _taken_over(self, job: str, owner: RowOwner) -> Position:
        with self._database.writing() as session:
            position = ledger.take_over(session, job, owner)
            self._owners[job] = owner
            return position

    def committed(self, job: str, generation: str) -> int:
        return self._number("SELECT coalesce(max(epoch), -1) FROM penstock_ledger WHERE job = ? AND generation = ?", job, generation)

    @contextmanager
    def open_epoch(self, job: str, generation: str, fence: int, epoch: int, own: Mapping[str, str] = MappingProxyType({})) -> Iterator[EpochWriter]:
        crash_point("store.before-begin")
        token = FenceToken(job, generation, fence)
        with self._database.writing() as session:
            self._claim(session, token)
            ledger.begin(session, token, epoch, self._owners.get(job, RowOwner(generation, "", "")))
            yield EpochWriter(session, self._database, generation, epoch, own)
            ledger.enter(session, token, epoch)
            crash_point("store.before-commit")
        crash_point("store.after-commit")

    @contextmanager
    def amend(self, token: FenceToken, epoch: int, own: Mapping[str, str] = MappingProxyType({})) -> Iterator[EpochWriter]:
        with self._database.writing() as session:
            self._claim(session, token)
            yield EpochWriter(session, self._database, token.generation, epoch, own)

    def swap(self, job: str, beside: str) -> None:
        with self._database.writing() as session:
            swap(session, self._database, job, beside)

    def drop_view(self, view: str) -> None:
        with self._database.writing() as session:
            drop(session, self._database, view)

    def drop_job(self, job: str) -> None:
        with self._database.writing() as session:
            drop_job(session, job)

    def check_fence(self, token: FenceToken) -> None:
        with self._database.reading() as session:
            ledger.check_fence(session, token)

    def _claim(self, session: Session, token: FenceToken) -> None:
        """Nobody takes over before the transaction ends."""
        ledger.check_fence(session, token, self._database.row_lock)

    def rows(self, view: str) -> Iterator[str]:
        for (row,) in self._stream("SELECT row FROM penstock_rows WHERE view = ? ORDER BY id", view):
            yield row

    def held(self, view: str, parts: Sequence[str] | None = None) -> list[Fresh]:
        select = "SELECT id, key, part, row FROM penstock_rows WHERE view = ?"
        with self._database.reading() as session:
            if parts is None:
                found = session.fetch(f"{select} ORDER BY id", view)
            else:  # readers have no table to join the parts from
                found = sorted(_chosen(session, f"{select} AND part", view, parts), key=lambda row: row[0])
        return [Fresh(key, part, row) for _, key, part, row in found]

    def held_by_key(self, view: str, keys: Sequence[str]) -> list[Fresh]:
        with self._database.reading() as session:
            return [Fresh(*row) for row in _chosen(session, "SELECT key, part, row FROM penstock_rows WHERE view = ? AND key", view, keys)]

    def index(self, view: str, columns: Sequence[str]) -> None:
        name = f"penstock_rows_like_{hashlib.sha256(json.dumps([view, *columns]).encode()).hexdigest()[:16]}"
        with self._database.reading() as session:
            if self._database.has_index(session, name):
                return
        with self._database.writing() as session:
            method, fields = self._database.index_method, self._database.fields('"row"', columns)
            session.run(f"CREATE INDEX IF NOT EXISTS {name} ON penstock_rows {method} (({fields})) WHERE view = {_quoted(view)}")

    def held_like(
        self, view: str, columns: Sequence[str], rows: Sequence[str], others: Sequence[tuple[Sequence[str], Sequence[str]]] = ()
    ) -> list[Fresh]:
        own, asked = self._database.fields('"row"', columns), [(columns, rows), *others]
        wanted = " UNION ".join(f"SELECT {self._database.fields('value', names)} AS fields FROM {self._database.given}" for names, _ in asked)
        with self._database.reading() as session:
            found = session.fetch(
                # in this order: SQLite would else look at all rows of the view
                f"SELECT id, key, part, row FROM (SELECT DISTINCT fields FROM ({wanted}) wanted) asked CROSS JOIN penstock_rows"
                f" WHERE view = {_quoted(view)} AND ({own}) = asked.fields ORDER BY id",
                *(self._database.bound(lines) for _, lines in asked),
            )
        return [Fresh(key, part, row) for _, key, part, row in found]

    def count(self, view: str) -> int:
        return self._number("SELECT count(*) FROM penstock_rows WHERE view = ?", view)

    def epochs(self, view: str, after: int, generation: str) -> Generator[Epoch, None, None]:
        with self._database.reading() as session:
            found = session.fetch(
                "SELECT epoch FROM penstock_epochs WHERE view = ? AND generation = ? AND epoch > ? ORDER BY epoch", view, generation, after
            )
            for (epoch,) in found:
                changes = session.fetch(
                    "SELECT op, key, row FROM penstock_changes WHERE view = ? AND generation = ? AND epoch = ? ORDER BY id", view, generation, epoch
                )
                yield Epoch(view, generation, epoch, [Change(*change) for change in changes])

    def change_count(self, view: str, after: int, generation: str) -> int:
        return self._number("SELECT count(*) FROM penstock_changes WHERE view = ? AND generation = ? AND epoch > ?", view, generation, after)

    def replaced(self, view: str, generation: str, epoch: int) -> dict[str, str]:
        with self._database.reading() as session:
            return dict(
                session.fetch("SELECT key, row FROM penstock_replaced WHERE view = ? AND generation = ? AND epoch = ?", view, generation, epoch)
            )

    def delivered(self, sink: str, generation: str) -> int:
        return self._number("SELECT coalesce(max(epoch), -1) FROM penstock_delivered WHERE sink = ? AND generation = ?", sink, generation)

    def set_delivered(self, token: FenceToken, sink: str, epoch: int, *, generation: str | None = None, durable: bool = False) -> None:
        with self._database.writing(durable=durable) as session:
            self._claim(session, token)
            session.run(
                "INSERT INTO penstock_delivered (sink, generation, epoch) VALUES (?, ?, ?)"
                " ON CONFLICT (sink, generation) DO UPDATE SET epoch = excluded.epoch WHERE penstock_delivered.epoch < excluded.epoch",
                sink,
                token.generation if generation is None else generation,
                epoch,
            )

    def trim(self, view: str, keep_epochs: int, below: int) -> None:
        with self._database.reading() as session:
            spans = session.fetch("SELECT generation, min(epoch), max(epoch) FROM penstock_epochs WHERE view = ? GROUP BY generation", view)
        bounds = [(generation, min(below, newest - max(1, keep_epochs) + 1), oldest) for generation, oldest, newest in spans]
        # Many at a time: else every epoch would open one more transaction to drop a single one.
        old = [(generation, bound) for generation, bound, oldest in bounds if oldest + keep_epochs // 10 < bound]
        if not old:  # the usual case, and it waits for nobody
            return
        with self._database.writing() as session:
            for generation, bound in old:
                session.run(
                    "INSERT INTO penstock_notes (name, value) SELECT ?, CAST(max(epoch) AS TEXT) FROM penstock_epochs"
                    " WHERE view = ? AND generation = ? AND epoch < ? HAVING max(epoch) IS NOT NULL"
                    " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                    trimmed_note(view, generation),
                    view,
                    generation,
                    bound,
                )
                for table in ("penstock_changes", "penstock_replaced", "penstock_epochs"):
                    session.run(f"DELETE FROM {table} WHERE view = ? AND generation = ? AND epoch < ?", view, generation, bound)

    def trimmed(self, view: str, generation: str) -> int:
        return int(self.noted(trimmed_note(view, generation)) or -1)

    def latest(self, view: str) -> tuple[str, int] | None:
        with self._database.reading() as session:
            return _latest(session, view)

    def snapshot(self, view: str, generation: str | None = None, *, limit: int | None = None, offset: int = 0) -> Epoch:
        known = self.schema(view)
        with self._database.reading() as session:
            if generation is None:
                generation = (_latest(session, view) or ("", -1))[0]
            ((newest,),) = session.fetch("SELECT max(epoch) FROM penstock_epochs WHERE view = ? AND generation = ?", view, generation)
            page = "" if limit is None else f" LIMIT {int(limit)} OFFSET {int(offset)}"
            found = session.fetch(f"SELECT key, row FROM penstock_rows WHERE view = ? ORDER BY id{page}", view)
        keyed = known is not None and known[1] is not None
        epoch = self.trimmed(view, generation) if newest is None else newest
        return Epoch(view, generation, epoch, [Change("+", key if keyed else None, row) for key, row in found])

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
            return add_dead(session, stream, rows)

    def dead(self, stream: str) -> Iterator[DeadRow]:
        for row in self._stream("SELECT position, reason, raw, seen_at FROM penstock_dead WHERE stream = ? ORDER BY id", stream):
            yield DeadRow(*row)

    def drop_dead(self, stream: str, positions: Sequence[str]) -> int:
        with self._database.writing() as session:
            return sum(session.run("DELETE FROM penstock_dead WHERE stream = ? AND position = ?", stream, position) for position in positions)

    def dead_count(self, stream: str) -> int:
        return self._number("SELECT count(*) FROM penstock_dead WHERE stream = ?", stream)

    def note(self, name: str, value: str) -> None:
        with self._database.writing() as session:
            put_note(session, name, value)

    def noted(self, name: str) -> str | None:
        with self._database.reading() as session:
            found = session.fetch("SELECT value FROM penstock_notes WHERE name = ?", name)
        return found[0][0] if found else None

    def drop_note(self, name: str) -> None:
        with self._database.writing() as session:
            session.run("DELETE FROM penstock_notes WHERE name = ?", name)

    def notes(self) -> dict[str, str]:
        with self._database.reading() as session:
            return dict(session.fetch("SELECT name, value FROM penstock_notes"))

    def close(self) -> None:
        self._database.close()

    def _stream(self, sql: str, *values: object) -> Iterator[tuple[Any, ...]]:
        with self._database.reading() as session, closing(session.stream(sql, *values)) as found:
            yield from found

    def _number(self, sql: str, *values: object) -> int:
        with self._database.reading() as session:
            return int(session.fetch(sql, *values)[0][0])


def _latest(session: Session, view: str) -> tuple[str, int] | None:
    """The generation whose rows are there, and its newest logged epoch: a generation that begins forgets the log of the one before."""
    found = session.fetch("SELECT generation, max(epoch) FROM penstock_epochs WHERE view = ? GROUP BY generation", view)
    return (str(found[0][0]), int(found[0][1])) if found else None


def _chosen(session: Session, select: str, view: str, values: Sequence[str]) -> list[tuple[Any, ...]]:
    """What `select`, which ends with a column, finds with one of these values in it."""
    wanted = list(dict.fromkeys(values))
    chunks = (wanted[at : at + _PARTS_AT_ONCE] for at in range(0, len(wanted), _PARTS_AT_ONCE))
    return [row for chunk in chunks for row in session.fetch(f"{select} IN ({', '.join('?' * len(chunk))})", view, *chunk)]


def _quoted(text: str) -> str:
    """A text as it stands in a statement: an index over a part of a table is used only where that part is named outright."""
    return "'" + text.replace("'", "''") + "'"
