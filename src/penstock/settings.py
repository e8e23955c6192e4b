"""Every knob, in one place: name, default, what it is for. The unit is the last word of a name that has one.

Values come from, weakest first: the default, `penstock.toml`, `PENSTOCK_<NAME>` in the environment, `--set name=value`.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from penstock.errors import OptionFault

Value = str | int | float | bool


@dataclass(frozen=True)
class Setting:
    """One knob; the type of a value is the type of its default."""

    name: str
    default: Value
    help: str


SETTINGS: tuple[Setting, ...] = (
    Setting("master", "local[*]", "Spark master; `spark://host:port` runs the same app on a cluster"),
    Setting("driver_memory", "4g", "memory of the driver's JVM"),
    Setting("executor_memory", "1g", "memory of each executor on a cluster"),
    Setting("shuffle_partitions", 0, "partitions of a shuffle and of state; 0: as many as cores, 8 at most"),
    Setting("state", "", "state folder; empty: `.penstock` in the app's folder"),
    Setting("store", "", "results store: empty for SQLite in the state folder, or postgres://user@host:port/database"),
    Setting("trigger", "", "how often a view looks for rows: empty (as soon as possible), `10 seconds`, or `once`"),
    Setting("batch_rows_max", 2_000_000, "most rows that one micro-batch takes from a broker or generator"),
    Setting("batch_mb_max", 512, "most megabytes of files that one micro-batch takes"),
    Setting("batch_files_max", 0, "most files that one micro-batch takes; 0: no bound but `batch_mb_max`"),
    Setting("restarts_max", 5, "restarts of a failing job in a row before it is given up"),
    Setting("restart_backoff_s", 1.0, "wait before the first restart; doubled each time, 60 s at most"),
    Setting("stop_timeout_s", 9.0, "how long a stop waits for the current batch"),
    Setting("changes_kept_epochs", 1000, "epochs of a view's change log that are kept once every sink has them"),
    Setting("fast_start", False, "compile less eagerly in the JVM: quicker to start, slower in long runs"),
    Setting("log_level", "INFO", "level of Penstock's own log"),
)
_BY_NAME = {setting.name: setting for setting in SETTINGS}


@dataclass(frozen=True)
class Settings:
    """All settings with their values; read with `settings["name"]` or the typed readers."""

    values: Mapping[str, Value]

    def __getitem__(self, name: str) -> Value:
        return self.values[name]

    def text(self, name: str) -> str:
        return str(self.values[name])

    def number(self, name: str) -> int:
        return int(self.values[name])

    def seconds(self, name: str) -> float:
        return float(self.values[name])

    def flag(self, name: str) -> bool:
        return bool(self.values[name])


def load(toml: Path | None = None, overrides: Mapping[str, str] = MappingProxyType({})) -> Settings:
    """The settings of an app: defaults, then its `penstock.toml`, the environment, and `--set`."""
    values: dict[str, Value] = {setting.name: setting.default for setting in SETTINGS}
    if toml is not None and toml.exists():
        for name, value in _read_toml(toml).items():
            values[name] = _typed(name, value, str(toml))
    for name in _BY_NAME:
        found = os.environ.get(f"PENSTOCK_{name.upper()}")
        if found is not None:
            values[name] = _typed(name, found, f"PENSTOCK_{name.upper()}")
    for name, text in overrides.items():
        values[name] = _typed(name, text, f"--set {name}")
    return Settings(MappingProxyType(values))


def _read_toml(path: Path) -> Mapping[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OptionFault(f"{path} is not valid TOML: {error}") from error


def _typed(name: str, value: object, origin: str) -> Value:
    setting = _BY_NAME.get(name)
    if setting is None:
        near = difflib.get_close_matches(name, _BY_NAME, n=1)
        raise OptionFault(
            f"{origin}: there is no setting `{name}`",
            hint=f"did you mean `{near[0]}`?" if near else "docs/settings.md lists all of them",
        )
    wanted = type(setting.default)
    if wanted is bool and isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    try:
        if wanted is bool and not isinstance(value, bool):
            raise ValueError(value)
        return wanted(value)  # type: ignore[call-overload, no-any-return, arg-type, unused-ignore]
    except (TypeError, ValueError):
        raise OptionFault(f"{origin}: `{name}` wants a {wanted.__name__}, not {value!r}", hint=setting.help) from None
