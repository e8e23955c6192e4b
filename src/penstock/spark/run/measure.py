"""Figures of a running job, from Spark's own progress records."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from penstock.observe.progress import Intake, Progress, unsustained
from penstock.spark.checkpoint.offset_log import last_epoch, read_epoch, source_order
from penstock.spark.run.job import JobRun

_BATCHES_JUDGED = 10
_WHOLE = "triggerExecution"


def measured(before: Progress, run: JobRun, base: Progress, interval_s: float | None) -> Progress:
    """The progress of a job after its newest batch; `base` is where it stood when this run of it began, `interval_s` its trigger."""
    query = run.query
    last = query._jsq.lastProgress() if query is not None else None
    if query is None or last is None:
        return replace(before, busy_since=_busy(before, run))
    if last.batchId() <= before.epoch:  # the whole record is put into words by Spark, which takes longer than this one question
        return replace(before, busy_since=_busy(before, run), dead=base.dead + run.dead_found)
    record: dict[str, Any] = json.loads(last.json())
    fresh = _batches_after(before.epoch, record, query)
    if not fresh:  # it looked for rows and found none: such a record has the number of the next batch
        return replace(_caught_up(before, run, record), busy_since=_busy(before, run), dead=base.dead + run.dead_found)
    record = fresh[-1]
    watermark = record.get("eventTime", {}).get("watermark")
    rows = base.rows + run.rows_made if run.rows_made else before.rows + sum(int(entry["numInputRows"]) for entry in fresh)
    streams = _intakes(before, base, run, fresh)
    known = [intake for intake in streams if intake.lag is not None]
    return replace(
        before,
        epoch=record["batchId"],
        rows=rows,
        rows_per_s=1000 * (rows - before.rows) / sum(max(1, int(entry["batchDuration"])) for entry in fresh),
        lag=sum(intake.lag or 0 for intake in known) if known else None,
        lag_unit=known[0].lag_unit if known else "rows",
        watermark=None if watermark in (None, "1970-01-01T00:00:00.000Z") else watermark,
        state_rows=_of_state([record], "numRowsTotal"),
        state_bytes=_of_state([record], "memoryUsedBytes"),
        late=before.late + _of_state(fresh, "numRowsDroppedByWatermark") + run.take_late(),
        dead=base.dead + run.dead_found,
        streams=streams,
        batches=before.batches + len(fresh),
        batch_s=int(record["durationMs"].get(_WHOLE, record["batchDuration"])) / 1000,
        phases_s=_phases(before, fresh),
        behind=unsustained(interval_s, _durations(_batches(query))) if interval_s else None,
        moved_at=time.time(),
        busy_since=None,
    )


def from_checkpoint(own: Progress, checkpoint: Path, occurrences: Sequence[str]) -> Progress:
    """How a job that ran before stands when it starts, by its checkpoint: its epoch and watermark are known before the first batch."""
    epoch = last_epoch(checkpoint / "commits")
    if epoch < 0 or own.epoch >= epoch:
        return own
    marked = read_epoch(checkpoint, epoch).watermark_ms
    watermark = datetime.fromtimestamp(marked / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z") if marked else None
    streams = own.streams or tuple(Intake(name) for name in dict.fromkeys(occurrences))
    return replace(own, epoch=epoch, watermark=own.watermark or watermark, streams=streams)


def _is_batch(record: dict[str, Any]) -> bool:
    """Whether a record is of a batch that ran, and not of a look that found nothing."""
    return "addBatch" in record["durationMs"]


def _batches_after(epoch: int, newest: dict[str, Any], query: StreamingQuery) -> list[dict[str, Any]]:
    """The batches that are done since `epoch`; where the newest record is the next one, the others need not be asked for."""
    found = [newest] if _is_batch(newest) and newest["batchId"] <= epoch + 1 else _batches(query)
    return [record for record in found if record["batchId"] > epoch]


def _batches(query: StreamingQuery) -> list[dict[str, Any]]:
    return [record for record in (_record(entry) for entry in query.recentProgress) if _is_batch(record)]


def _caught_up(before: Progress, run: JobRun, record: dict[str, Any]) -> Progress:
    """A look that found nothing: nothing waits at any source."""
    names = source_order(list(run.occurrences), len(record["sources"]))
    known = {intake.stream: intake for intake in before.streams}
    streams = tuple(
        replace(known.get(name, Intake(name)), lag=0, lag_unit="files" if source["description"].startswith("FileStreamSource") else "rows")
        for name, source in dict(zip(names, record["sources"], strict=False)).items()
    )
    return replace(before, streams=streams, lag=0, lag_unit=streams[0].lag_unit) if streams else before


def _of_state(records: list[dict[str, Any]], figure: str) -> int:
    """A figure of all stateful operators, summed up."""
    return sum(int(operator.get(figure, 0)) for record in records for operator in record.get("stateOperators", []))


def _record(progress: Any) -> dict[str, Any]:
    found: dict[str, Any] = progress if isinstance(progress, dict) else json.loads(progress.json)
    return found


def _busy(before: Progress, run: JobRun) -> float | None:
    """Since when the query was found at work every time it was looked at, with no epoch done in between."""
    if run.query is None or not run.query.status["isTriggerActive"]:
        return None
    return before.busy_since or time.time()


def _durations(records: list[dict[str, Any]]) -> tuple[float, ...]:
    """What the newest batches took, without the first of a run: it compiles everything."""
    return tuple(int(record["batchDuration"]) / 1000 for record in records[1:])[-_BATCHES_JUDGED:]


def _phases(before: Progress, fresh: list[dict[str, Any]]) -> Mapping[str, float]:
    """Seconds by Spark's own names (latestOffset, walCommit, getBatch, queryPlanning, addBatch, commitOffsets); the whole is left out."""
    spent = dict(before.phases_s)
    for record in fresh:
        for phase, millis in record["durationMs"].items():
            if phase != _WHOLE:
                spent[phase] = spent.get(phase, 0.0) + int(millis) / 1000
    return MappingProxyType(spent)


def _intakes(before: Progress, base: Progress, run: JobRun, fresh: list[dict[str, Any]]) -> tuple[Intake, ...]:
    """By stream: one that the plan reads twice may have two sources, whose rows are the same. A generator's rows are counted by its filter."""
    newest = fresh[-1]["sources"]
    taken, started = ({intake.stream: intake for intake in progress.streams} for progress in (before, base))
    found: dict[str, Intake] = {}
    for place, name in enumerate(source_order(list(run.occurrences), len(newest))[: len(newest)]):
        if name in found:
            continue
        of_base = started.get(name, Intake(name))
        came = sum(int(entry["sources"][place]["numInputRows"]) for entry in fresh)
        rows = of_base.rows + run.rows_by_stream.get(name, 0) if run.rows_made else taken.get(name, of_base).rows + came
        lag, unit = lag_of(newest[place])
        found[name] = Intake(name, rows, of_base.dead + run.dead_by_stream.get(name, 0), lag, unit)
    return tuple(found.values())


def lag_of(source: dict[str, Any]) -> tuple[int | None, str]:
    """What waits at a source: records for a broker, files for a folder."""
    metrics = source.get("metrics") or {}
    if "avgOffsetsBehindLatest" in metrics:
        ends, latest = _offsets(source.get("endOffset")), _offsets(source.get("latestOffset"))
        return sum(max(0, latest[part] - ends.get(part, 0)) for part in latest), "rows"
    if "numFilesOutstanding" in metrics:
        return int(metrics["numFilesOutstanding"]), "files"
    return None, "rows"


def _offsets(value: object) -> dict[tuple[str, str], int]:
    found = json.loads(value) if isinstance(value, str) else value
    if not isinstance(found, dict):
        return {}
    return {(topic, part): int(at) for topic, parts in found.items() if isinstance(parts, dict) for part, at in parts.items()}
