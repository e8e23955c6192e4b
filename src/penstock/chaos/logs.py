"""What the logs of a run may hold: an exception that no fault explains which was at work just then fails the run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path

from penstock.chaos.faults import Fault

# What belongs to every stop and start, whatever the fault.
ALWAYS = (
    r"StopRequested|InterruptedException|ClosedByInterruptException|InterruptedIOException|ShutdownHook|shut down",
    r"is a replay of what is already stored|is started again in|stopped at once|the batch took too long",
    r"Unable to load native-hadoop|NativeCodeLoader|RejectedExecutionException|rejected from .*(?:Shutting down|Terminated)|in statusUpdate",
    r"failed \d+ times; aborting job",  # why it failed is in the record before
    r"IllegalStateException: Pool not open",  # the Kafka connector's pool of consumers closes as the JVM ends, under a task that still asks
)
_USUAL = re.compile("|".join(ALWAYS))
_HEADLINE = re.compile(
    r"^(?:Caused by: |Exception in thread \"[^\"]*\" )?[\w.$]*(?:Exception|Error)\b[:\s]"
    r"|^\S+ ERROR |^[\d:]+ error |^error: |internal error"
)
_BEGINS = re.compile(r"\{|\d{4}-\d\d-\d\d[T ]|\d\d:\d\d:\d\d |error: |internal error")
# A job of several that failed, with its reason; why each did is also logged when it does.
_LISTED = re.compile(r"  \w+: ")
# What Spark says for the driver whose number stands in brackets.
_OF_DRIVER = re.compile(r"^(\S+Z) \w+ \[(\d+)\] ")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?Z?")
_CLOCK = re.compile(r"(\d\d):(\d\d):(\d\d) ")
_SEEN_LATE_S = 3.0  # a death is noticed a little later than it happens
_WHOLE_S = 1.0  # some clocks show whole seconds only
_AFTERMATH_S = 60.0  # clients find out, and tasks end, some time after all views went on
_SHOWN = 10


@dataclass(frozen=True)
class AtWork:
    """A fault from its injection until all views went on and every driver that it hit has ended, in seconds since 1970.

    It explains what was logged then and shortly after: a driver may find out late that a connection is dead.
    """

    fault: Fault
    since: float
    until: float

    @cached_property
    def _known(self) -> re.Pattern[str] | None:
        return re.compile("|".join(self.fault.known)) if self.fault.known else None

    def explains(self, texts: Sequence[str], moment: tuple[float, float]) -> bool:
        """Whether one of the lines of a record is what this fault may leave, and was written in its time."""
        if self._known is None or moment[1] < self.since - _WHOLE_S or moment[0] > self.until + _AFTERMATH_S:
            return False
        return any(map(self._known.search, texts))


class Logs:
    """The logs of a state folder and of its drivers, from now on."""

    def __init__(self, state: Path, drivers: Path) -> None:
        self._state, self._drivers = state, drivers
        self._from = {path: path.stat().st_size for path in self._kept()}

    def unknown(self, faults: Sequence[AtWork], killed: Mapping[int, float]) -> list[str]:
        """Lines that report a failure which none of the `faults` explains; the first few of each.

        `killed` says when which driver was killed: what its JVM logged after that, on its way out, needs no other explanation.
        """
        found: list[str] = []
        for path in [*self._kept(), *sorted(self._drivers.glob("*.log"))]:
            with path.open("rb") as file:
                file.seek(self._from.get(path, 0))
                text = file.read().decode("utf-8", "replace")
            found += [f"{path.name}: {line}" for line in unexplained(text.splitlines(), faults, killed, path.stat().st_mtime)]
        return found[:_SHOWN]

    def _kept(self) -> list[Path]:
        return sorted((self._state / "logs").glob("*.log*"))


def unexplained(lines: Sequence[str], faults: Sequence[AtWork], killed: Mapping[int, float], last: float) -> list[str]:
    """The headlines of failures that no fault explains. A record is one with all that follows it: a known cause explains it.

    `last` is when the log was last written to.
    """
    found: list[str] = []
    records = _records(lines)
    for record, moment in zip(records, _moments(records, last), strict=True):
        messages = [text for line in record if (text := _message(line)) is not None]
        if not messages or _of_an_orphan(record[0], killed):
            continue
        texts = [*messages, *(line for line in record if line[:1].strip() or _LISTED.match(line))]
        if not any(map(_USUAL.search, texts)) and not any(fault.explains(texts, moment) for fault in faults):
            more = [line for line in record[1:] if line[:1].strip()]
            found.append(" / ".join(text[:200] for text in [messages[0], *more[:2]] if text))
    return list(dict.fromkeys(found))


def _moments(records: Sequence[Sequence[str]], last: float) -> list[tuple[float, float]]:
    """When each failure was written: where it does not say so, between the record before that does and the one after.

    What follows a head that reports no failure may be another process's, which says no time at all.
    """
    times = [_time_of(record[0], last) for record in records]
    after, found = last, list[tuple[float, float]]()
    for record, time in zip(reversed(records), reversed(times), strict=True):
        exact = time is not None and _message(record[0]) is not None
        found.append((0.0, time if time is not None and exact else after))
        after = time if time is not None else after
    before, placed = 0.0, list[tuple[float, float]]()
    for time, (_, end) in zip(times, reversed(found), strict=True):
        before = time if time is not None else before
        placed.append((before, end))
    return placed


def _time_of(head: str, last: float) -> float | None:
    """Seconds since 1970; a clock without its day is of the day on which the log was last written to, or of the one before."""
    if head.startswith("{"):
        head = next(iter(re.findall(r'"time": "([^"]+)"', head)), "")
    full = _MOMENT.match(head)
    if full is not None:  # without a zone, as Python's own logging has it, it is the machine's
        return datetime.fromisoformat(full[0].replace(",", ".")).timestamp()
    clock = _CLOCK.match(head)
    if clock is None:
        return None
    day = datetime.fromtimestamp(last, UTC)
    found = day.replace(hour=int(clock[1]), minute=int(clock[2]), second=int(clock[3]), microsecond=0)
    return (found if found <= day else found - timedelta(days=1)).timestamp()


def _of_an_orphan(line: str, killed: Mapping[int, float]) -> bool:
    """Whether a JVM logged this whose driver had been killed."""
    found = _OF_DRIVER.match(line)
    if found is None or int(found[2]) not in killed:
        return False
    return datetime.fromisoformat(found[1]).timestamp() > killed[int(found[2])] - _SEEN_LATE_S


def _records(lines: Sequence[str]) -> list[list[str]]:
    """Lines by the record that they belong to; stack traces and causes belong to the one before."""
    found: list[list[str]] = []
    for line in lines:
        if not found or _BEGINS.match(line):
            found.append([])
        found[-1].append(line)
    return found


def _message(line: str) -> str | None:
    """The headline of a failure, or None for a line that is none."""
    if line.startswith("{"):
        try:
            record = json.loads(line)
        except ValueError:
            return None
        if record.get("level") in ("ERROR", "CRITICAL"):
            trace = str(record.get("trace", "")).strip().splitlines()
            return f"{record['message']} {trace[-1] if trace else ''}".strip().replace("\n", " ")
        return None
    return line.strip() if _HEADLINE.search(line) else None
