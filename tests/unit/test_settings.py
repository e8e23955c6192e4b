"""Settings: what they take, and what is reported of a value that means nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import OptionFault
from penstock.settings import SETTINGS, load


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("restarts_max", "-1", "a whole number from 0 on"),
        ("restarts_max", "many", "a whole number from 0 on"),
        ("driver_memory", "4 apples", "512m or 4g"),
        ("driver_memory", "1m", "at least 512m"),
        ("executor_memory", "", "512m or 4g"),
        ("master", "locl[2]", "local[2]"),
        ("master", "local[0]", "local[2]"),
        ("batch_rows_max", "0", "a whole number from 1 on"),
        ("batch_mb_max", "-5", "a whole number from 1 on"),
        ("batch_files_max", "-1", "a whole number from 0 on"),
        ("batch_rows_max", "2.5", "a whole number from 1 on"),
        ("restart_backoff_s", "nan", "a number of seconds from 0 on"),
        ("stop_timeout_s", "inf", "a number of seconds from 0 on"),
        ("log_level", "LOUD", "DEBUG or INFO"),
        ("fast_start", "perhaps", "true or false"),
    ],
)
def test_a_value_that_means_nothing_is_reported_with_what_would(name: str, value: str, words: str) -> None:
    with pytest.raises(OptionFault) as raised:
        load(overrides={name: value})
    assert raised.value.message.startswith(f"--set {name}: `{name}` wants ")
    assert words in raised.value.message
    assert raised.value.message.endswith(f"not {value!r}")
    assert raised.value.exit_code == 2
    assert raised.value.hint


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("master", "local"),
        ("master", "local[4,2]"),
        ("master", "spark://a:7077,b:7077"),
        ("master", "yarn"),
        ("master", "k8s://https://host:6443"),
        ("driver_memory", "1536m"),
        ("driver_memory", "2GB"),
        ("restarts_max", "0"),
        ("restart_backoff_s", "0.1"),
        ("log_level", "debug"),
        ("fast_start", "TRUE"),
    ],
)
def test_a_value_that_means_something_is_taken(name: str, value: str) -> None:
    assert str(load(overrides={name: value})[name]).lower() == value.lower()


@pytest.mark.parametrize("line", ["batch_rows_max = 2.5", "batch_rows_max = true", "restarts_max = [1]", "fast_start = 1", "store = [1]"])
def test_a_file_may_not_say_another_type(tmp_path: Path, line: str) -> None:
    (tmp_path / "penstock.toml").write_text(line, encoding="utf-8")
    with pytest.raises(OptionFault, match=r"penstock\.toml: `\w+` wants "):
        load(tmp_path / "penstock.toml")


def test_every_default_fits_itself() -> None:
    assert [setting.name for setting in SETTINGS if not setting.fits(setting.default)] == []


def test_a_file_that_is_no_toml_is_reported_with_an_example(tmp_path: Path) -> None:
    (tmp_path / "penstock.toml").write_text("trigger: 10 seconds\n", encoding="utf-8")
    with pytest.raises(OptionFault, match=r"not valid TOML") as fault:
        load(tmp_path / "penstock.toml", {})
    assert fault.value.hint
    assert "name = value" in fault.value.hint
