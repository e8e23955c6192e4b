"""Records that were set aside, and that a corrected declaration can read.

A stream that is declared otherwise means something else, so the next run makes its views again from the whole stream: there every record that
can be read by now is read, once, with all the others. What is left to do is to know which of those set aside that are, and to take them off the
list. A record stays on it that its source no longer holds, or that no view has read again since and none will: the declaration is the same then.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.catalog import Catalog
from penstock.decode import CLOCK
from penstock.errors import SourceError, StateError
from penstock.formats import encoding_of
from penstock.plan.model.declare import Stream
from penstock.share.jobs import jobs
from penstock.source import HasLines
from penstock.source.kafka.topic import Admin
from penstock.spark.compile.frames import AppContext, readable
from penstock.spark.run.dead.letters import local_path
from penstock.spark.run.lock import is_held
from penstock.store.protocol import DeadRow, Store

NOTHING = "no record of `{}` is kept as set aside"


def replayed(batch_session: SparkSession, app: AppContext, store: Store, stream: Stream) -> str:
    """Take off the list what can be read by now; what came of it."""
    if is_held(app.state):
        raise StateError(f"a run is going on in {app.state}", hint="stop it first: views are made again only when they start")
    if stream.options.get("connector") == "kafka" and stream.options.get("start", "earliest") != "earliest":
        hint = "declare start = 'earliest', or produce the records again"
        raise SourceError(f"stream `{stream.name}` starts at {stream.options['start']}: its views would not read again what came before", hint=hint)
    letters = list(store.dead(stream.name))
    if not letters:
        return NOTHING.format(stream.name)
    since = _read_since(app, stream)
    records = [letter for letter in letters if letter.raw and "function" not in json.loads(letter.position)]
    again = [letter for letter in records if since is None or letter.seen_at < since]
    readable = _readable(batch_session, app, stream, again, since)
    held = _held_by(app, stream)
    there = [letter.position for letter in readable if held(json.loads(letter.position))]
    dropped = store.drop_dead(stream.name, there) if there else 0
    gone = len(readable) - len(there)
    lost = f"; {gone:,} more could be, but the source no longer holds them" if gone else ""
    if not dropped:
        return f"none of the {len(letters):,} records of `{stream.name}` that were set aside can be read as it is declared now{lost}"
    when = "the next `penstock run` makes the views over it again and reads them" if since is None else "the views over it have read them since"
    return f"{dropped:,} of {len(letters):,} records of `{stream.name}` can be read by now{lost}; {when}, once"


def _read_since(app: AppContext, stream: Stream) -> str | None:
    """Since when all views over the stream read it as it is declared now, and from its beginning; None: from the next run on."""
    catalog = Catalog(app.state)
    found = [(job, catalog.present_generation(job.name)) for job in jobs(app.declared) if stream.name in job.streams]
    began = [generation.since for job, generation in found if generation is not None and generation.fingerprint == job.fingerprint]
    return min(began, default=None)


def _readable(batch_session: SparkSession, app: AppContext, stream: Stream, letters: Sequence[DeadRow], since: str | None) -> list[DeadRow]:
    """Which of the letters decode; what was dated ahead is judged by the clock of those who read it."""
    if not letters:
        return []
    options = {name: value for name, value in stream.options.items() if name not in ("multiline", "encoding", "header")}
    values = pa.array([_as_text(letter.raw, encoding_of(app.spec(stream).options)) for letter in letters], pa.binary())
    raw = batch_session.createDataFrame(pa.table({"__value": values, "__position": [letter.position for letter in letters]}))
    now = CLOCK if since is None else f"timestamp_micros({round(datetime.fromisoformat(since).timestamp() * 1e6)})"
    source = app.source(stream)
    written = source.written if isinstance(source, HasLines) else None
    good = {row[0] for row in readable(app, replace(stream, options=options), raw, written, now=now).collect()}
    return [letter for letter in letters if letter.position in good]


def _as_text(raw: bytes, encoding: str) -> bytes:
    """As a reader of files gives it: in UTF-8."""
    try:
        return raw.decode(encoding).encode()
    except UnicodeError:
        return raw


def _held_by(app: AppContext, stream: Stream) -> Callable[[dict[str, object]], bool]:
    """Whether the source still has the record of a position."""
    if stream.options.get("connector") == "kafka":
        held = Admin(app.spec(stream)).topic().held
        return lambda place: held.get(int(str(place["partition"])), (0, 0))[0] <= int(str(place["offset"]))
    return lambda place: "file" in place and Path(local_path(str(place["file"]))).exists()
