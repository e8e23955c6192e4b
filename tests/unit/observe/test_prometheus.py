"""The figures of a run as Prometheus reads them: parsed again by the rules of the text format."""

from __future__ import annotations

import re
from dataclasses import replace

from penstock.observe.progress import Intake, Pace, Progress
from penstock.observe.prometheus import METRICS, exposition

NOW = 1_700_000_100.0
JOB = Progress(
    "spend",
    ("spend", "best"),
    "running",
    epoch=7,
    rows=1200,
    rows_per_s=99.5,
    watermark="2023-11-14T22:13:20.000Z",
    state_rows=12,
    state_bytes=4096,
    late=3,
    dead=2,
    restarts=1,
    streams=(Intake("orders", 1200, 2, 40), Intake("files", 5, 0, 3, "files"), Intake("ticks", 9)),
    batches=8,
    batch_s=0.25,
    phases_s={"addBatch": 1.5, "walCommit": 0.125},
    recovery_s=4.5,
    behind=Pace(1.0, 3.0, 4.0),
)
SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*",?)*)\} (\S+)')
LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\"n])*)"')
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def shown(progress: list[Progress]) -> str:
    return exposition(progress, NOW).decode()


def parsed(text: str) -> Samples:
    """Every sample by name and labels; fails on anything that the format does not allow."""
    assert text.endswith("\n")
    found: Samples = {}
    helped: set[str] = set()
    typed: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split(" ", 3)[2]
            assert name not in helped
            helped.add(name)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name in helped
            assert kind in ("counter", "gauge")
            typed[name] = kind
        else:
            sample = SAMPLE.fullmatch(line)
            assert sample is not None, line
            assert sample[1] == list(typed)[-1], "samples of a family stand together, below its type"
            labels = frozenset(
                (label, re.sub(r"\\(.)", lambda mark: {"n": "\n"}.get(mark[1], mark[1]), value)) for label, value in LABEL.findall(sample[2])
            )
            assert (sample[1], labels) not in found
            found[sample[1], labels] = float(sample[3])
    assert all(name.endswith("_total") == (kind == "counter") for name, kind in typed.items())
    return found


def of(samples: Samples, name: str, **labels: str) -> float:
    return samples[f"penstock_{name}", frozenset(labels.items())]


def test_every_figure_is_there_with_its_labels() -> None:
    samples = parsed(shown([JOB]))
    assert {name for name, _ in samples} == {metric.name for metric in METRICS}
    assert of(samples, "rows_total", job="spend") == 1200
    assert of(samples, "rows_per_second", job="spend") == 99.5
    assert of(samples, "stream_rows_total", job="spend", stream="orders") == 1200
    assert of(samples, "lag", job="spend", stream="orders", unit="rows") == 40
    assert of(samples, "lag", job="spend", stream="files", unit="files") == 3
    assert of(samples, "watermark_delay_seconds", job="spend") == 100
    assert (of(samples, "state_rows", job="spend"), of(samples, "state_bytes", job="spend")) == (12, 4096)
    assert (of(samples, "late_rows_total", job="spend"), of(samples, "dead_letters_total", job="spend", stream="orders")) == (3, 2)
    assert (of(samples, "restarts_total", job="spend"), of(samples, "epoch", job="spend"), of(samples, "recovery_seconds", job="spend")) == (
        1,
        7,
        4.5,
    )
    assert of(samples, "batch_phase_seconds_total", job="spend", phase="walCommit") == 0.125
    assert of(samples, "trigger_short_seconds", job="spend") == 4
    assert of(samples, "view_info", job="spend", view="best") == 1
    assert (of(samples, "job_status", job="spend", status="running"), of(samples, "job_status", job="spend", status="failed")) == (1, 0)


def test_late_rows_are_not_called_input_rows() -> None:
    """Spark counts those of an aggregate after it has grouped them."""
    (help_line,) = [line for line in shown([JOB]).splitlines() if line.startswith("# HELP penstock_late_rows_total")]
    assert "as Spark counts them" in help_line
    assert "grouped" in help_line


def test_what_is_not_known_is_left_out_and_not_called_zero() -> None:
    names = {name for name, _ in parsed(shown([Progress("new", ("new",))]))}
    assert "penstock_epoch" in names
    assert not names & {"penstock_lag", "penstock_watermark_delay_seconds", "penstock_recovery_seconds", "penstock_batch_seconds"}


def test_a_name_of_any_characters_is_read_back_as_it_is() -> None:
    odd = 'a "b" \\ c\nd é {},='
    assert of(parsed(shown([replace(JOB, job=odd)])), "rows_total", job=odd) == 1200


def test_nothing_of_an_error_is_reported() -> None:
    assert "hunter2" not in shown([replace(JOB, status="failed", detail="password hunter2")])


def test_before_there_is_a_job_there_is_nothing() -> None:
    assert shown([]) == ""
