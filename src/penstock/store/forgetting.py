"""Views that go, and views that take the place of others: what all tables of the layout hold of them."""

from __future__ import annotations

import re
from dataclasses import replace

from penstock.store.generations import note_of, read_generation
from penstock.store.layout import Database, Session
from penstock.store.numbers import numbers_note, read_numbers

_UNSEEN = "__"
"""What precedes names that no reader sees."""
_KEPT = re.compile(r"__(kept|partial)(\.\w+)?:")
_BY_VIEW = ("penstock_rows", "penstock_changes", "penstock_replaced", "penstock_epochs")
_BY_JOB = ("penstock_ledger", "penstock_jobs", "penstock_owners")


def kept_name(view: str, input_: str = "") -> str:
    """The name under which rows stand that the plan of a view keeps; of one that keeps several kinds, by the name of each."""
    return f"__kept{input_ and '.'}{input_}:{view}"


def partials_name(view: str, step: str = "") -> str:
    """The same for its partial results, or those of a step."""
    return f"__partial{step and '.'}{step}:{view}"


def kept_of(session: Session, view: str) -> list[str]:
    """Every such name of a view that has rows."""
    found = session.fetch("SELECT DISTINCT view FROM penstock_rows WHERE view LIKE ? ESCAPE '!'", "!_!_%")
    return [name for (name,) in found if _KEPT.sub("", name, count=1) == view and _KEPT.match(name)]


def forget(session: Session, view: str) -> None:
    """Remove a view's rows and change log; the epochs that readers see go on after it."""
    if not view.startswith(_UNSEEN):
        _number_on(session, view)
    for table in _BY_VIEW:
        session.run(f"DELETE FROM {table} WHERE view = ?", view)


def _number_on(session: Session, view: str) -> None:
    last = {str(generation): int(epoch) for generation, epoch in session.fetch(
        "SELECT generation, max(epoch) FROM penstock_epochs WHERE view = ? GROUP BY generation", view
    )}  # fmt: skip
    if not last:
        return
    noted = session.fetch("SELECT value FROM penstock_notes WHERE name = ?", numbers_note(view))
    numbers = read_numbers(noted[0][0] if noted else None)
    for generation, epoch in last.items():
        numbers = numbers.after(generation, epoch)
    put_note(session, numbers_note(view), numbers.text)


def drop(session: Session, database: Database, view: str) -> None:
    """Remove all there is of a view: also what its plan kept, its columns, and the notes about it."""
    for name in (view, *kept_of(session, view)):
        forget(session, name)
    session.run("DELETE FROM penstock_views WHERE view = ?", view)
    for name in (*(trimmed_note(view, generation) for generation in _trimmed(session, view)), note_of(view)):
        session.run("DELETE FROM penstock_notes WHERE name = ?", name)
    database.unpublish(session, view)


def drop_job(session: Session, job: str) -> None:
    """Remove a job's ledger, its fence, and whose rows its views hold."""
    for table in _BY_JOB:
        session.run(f"DELETE FROM {table} WHERE job = ?", job)


def swap(session: Session, database: Database, job: str, beside: str) -> None:
    """Give the view `beside` and its job the names of the view `job` and its job, which go."""
    trimmed = _trimmed(session, beside)
    found = {generation: session.fetch("SELECT value FROM penstock_notes WHERE name = ?", trimmed_note(beside, generation)) for generation in trimmed}
    ((text,),) = session.fetch("SELECT value FROM penstock_notes WHERE name = ?", note_of(beside))
    ((ddl, key),) = session.fetch("SELECT ddl, key FROM penstock_views WHERE view = ?", beside)
    drop(session, database, job)
    drop_job(session, job)
    for name in (beside, *kept_of(session, beside)):
        for table in _BY_VIEW:
            session.run(f"UPDATE {table} SET view = ? WHERE view = ?", f"{name.removesuffix(beside)}{job}", name)
    for table in _BY_JOB:
        session.run(f"UPDATE {table} SET job = ? WHERE job = ?", job, beside)
    for generation, values in found.items():
        put_note(session, trimmed_note(job, generation), values[0][0])
    made = read_generation(text)
    assert made is not None
    put_note(session, note_of(job), replace(made, job=job).text)
    drop(session, database, beside)
    session.run("INSERT INTO penstock_views (view, ddl, key) VALUES (?, ?, ?)", job, ddl, key)
    database.publish(session, job, ddl)


def _trimmed(session: Session, view: str) -> list[str]:
    """The generations of which a view's log was trimmed."""
    prefix = trimmed_note(view, "")
    names = (name for (name,) in session.fetch("SELECT name FROM penstock_notes"))
    return [name.removeprefix(prefix) for name in names if name.startswith(prefix) and " " not in name.removeprefix(prefix)]


def put_note(session: Session, name: str, value: str) -> None:
    session.run("INSERT INTO penstock_notes (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", name, value)


def trimmed_note(view: str, generation: str) -> str:
    """The name of the note that says how far a view's log was dropped."""
    return f"trimmed {view} {generation}"
