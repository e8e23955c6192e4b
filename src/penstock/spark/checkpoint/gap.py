"""Records that a broker deleted before a view read them.

Retention may run past a view that was stopped for long, or a topic may be recreated. Going on in silence would lose rows unseen, so
the job is refused with the exact gap, and only the user's word takes it across: the offset log then says that the gap was passed,
Spark goes on at the first record that is left, and the gap is noted in the results store.
"""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.catalog import Generation
from penstock.errors import GapError
from penstock.share.jobs import Job
from penstock.source.kafka.source import first_offsets
from penstock.source.kafka.topic import Admin, Topic
from penstock.spark.checkpoint.missing import Gap, gaps, known_topic, note
from penstock.spark.checkpoint.offset_log import last_epoch, log_of, read_epoch, source_order
from penstock.spark.checkpoint.retention import lost, refused
from penstock.spark.compile.frames import AppContext
from penstock.store.protocol import Store

log = logging.getLogger("penstock.spark")
_SUM_BYTES = 512


def pass_gaps(app: AppContext, job: Job, occurrences: Sequence[str], generation: Generation, store: Store, *, accepted: bool) -> None:
    """Nothing where every record that the job has to read next is there; else GapError, or with `accepted` the gap is passed and noted."""
    planned = last_epoch(generation.checkpoint / "offsets")
    if planned < 0 and generation.former is not None:
        _pass_to_new_generation(app, job, occurrences, generation.former, store, accepted=accepted)
    names = source_order(list(occurrences), len(read_epoch(generation.checkpoint, planned).ends)) if planned >= 0 else list(occurrences)
    for name in dict.fromkeys(names):
        stream = app.declared.streams[name]
        if stream.options.get("connector") == "kafka":
            spec = app.spec(stream)
            topic = Admin(spec).topic()
            known = known_topic(generation.name, name)
            recreated = store.noted(known) not in (None, topic.made)
            for source in _sources(name, names, generation.checkpoint, planned):
                _pass(source, topic, job, store, recreated=recreated, accepted=accepted)
            store.note(known, topic.made)


def _pass_to_new_generation(app: AppContext, job: Job, streams: Sequence[str], former: Path, store: Store, *, accepted: bool) -> None:
    found = lost(app, streams, former, store)
    if found and not accepted:
        raise refused(found, job)
    if found:
        note(store, job.name, found)
        log.warning("view %s starts over without records that are gone: %s", job.name, ", ".join(map(str, found)), extra={"job": job.name})


@dataclass(frozen=True)
class _Source:
    """One Kafka source of a job's plan, and the newest epoch that its checkpoint has planned.

    It has one folder, `log`, but several `places` in the offset log where its stream stands on both sides of a union.
    """

    stream: str
    log: Path
    places: tuple[int, ...]
    checkpoint: Path
    planned: int


def _sources(stream: str, names: Sequence[str], checkpoint: Path, planned: int) -> list[_Source]:
    """The sources of a stream; `names` are the streams in the order of the offset log."""
    places: dict[Path, tuple[int, ...]] = {}
    for place in (place for place, name in enumerate(names) if name == stream):
        log = log_of(checkpoint, names, place)
        places[log] = (*places.get(log, ()), place)
    return [_Source(stream, log, found, checkpoint, planned) for log, found in places.items()]


def _pass(source: _Source, topic: Topic, job: Job, store: Store, *, recreated: bool, accepted: bool) -> None:
    begin, named_by = _next_to_read(source, topic.name)
    found = gaps(source.stream, topic, begin, recreated=recreated)
    if not found or named_by is None:
        return
    if not accepted:
        raise _refused(found, job)
    _rewrite(source, topic, named_by, _passed(begin, topic, found))
    note(store, job.name, found)
    for gap in found:
        log.warning("view %s goes on without records of topic %s: %s", job.name, topic.name, gap, extra={"job": job.name})


def _next_to_read(source: _Source, topic: str) -> tuple[dict[str, int], Path | None]:
    """Where the source's next batch begins by partition, and the file of the checkpoint that says so; none where nothing was ever read."""
    committed = last_epoch(source.checkpoint / "commits")
    epoch = source.planned if committed >= source.planned else source.planned - 1
    if epoch >= 0:
        end = read_epoch(source.checkpoint, epoch).ends[source.places[0]]
        return ({}, None) if end is None else (json.loads(end).get(topic, {}), source.checkpoint / "offsets" / str(epoch))
    first = first_offsets(source.log) if source.planned >= 0 else None
    return ({}, None) if first is None else (first.get(topic, {}), source.log / "0")


def _passed(begin: Mapping[str, int], topic: Topic, found: Sequence[Gap]) -> dict[str, int]:
    """The offsets to go on from: those of the gaps at their ends, and no partition that is not there any more."""
    ends = {gap.partition: gap.end for gap in found}
    return {number: ends.get(int(number), at) for number, at in begin.items() if int(number) in topic.held}


def _rewrite(source: _Source, topic: Topic, named_by: Path, passed: dict[str, int]) -> None:
    """Let the checkpoint say that the gap was passed, and that a batch which was planned but not done ends no earlier than it begins.

    In a topic that was recreated the planned end may lie beyond the last record: such a batch becomes empty.
    """
    planned = source.checkpoint / "offsets" / str(source.planned)
    if planned != named_by:
        ends = json.loads(read_epoch(source.checkpoint, source.planned).ends[source.places[0]] or "{}").get(topic.name, {})
        within = {number: end for number, end in ends.items() if int(number) in topic.held and end <= topic.held[int(number)][1]}
        _replace_lines(planned, source.places, topic.name, {number: max(at, within.get(number, at)) for number, at in passed.items()})
    if named_by.parent.name == "offsets":
        _replace_lines(named_by, source.places, topic.name, passed)
    else:
        _write(named_by, b"\0v1\n" + json.dumps({topic.name: passed}, separators=(",", ":")).encode())


def _replace_lines(entry: Path, places: Sequence[int], topic: str, offsets: dict[str, int]) -> None:
    lines = entry.read_text(encoding="utf-8").split("\n")
    for place in places:
        lines[2 + place] = json.dumps({topic: offsets}, separators=(",", ":"))
    _write(entry, "\n".join(lines).encode())


def _write(path: Path, content: bytes) -> None:
    """In one step, with the checksum that Hadoop's local file system keeps beside it; a crash in between leaves none, never a wrong one."""
    fresh, sums = path.with_name(f".{path.name}.passed"), path.with_name(f".{path.name}.crc")
    fresh.write_bytes(content)
    had_sums = sums.exists()
    sums.unlink(missing_ok=True)
    fresh.replace(path)
    if had_sums:
        parts = (content[at : at + _SUM_BYTES] for at in range(0, len(content), _SUM_BYTES))
        sums.write_bytes(b"crc\0" + _SUM_BYTES.to_bytes(4, "big") + b"".join(zlib.crc32(part).to_bytes(4, "big") for part in parts))


def _refused(found: Sequence[Gap], job: Job) -> GapError:
    first = found[0]
    if first.recreated or first.end < first.start:
        what = f"topic `{first.topic}` was {'recreated' if first.recreated else 'cut short'} since view `{job.name}` read it"
    else:
        what = f"records of topic `{first.topic}` were deleted before view `{job.name}` read them"
    lost = sum(max(0, gap.end - gap.start) for gap in found if not gap.recreated)
    count = f": {lost:,} records" if lost else ""
    return GapError(
        f"stream `{first.stream}`: {what}: {', '.join(map(str, found))}{count}",
        hint=f"`penstock run APP --accept-gap {job.name}` goes on without them and notes it; another --state starts over with what is left",
    )
