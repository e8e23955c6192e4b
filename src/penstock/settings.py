"""Every knob, in one place: name, default, what it is for. The unit is the last word of a name that has one.

Values come from, weakest first: the default, `penstock.toml`, `PENSTOCK_<NAME>` in the environment, `--set name=value`.
"""

from __future__ import annotations

import difflib
import logging
import math
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from penstock.errors import OptionFault, StateError, masked

Value = str | int | float | bool


def _anything(value: Value) -> bool:
    return True


@dataclass(frozen=True)
class Setting:
    """One knob; the type of a value is the type of its default, and `fits` says which values mean something: those that `wants` names."""

    name: str
    default: Value
    help: str
    wants: str = ""
    fits: Callable[[Value], bool] = _anything


_MASTER = re.compile(r"local(\[(\*|[1-9]\d*)(,\s*\d+)?\])?|local-cluster\[.+\]|spark://[^\s:,]+:\d+(,[^\s:,]+:\d+)*|yarn|k8s://\S+")
_MEMORY = re.compile(r"(\d+)([kmgt])b?", re.IGNORECASE)
_MEGABYTES = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1024 * 1024}
_WAIT = re.compile(r"(\d+(?:\.\d+)?)\s*(?:(second|minute|hour|day)s?)?", re.IGNORECASE)
_WAIT_UNITS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0}
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
_LEAST_MB = 512  # Spark itself refuses to start with less


def _is_master(value: Value) -> bool:
    return _MASTER.fullmatch(str(value)) is not None


def _is_memory(value: Value) -> bool:
    found = _MEMORY.fullmatch(str(value))
    return found is not None and int(found[1]) * _MEGABYTES[found[2].lower()] >= _LEAST_MB


def _at_least(least: float) -> Callable[[Value], bool]:
    return lambda value: least <= float(value) < math.inf


def _waited(text: str) -> float | None:
    """`60 seconds`, `2 hours`, or a bare number of seconds; None: `never`. ValueError for anything else."""
    if text.strip().lower() == "never":
        return None
    found = _WAIT.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    return float(found[1]) * _WAIT_UNITS[(found[2] or "second").lower()]


def _is_wait(value: Value) -> bool:
    _waited(str(value))
    return True


def _is_level(value: Value) -> bool:
    return str(value).upper() in _LEVELS


def _is_store(value: Value) -> bool:
    return not value or str(value).startswith(("postgres://", "postgresql://"))


_A_STORE = "nothing, or postgres://user@host:port/database"
_A_WAIT = "`never`, or a time such as `60 seconds` or `2 hours`"
_A_MASTER = "local[*], local[2], spark://host:port, yarn or k8s://..."
_A_MEMORY = "a size of at least 512m, such as 512m or 4g"
_COUNT = "a whole number from 0 on"
_FROM_ONE = "a whole number from 1 on"
_SECONDS = "a number of seconds from 0 on"

SETTINGS: tuple[Setting, ...] = (
    Setting("master", "local[*]", "Spark master; `spark://host:port` runs the same app on a cluster", _A_MASTER, _is_master),
    Setting("driver_memory", "4g", "memory of the driver's JVM", _A_MEMORY, _is_memory),
    Setting("executor_memory", "1g", "memory of each executor on a cluster", _A_MEMORY, _is_memory),
    Setting("shuffle_partitions", 0, "partitions of a shuffle and of state; 0: as many as cores, 8 at most", _COUNT, _at_least(0)),
    Setting("keyed_buckets", 16, "buckets that a keyed operator puts its keys into when its state is first made", _FROM_ONE, _at_least(1)),
    Setting("state", "", "state folder, seen from the app's folder; empty: `.penstock` there"),
    Setting("store", "", "results store: empty for SQLite in the state folder, or postgres://user@host:port/database", _A_STORE, _is_store),
    Setting("trigger", "", "how often a view looks for rows: empty (as soon as possible), `10 seconds`, or `once`"),
    Setting("poll_ms", 100, "how long a view that found no rows waits before it looks again, unless it has a trigger", _FROM_ONE, _at_least(1)),
    Setting("batch_rows_max", 2_000_000, "most rows that one micro-batch takes from a broker or generator", _FROM_ONE, _at_least(1)),
    Setting("batch_mb_max", 1024, "most megabytes of files that one micro-batch takes", _FROM_ONE, _at_least(1)),
    Setting("batch_files_max", 0, "most files that one micro-batch takes; 0: no bound but `batch_mb_max`", _COUNT, _at_least(0)),
    Setting("restarts_max", 5, "restarts in a row before a job that fails for no known reason is given up", _COUNT, _at_least(0)),
    Setting(
        "give_up_after", "never", "how long a live run waits for an outside system that is unavailable, or for room on a disk", _A_WAIT, _is_wait
    ),
    Setting("drain_gives_up_after", "60 seconds", "the same for `run --drain`", _A_WAIT, _is_wait),
    Setting("restart_backoff_s", 1.0, "wait before the first restart; doubled each time, 60 s at most", _SECONDS, _at_least(0)),
    Setting("stop_timeout_s", 9.0, "how long a stop waits for the current batch", _SECONDS, _at_least(0)),
    Setting("stalled_after_s", 120.0, "a batch that takes longer makes `/health` of `run --metrics` say so", _SECONDS, _at_least(0)),
    Setting("changes_kept_epochs", 1000, "epochs of a view's change log that are kept once every sink has them", _COUNT, _at_least(0)),
    Setting("query_timeout_s", 30.0, "how long one query of the server may take", _SECONDS, _at_least(0.1)),
    Setting("query_rows_max", 10_000, "most rows that one query of the server gives", _FROM_ONE, _at_least(1)),
    Setting("request_mb_max", 16, "largest body that the server takes", _FROM_ONE, _at_least(1)),
    Setting("requests_per_s_max", 200, "calls a second that the server takes of one token; five times as many at once", _FROM_ONE, _at_least(1)),
    Setting("subscribers_max", 2000, "how many may follow views at the same time", _FROM_ONE, _at_least(1)),
    Setting("webhook_allow", "", "hosts, with commas, to which webhooks may go although they are not public, by plain http too"),
    Setting("fast_start", False, "compile less eagerly in the JVM: quicker to start, slower in long runs"),
    Setting("start_ahead", True, "start the JVM while Python reads the app, from a class archive and without MLlib; false: by Spark's own scripts"),
    Setting("log_level", "INFO", "level of Penstock's own log", " or ".join(_LEVELS), _is_level),
)
_BY_NAME = {setting.name: setting for setting in SETTINGS}
_PREFIX = "PENSTOCK_"
_NO_SETTINGS = ("SECRET_", "CACHE", "KILL_AT", "STOP_AT", "GOLDEN", "ARCHIVE_TO")  # what else the environment can say
log = logging.getLogger("penstock.settings")


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

    def wait_s(self, name: str) -> float | None:
        """A time such as `2 hours` in seconds; None: `never`."""
        return _waited(self.text(name))

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
    for name in sorted(name for name in os.environ if name.startswith(_PREFIX)):
        if name.removeprefix(_PREFIX).lower() not in _BY_NAME and not name.removeprefix(_PREFIX).startswith(_NO_SETTINGS):
            near = difflib.get_close_matches(name.removeprefix(_PREFIX).lower(), _BY_NAME, n=1)
            log.warning("%s in the environment is no setting%s", name, f": did you mean {_PREFIX}{near[0].upper()}?" if near else "")
    for name, text in overrides.items():
        values[name] = _typed(name, text, f"--set {name}")
    return Settings(MappingProxyType(values))


def of_app(app: Path, overrides: Mapping[str, str], state: Path | None = None) -> tuple[Settings, Path]:
    """An app's settings and its state folder: the one that was asked for, else that of the settings, else one beside the app."""
    folder = app if app.is_dir() else app.parent
    settings = load(folder / "penstock.toml", overrides)
    return settings, (state or folder / (settings.text("state") or ".penstock")).absolute()


def make_state(state: Path) -> None:
    """The state folder, for its owner alone, made by whoever writes to it first; StateError where it cannot be."""
    try:
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StateError(f"the state folder {state} cannot be made: {error.strerror}", hint="choose another with --state DIR") from error


def _read_toml(path: Path) -> Mapping[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        hint = 'write one `name = value` on each line, text in quotes: trigger = "10 seconds"'
        raise OptionFault(f"{path} is not valid TOML: {error}", hint=hint) from error
    except OSError as error:
        raise OptionFault(f"{path} cannot be read: {error.strerror}", hint="it is a file with the app's settings, or absent") from error


def _typed(name: str, value: object, origin: str) -> Value:
    setting = _BY_NAME.get(name)
    if setting is None:
        near = difflib.get_close_matches(name, _BY_NAME, n=1)
        raise OptionFault(
            f"{origin}: there is no setting `{name}`",
            hint=f"did you mean `{near[0]}`?" if near else "docs/settings.md lists all of them",
        )
    try:
        found = _of_type(type(setting.default), value)
        if setting.fits(found):
            return found
    except (KeyError, ValueError):
        pass
    wants = setting.wants or _TYPES[type(setting.default)]
    raise OptionFault(f"{origin}: `{name}` wants {wants}, not {masked(repr(value))}", hint=setting.help)


_TYPES: Mapping[type, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def _of_type(wanted: type, value: object) -> Value:
    """`value` as the type of a setting; a number is not taken for a truth, nor half a number for a whole one."""
    if wanted is bool:
        if isinstance(value, bool):
            return value
        return {"true": True, "false": False}[str(value).lower()] if isinstance(value, str) else _no(value)
    if isinstance(value, (dict, list)) or (isinstance(value, bool) and wanted is not str):
        return _no(value)
    if wanted is int:
        return int(value) if isinstance(value, (int, str)) else _no(value)
    return float(str(value)) if wanted is float else str(value)


def _no(value: object) -> Value:
    raise ValueError(value)
