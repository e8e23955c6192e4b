"""Writes of one epoch as a few set-wise statements over the layout of `store.layout`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from penstock.crash_points import crash_point
from penstock.store.difference import Fresh, Stored, as_bag, by_key, common_prefix
from penstock.store.forgetting import drop, forget, kept_of, put_note
from penstock.store.layout import Database, Session

_LOG = "INSERT INTO penstock_changes (view, generation, epoch, op, key, row) SELECT ?, ?, ?, "
_REPLACED = "INSERT INTO penstock_replaced (view, generation, epoch, key, row) SELECT ?, ?, ?, b.key, r.row "
_CHANGED = "FROM penstock_batch b LEFT JOIN penstock_rows r ON r.view = ? AND r.key = b.key WHERE r.row IS NULL OR r.row <> b.row ORDER BY b.n"
_OVERWRITTEN = "FROM penstock_batch b JOIN penstock_rows r ON r.view = ? AND r.key = b.key WHERE r.row <> b.row ORDER BY b.n"
_GONE = "FROM penstock_batch b JOIN penstock_rows r ON r.view = ? AND r.key = b.key ORDER BY b.n"
_ALL = "FROM penstock_batch b ORDER BY b.n"
_ADD = "INSERT INTO penstock_rows (view, key, part, row) SELECT ?, b.key, b.part, b.row FROM penstock_batch b ORDER BY b.n"
_PUT = (
    "INSERT INTO penstock_rows (view, key, part, row) SELECT ?, b.key, b.part, b.row FROM penstock_batch b WHERE true ORDER BY b.n"
    " ON CONFLICT (view, key) WHERE key IS NOT NULL DO UPDATE SET row = excluded.row, part = excluded.part"
    " WHERE penstock_rows.row <> excluded.row OR coalesce(penstock_rows.part, '') <> coalesce(excluded.part, '')"
)
_TAKE = "DELETE FROM penstock_rows WHERE view = ? AND key IN (SELECT key FROM penstock_batch)"


class EpochWriter:
    """Writes of one epoch, for both databases; they become visible together, with the ledger, when the epoch's transaction ends.

    A view whose writes are logged (`log`) gets an epoch in its change log even when nothing changed. Only real changes
    are logged: a row equal to the one that is there is none. `parts` gives each row's partition text, by which `replace` and
    `Store.held` can be restricted.
    """

    def __init__(self, session: Session, database: Database, generation: str, epoch: int, own: Mapping[str, str]) -> None:
        self._session, self._database = session, database
        self._job_generation, self._own = generation, own
        self._epoch = epoch

    def _generation(self, view: str) -> str:
        return self._own.get(view, self._job_generation)

    def upsert(
        self, view: str, pairs: Sequence[tuple[str, str]], gone: Sequence[str] = (), *, parts: Sequence[str] | None = None, log: bool = True
    ) -> None:
        """A keyed view: put (key, row) pairs, the last of a key wins; remove the keys in `gone` that are not put."""
        self._upsert(view, pairs, gone, parts, log, visible=True)

    def upsert_bag(
        self, view: str, pairs: Sequence[tuple[str, str]], gone: Sequence[str] = (), *, parts: Sequence[str] | None = None, log: bool = True
    ) -> None:
        """A view without a key whose rows are tracked by a hidden one: as `upsert`, but the log takes the old row back and adds the new."""
        self._upsert(view, pairs, gone, parts, log, visible=False)

    def append(self, view: str, rows: Sequence[str], *, parts: Sequence[str] | None = None, log: bool = True) -> None:
        """A view without a key: add one copy of each row."""
        self._touch(view, log)
        if parts is not None:
            self._add(view, [Fresh(None, part, row) for part, row in zip(parts, rows, strict=True)], log)
            return
        if log:
            same: dict[str, str | int] = {"view": view, "generation": self._generation(view), "epoch": self._epoch, "op": "+"}
            self._session.load_texts("penstock_changes", same, "row", rows)
        crash_point("store.mid-rows")
        self._session.load_texts("penstock_rows", {"view": view}, "row", rows)

    def replace(
        self,
        view: str,
        rows: Sequence[tuple[str | None, str]],
        *,
        part: Sequence[str] | None = None,
        parts: Sequence[str] | None = None,
        ordered: bool = False,
        log: bool = True,
    ) -> None:
        """The view's whole result, or that of its `parts`, is now `rows` of (key or None, row); the difference is logged.

        Rows without keys are compared as a bag: what occurs twice stays twice. `part[i]` is the partition of `rows[i]`.
        `ordered` keeps the store's order equal to that of `rows` (the whole view only).
        """
        self._touch(view, log)
        old = self._stored(view, parts)
        new = [Fresh(key, where, row) for (key, row), where in zip(rows, _each(part, rows), strict=True)]
        keyed = any(row.key is not None for row in new or old)
        if keyed:
            new = list({row.key: row for row in new}.values())
        change = by_key(old, new) if keyed else as_bag(old, new)
        if log:
            self._log(view, (("-", row.key if keyed else None, row.row) for row in change.gone))
            self._note_replaced(view, old, change.added if keyed else ())
        if ordered and parts is None:
            if log:
                self._log(view, (("+", row.key, row.row) for row in change.added))
            same = common_prefix(old, new)
            self._drop(old[same:])
            self._add(view, new[same:], log=False)
        else:
            self._drop(change.gone)
            self._add(view, change.added, log)
            for id_, where in change.moved:
                self._session.run("UPDATE penstock_rows SET part = ? WHERE id = ?", where, id_)

    def reset(self, view: str, *, kept: bool = False) -> None:
        """Forget the view's rows and its change log, and perhaps what its plan kept."""
        for name in (view, *(kept_of(self._session, view) if kept else ())):
            forget(self._session, name)

    def note(self, name: str, value: str) -> None:
        """A small durable fact."""
        put_note(self._session, name, value)

    def drop(self, view: str, name: str, value: str) -> bool:
        """Forget all there is of a view, if the note `name` still has that `value`: else somebody else has made the view its own."""
        still = self._session.run("DELETE FROM penstock_notes WHERE name = ? AND value = ?", name, value) > 0
        if still:
            drop(self._session, self._database, view)
        return still

    def _upsert(
        self, view: str, pairs: Sequence[tuple[str, str]], gone: Sequence[str], parts: Sequence[str] | None, log: bool, visible: bool
    ) -> None:
        self._touch(view, log)
        put = {key: (key, part, row) for part, (key, row) in zip(_each(parts, pairs), pairs, strict=True)}
        dropped = [key for key in dict.fromkeys(gone) if key not in put]
        if dropped:
            self._batch((key, None, None) for key in dropped)
            if log:
                self._log_batch(view, "'-', b.key, r.row " if visible else "'-', NULL, r.row ", _GONE, view)
            self._session.run(_TAKE, view)
        if put:
            self._batch(put.values())
            crash_point("store.mid-rows")
            if log and visible:
                self._session.run(f"{_REPLACED}{_OVERWRITTEN} ON CONFLICT DO NOTHING", view, self._generation(view), self._epoch, view)
                self._log_batch(view, "'+', b.key, b.row ", _CHANGED, view)
            elif log:
                self._log_batch(view, "'-', NULL, r.row ", _OVERWRITTEN, view)
                self._log_batch(view, "'+', NULL, b.row ", _CHANGED, view)
            self._session.run(_PUT, view)

    def _add(self, view: str, rows: Sequence[Fresh], log: bool) -> None:
        if rows:
            self._batch(rows)
            if log:
                self._log_batch(view, "'+', b.key, b.row ", _ALL)
            crash_point("store.mid-rows")
            self._session.run(_PUT if rows[0].key is not None else _ADD, view)

    def _drop(self, rows: Sequence[Stored]) -> None:
        if rows:
            self._session.run("DELETE FROM penstock_batch")
            self._session.load("penstock_batch", ("n",), ((row.id,) for row in rows))
            self._session.run("DELETE FROM penstock_rows WHERE id IN (SELECT n FROM penstock_batch)")

    def _stored(self, view: str, parts: Sequence[str] | None) -> list[Stored]:
        select = "SELECT r.id, r.key, r.part, r.row FROM penstock_rows r "
        if parts is None:
            found = self._session.fetch(select + "WHERE r.view = ? ORDER BY r.id", view)
        else:
            self._batch((None, part, None) for part in dict.fromkeys(parts))
            chosen = "JOIN penstock_batch b ON r.part = b.part WHERE r.view = ? AND r.part IS NOT NULL ORDER BY r.id"
            found = self._session.fetch(select + chosen, view)
        return [Stored(*row) for row in found]

    def _batch(self, rows: Iterable[tuple[str | None, str | None, str | None]]) -> None:
        self._session.run("DELETE FROM penstock_batch")
        self._session.load("penstock_batch", ("n", "key", "part", "row"), ((n, *row) for n, row in enumerate(rows)))

    def _log_batch(self, view: str, columns: str, source: str, *values: str) -> None:
        self._session.run(_LOG + columns + source, view, self._generation(view), self._epoch, *values)

    def _log(self, view: str, changes: Iterable[tuple[str, str | None, str]]) -> None:
        columns, generation = ("view", "generation", "epoch", "op", "key", "row"), self._generation(view)
        self._session.load("penstock_changes", columns, ((view, generation, self._epoch, *change) for change in changes))

    def _note_replaced(self, view: str, old: Sequence[Stored], new: Sequence[Fresh]) -> None:
        """Whoever follows the view gets the row that was there before."""
        held = {row.key: row.row for row in old}
        replaced = [(view, self._generation(view), self._epoch, row.key, held[row.key]) for row in new if row.key in held]
        if replaced:
            self._session.load("penstock_replaced", ("view", "generation", "epoch", "key", "row"), replaced)

    def _touch(self, view: str, log: bool) -> None:
        if log:
            self._session.run("INSERT INTO penstock_epochs VALUES (?, ?, ?) ON CONFLICT DO NOTHING", view, self._generation(view), self._epoch)


def _each(parts: Sequence[str] | None, rows: Sequence[object]) -> Sequence[str | None]:
    return [None] * len(rows) if parts is None else parts
