"""What the logs of a run may hold: an exception that no fault of the run explains fails the run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from penstock.testing.chaos.faults import Fault

# What belongs to every stop and start, whatever the fault.
ALWAYS = (
    r"StopRequested|InterruptedException|ClosedByInterruptException|InterruptedIOException|ShutdownHook|shut down",
    r"is a replay of what is already stored|is started again in|stopped at once|the batch took too long",
    r"Unable to load native-hadoop|NativeCodeLoader|RejectedExecutionException|rejected from .*(?:Shutting down|Terminated)|in statusUpdate",
    r"IllegalStateException: Pool not open",  # the Kafka connector's pool of consumers closes as the JVM ends, under a task that still asks
)
_HEADLINE = re.compile(
    r"^(?:Caused by: |Exception in thread \"[^\"]*\" )?[\w.$]*(?:Exception|Error)\b[:\s]"
    r"|^\S+ ERROR |^[\d:]+ error |^error: |internal error"
)
_BEGINS = re.compile(r"\{|\d{4}-\d\d-\d\d[T ]|\d\d:\d\d:\d\d |error: |internal error")
# What Spark says for the driver whose number stands in brackets.
_OF_DRIVER = re.compile(r"^(\S+Z) \w+ \[(\d+)\] ")
_SEEN_LATE_S = 3.0  # a death is noticed a little later than it happens
_SHOWN = 10


class Logs:
    """The logs of a state folder and of its drivers, from now on."""

    def __init__(self, state: Path, drivers: Path) -> None:
        self._state, self._drivers = state, drivers
        self._from = {path: path.stat().st_size for path in self._kept()}

    def unknown(self, faults: Iterable[Fault], killed: Mapping[int, float]) -> list[str]:
        """Lines that tell of a failure which none of the `faults` explains; the first few of each.

        `killed` says when which driver was killed: what its JVM said after that, on its way out, needs no other explanation.
        """
        known = known_by(faults)
        found: list[str] = []
        for path in [*self._kept(), *sorted(self._drivers.glob("*.log"))]:
            with path.open("rb") as file:
                file.seek(self._from.get(path, 0))
                text = file.read().decode("utf-8", "replace")
            found += [f"{path.name}: {line}" for line in unexplained(text.splitlines(), known, killed)]
        return found[:_SHOWN]

    def _kept(self) -> list[Path]:
        return sorted((self._state / "logs").glob("*.log*"))


def known_by(faults: Iterable[Fault]) -> re.Pattern[str]:
    """One pattern for all that these faults may leave."""
    return re.compile("|".join([*ALWAYS, *(pattern for fault in faults for pattern in fault.known)]))


def unexplained(lines: Sequence[str], known: re.Pattern[str], killed: Mapping[int, float]) -> list[str]:
    """The headlines of failures that `known` does not match. A record is one with all that follows it: a known cause explains it."""
    found: list[str] = []
    for record in _records(lines):
        if _of_an_orphan(record[0], killed):
            continue
        said = [text for line in record if (text := _said(line)) is not None]
        if said and not any(known.search(text) for text in [*said, *(line for line in record if line[:1].strip())]):
            more = [line for line in record[1:] if line[:1].strip()]
            found.append(" / ".join(text[:200] for text in [said[0], *more[:2]] if text))
    return list(dict.fromkeys(found))


def _of_an_orphan(line: str, killed: Mapping[int, float]) -> bool:
    """Whether a JVM said this whose driver had been killed."""
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


def _said(line: str) -> str | None:
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
