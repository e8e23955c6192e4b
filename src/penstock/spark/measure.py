"""Figures of a running job, from Spark's own progress records."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from penstock.share.progress import Intake, Progress, unsustained
from penstock.spark.checkpoint import source_order
from penstock.spark.job import JobRun

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
    fresh = [record] if record["batchId"] <= before.epoch + 1 else [_record(entry) for entry in query.recentProgress]
    fresh = [entry for entry in fresh if entry["batchId"] > before.epoch]
    operators = record.get("stateOperators", [])
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
        state_rows=sum(int(operator.get("numRowsTotal", 0)) for operator in operators),
        state_bytes=sum(int(operator.get("memoryUsedBytes", 0)) for operator in operators),
        late=before.late + sum(int(operator.get("numRowsDroppedByWatermark", 0)) for entry in fresh for operator in entry["stateOperators"]),
        dead=base.dead + run.dead_found,
        streams=streams,
        batches=before.batches + len(fresh),
        batch_s=int(record["durationMs"].get(_WHOLE, record["batchDuration"])) / 1000,
        phases_s=_phases(before, fresh),
        behind=unsustained(interval_s, _durations([_record(entry) for entry in query.recentProgress])) if interval_s else None,
        moved_at=time.time(),
        busy_since=None,
    )


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
    """By stream: one that the plan reads twice may have two sources, whose rows are the same. A generator's rows are counted by its gate."""
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
