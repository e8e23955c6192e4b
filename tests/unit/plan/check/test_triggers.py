"""What `check` says of triggers: nonsense, and those under which exactly-once cannot be kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.plan.check.app import check
from penstock.plan.load import load
from penstock.plan.model.findings import Finding
from penstock.sink.options import check_sink_options
from penstock.source.options import check_source_options

APP = """
CREATE STREAM lines (value STRING) WITH (connector = 'files', path = 'input', format = 'text');
CREATE MATERIALIZED VIEW copy {options} AS SELECT value FROM lines;
CREATE SINK out FROM copy WITH ({sink});
"""
FILES = "connector = 'files', path = 'out'"
KAFKA = "connector = 'kafka', servers = 'h:1', topic = 't'"


def found(folder: Path, *, option: str = "", setting: str = "", sink: str = FILES) -> list[Finding]:
    options = f"WITH (trigger = '{option}')" if option else ""
    (folder / "app.sql").write_text(APP.format(options=options, sink=sink), encoding="utf-8")
    return check(load(folder), check_source_options, check_sink_options, setting)


@pytest.mark.parametrize("trigger", ["", "once", "10 seconds", "1 minute", "500 milliseconds"])
def test_a_trigger_that_means_something_is_taken(tmp_path: Path, trigger: str) -> None:
    assert found(tmp_path, setting=trigger) == []
    assert found(tmp_path, option=trigger) == []


@pytest.mark.parametrize("trigger", ["sometimes", "10", "-1 second", "1 month"])
def test_nonsense_is_an_error_wherever_it_stands(tmp_path: Path, trigger: str) -> None:
    (in_view,) = found(tmp_path, option=trigger)
    (in_setting,) = found(tmp_path, setting=trigger)
    assert (in_view.code, in_setting.code) == ("OptionFault", "OptionFault")
    assert f"cannot be '{trigger}'" in in_view.message
    assert f"the setting `trigger` cannot be '{trigger}'" in in_setting.message


@pytest.mark.parametrize("trigger", ["real-time", "continuous 1 second", "async"])
@pytest.mark.parametrize("sink", [FILES, f"{KAFKA}, delivery = 'exactly-once'"])
def test_exactly_once_is_refused_with_the_reason_where_epochs_are_not_fixed(tmp_path: Path, trigger: str, sink: str) -> None:
    for findings in (found(tmp_path, option=trigger, sink=sink), found(tmp_path, setting=trigger, sink=sink)):
        (promise,) = [one for one in findings if one.code == "PromiseFault"]
        assert f"sink `out` cannot be exactly-once with trigger = '{trigger}': Spark " in promise.message


@pytest.mark.parametrize("sink", [KAFKA, f"{FILES}, delivery = 'at-least-once'", "connector = 'console'"])
def test_a_sink_that_promises_less_is_not_blamed(tmp_path: Path, sink: str) -> None:
    assert [one.code for one in found(tmp_path, option="real-time", sink=sink)] == ["OptionFault"]
