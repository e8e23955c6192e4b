"""The figures of a run as Prometheus reads them: the text format, version 0.0.4.

Names end in their unit, counters in `_total`; counters begin at 0 with each run. Nothing of an error's text, of a row or of an
option is in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from penstock.share.progress import Progress

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
STATUSES = ("starting", "running", "restarting", "failed", "stopped", "done")
Sample = tuple[dict[str, str], float]


@dataclass(frozen=True)
class Metric:
    """One family of samples."""

    name: str
    kind: str
    help: str


METRICS: tuple[Metric, ...] = (
    Metric("penstock_view_info", "gauge", "1 for each view, with the job that keeps it"),
    Metric("penstock_job_status", "gauge", "1 for the status that a job has, 0 for the others"),
    Metric("penstock_rows_total", "counter", "rows that a job has read"),
    Metric("penstock_rows_per_second", "gauge", "rows a second in the newest batch"),
    Metric("penstock_stream_rows_total", "counter", "rows that a job has read from a stream"),
    Metric("penstock_lag", "gauge", "what is known to wait at a stream, in its unit: rows or files"),
    Metric("penstock_watermark_delay_seconds", "gauge", "how far the watermark is behind the clock"),
    Metric("penstock_state_rows", "gauge", "rows that Spark keeps as state"),
    Metric("penstock_state_bytes", "gauge", "memory that the state takes"),
    Metric(
        "penstock_late_rows_total",
        "counter",
        "late rows that stateful operators dropped, as Spark counts them: an aggregate's after its rows were grouped in the batch",
    ),
    Metric("penstock_dead_letters_total", "counter", "records that did not decode and are kept as dead letters"),
    Metric("penstock_restarts_total", "counter", "restarts of a job after a failure"),
    Metric("penstock_epoch", "gauge", "newest epoch; -1 before the first"),
    Metric("penstock_recovery_seconds", "gauge", "from the last failure, or from the start, to the first new epoch"),
    Metric("penstock_batches_total", "counter", "epochs that were done"),
    Metric("penstock_batch_seconds", "gauge", "what the newest batch took"),
    Metric("penstock_batch_phase_seconds_total", "counter", "what all batches took, by Spark's phase"),
    Metric("penstock_trigger_short_seconds", "gauge", "the interval that batches could keep, while they do not keep the one that was asked for"),
)


def exposition(progress: Sequence[Progress], now: float) -> str:
    """All figures; `now` is in seconds since 1970."""
    lines: list[str] = []
    for metric in METRICS:
        samples = [sample for job in progress for sample in _samples(metric.name, job, now)]
        if samples:
            lines += [f"# HELP {metric.name} {_escaped_help(metric.help)}", f"# TYPE {metric.name} {metric.kind}"]
            lines += [f"{metric.name}{_labels(labels)} {_number(value)}" for labels, value in samples]
    return "\n".join(lines) + "\n" if lines else ""


def _samples(name: str, job: Progress, now: float) -> Iterator[Sample]:
    own = {"job": job.job}
    match name.removeprefix("penstock_"):
        case "view_info":
            yield from (({**own, "view": view}, 1) for view in job.views)
        case "job_status":
            yield from (({**own, "status": status}, float(status == job.status)) for status in STATUSES)
        case "stream_rows_total":
            yield from (({**own, "stream": intake.stream}, intake.rows) for intake in job.streams)
        case "lag":
            waiting = ((intake, intake.lag) for intake in job.streams)
            yield from (({**own, "stream": intake.stream, "unit": intake.lag_unit}, lag) for intake, lag in waiting if lag is not None)
        case "dead_letters_total":
            yield from (({**own, "stream": intake.stream}, intake.dead) for intake in job.streams)
        case "batch_phase_seconds_total":
            yield from (({**own, "phase": phase}, spent) for phase, spent in job.phases_s.items())
        case _:
            yield from ((own, value) for value in _single(name, job, now))


def _single(name: str, job: Progress, now: float) -> Iterable[float]:
    """The one value of a job, or none where it is not known."""
    moment = datetime.fromisoformat(job.watermark).timestamp() if job.watermark else None
    found: dict[str, float | None] = {
        "rows_total": job.rows,
        "rows_per_second": job.rows_per_s,
        "watermark_delay_seconds": None if moment is None else now - moment,
        "state_rows": job.state_rows,
        "state_bytes": job.state_bytes,
        "late_rows_total": job.late,
        "restarts_total": job.restarts,
        "epoch": job.epoch,
        "recovery_seconds": job.recovery_s,
        "batches_total": job.batches,
        "batch_seconds": job.batch_s if job.batches else None,
        "trigger_short_seconds": None if job.behind is None else job.behind.could_s,
    }
    value = found[name.removeprefix("penstock_")]
    return () if value is None else (value,)


def _labels(labels: dict[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _escaped_help(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
