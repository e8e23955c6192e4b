"""The figures of a run as Prometheus reads them.

Names end in their unit, counters in `_total`; counters begin at 0 with each run. Nothing of an error's text, of a row or of an
option is in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from penstock.observe.progress import Progress

STATUSES = ("starting", "running", "outage", "restarting", "failed", "stopped", "done")
Samples = Iterable[tuple[tuple[str, ...], float | None]]


@dataclass(frozen=True)
class Metric:
    """One family of samples: what a job has of it, each value with those of the labels that stand beside `job`; None is left out."""

    name: str
    help: str
    samples: Callable[[Progress, float], Samples]
    labels: tuple[str, ...] = ()


def _one(value: Callable[[Progress], float | None]) -> Callable[[Progress, float], Samples]:
    return lambda job, _: [((), value(job))]


METRICS: tuple[Metric, ...] = (
    Metric("penstock_view_info", "1 for each view, with the job that keeps it", lambda job, _: [((view,), 1) for view in job.views], ("view",)),
    Metric(
        "penstock_job_status",
        "1 for the status that a job has, 0 for the others",
        lambda job, _: [((status,), status == job.status) for status in STATUSES],
        ("status",),
    ),
    Metric("penstock_rows_total", "rows that a job has read", _one(lambda job: job.rows)),
    Metric("penstock_rows_per_second", "rows a second in the newest batch", _one(lambda job: job.rows_per_s)),
    Metric(
        "penstock_stream_rows_total",
        "rows that a job has read from a stream",
        lambda job, _: [((at.stream,), at.rows) for at in job.streams],
        ("stream",),
    ),
    Metric(
        "penstock_lag",
        "what is known to wait at a stream, in its unit: rows or files",
        lambda job, _: [((at.stream, at.lag_unit), at.lag) for at in job.streams],
        ("stream", "unit"),
    ),
    Metric("penstock_watermark_delay_seconds", "how far the watermark is behind the clock", lambda job, now: [((), _delay(job, now))]),
    Metric("penstock_state_rows", "rows that Spark keeps as state", _one(lambda job: job.state_rows)),
    Metric("penstock_state_bytes", "memory that the state takes", _one(lambda job: job.state_bytes)),
    Metric(
        "penstock_late_rows_total",
        "late rows that stateful operators dropped, as Spark counts them: an aggregate's after its rows were grouped in the batch",
        _one(lambda job: job.late),
    ),
    Metric(
        "penstock_dead_letters_total",
        "records that did not decode and are kept as dead letters",
        lambda job, _: [((at.stream,), at.dead) for at in job.streams],
        ("stream",),
    ),
    Metric(
        "penstock_outage_seconds",
        "how long an outside system that a job needs has been unavailable; 0 while all are there",
        lambda job, now: [((), 0.0 if job.outage_since is None else now - job.outage_since)],
    ),
    Metric("penstock_restarts_total", "restarts of a job after a failure", _one(lambda job: job.restarts)),
    Metric("penstock_epoch", "newest epoch; -1 before the first", _one(lambda job: job.epoch)),
    Metric("penstock_recovery_seconds", "from the last failure, or from the start, to the first new epoch", _one(lambda job: job.recovery_s)),
    Metric("penstock_batches_total", "epochs that were done", _one(lambda job: job.batches)),
    Metric("penstock_batch_seconds", "what the newest batch took", _one(lambda job: job.batch_s if job.batches else None)),
    Metric(
        "penstock_batch_phase_seconds_total",
        "what all batches took, by Spark's phase",
        lambda job, _: [((phase,), spent) for phase, spent in job.phases_s.items()],
        ("phase",),
    ),
    Metric(
        "penstock_trigger_short_seconds",
        "the interval that batches could keep, while they do not keep the one that was asked for",
        _one(lambda job: None if job.behind is None else job.behind.could_s),
    ),
)


class _Run(Collector):
    def __init__(self, progress: Sequence[Progress], now: float) -> None:
        self._progress, self._now = progress, now

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        for metric in METRICS:
            family = (CounterMetricFamily if metric.name.endswith("_total") else GaugeMetricFamily)(
                metric.name, metric.help, labels=("job", *metric.labels)
            )
            for job in self._progress:
                for labels, value in metric.samples(job, self._now):
                    if value is not None:
                        family.add_metric((job.job, *labels), value)
            if family.samples:
                yield family


def exposition(progress: Sequence[Progress], now: float) -> bytes:
    """All figures in the text format, version 0.0.4; `now` is in seconds since 1970."""
    registry = CollectorRegistry()
    registry.register(_Run(progress, now))
    return generate_latest(registry)


def _delay(job: Progress, now: float) -> float | None:
    return now - datetime.fromisoformat(job.watermark).timestamp() if job.watermark else None
