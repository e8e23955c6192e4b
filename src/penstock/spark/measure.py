"""Figures of a running job, from Spark's own progress records."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from penstock.share.progress import Progress
from penstock.spark.job import JobRun


def measured(before: Progress, run: JobRun) -> Progress:
    """The progress of a job after its newest batch."""
    query = run.query
    last = query.lastProgress if query is not None else None
    if query is None or last is None:
        return before
    record = _record(last)
    fresh = [record] if record["batchId"] <= before.epoch + 1 else [_record(entry) for entry in query.recentProgress]
    lag, unit = _lag(record["sources"])
    operators = record.get("stateOperators", [])
    fresh = [entry for entry in fresh if entry["batchId"] > before.epoch]
    watermark = record.get("eventTime", {}).get("watermark")
    rows = run.rows_made or before.rows + sum(int(entry["numInputRows"]) for entry in fresh)
    return replace(
        before,
        epoch=record["batchId"],
        rows=rows,
        rows_per_s=1000 * (rows - before.rows) / sum(max(1, int(entry["batchDuration"])) for entry in fresh) if fresh else before.rows_per_s,
        lag=lag,
        lag_unit=unit,
        watermark=None if watermark in (None, "1970-01-01T00:00:00.000Z") else watermark,
        state_rows=sum(int(operator.get("numRowsTotal", 0)) for operator in operators),
        late=before.late + sum(int(operator.get("numRowsDroppedByWatermark", 0)) for entry in fresh for operator in entry["stateOperators"]),
        dead=run.dead_found,
    )


def _record(progress: Any) -> dict[str, Any]:
    found: dict[str, Any] = progress if isinstance(progress, dict) else json.loads(progress.json)
    return found


def _lag(sources: list[dict[str, Any]]) -> tuple[int | None, str]:
    """What waits at the sources: records for a broker, files for a folder."""
    total, unit, known = 0, "rows", False
    for source in sources:
        metrics = source.get("metrics") or {}
        if "avgOffsetsBehindLatest" in metrics:
            ends, latest = _offsets(source.get("endOffset")), _offsets(source.get("latestOffset"))
            total += sum(max(0, latest[part] - ends.get(part, 0)) for part in latest)
            known = True
        elif "numFilesOutstanding" in metrics:
            total, unit, known = total + int(metrics["numFilesOutstanding"]), "files", True
    return (total, unit) if known else (None, unit)


def _offsets(value: object) -> dict[tuple[str, str], int]:
    found = json.loads(value) if isinstance(value, str) else value
    if not isinstance(found, dict):
        return {}
    return {(topic, part): int(at) for topic, parts in found.items() if isinstance(parts, dict) for part, at in parts.items()}
