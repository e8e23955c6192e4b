"""What a run of chaos found: a line for people, an object for programs, a table over many runs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.testing.chaos.faults import FAULTS
from penstock.testing.chaos.follow import Seen

_SEEN = ("lost", "duplicated", "partial", "retracted")
BEGIN, END = "<!-- chaos: begin -->", "<!-- chaos: end -->"


@dataclass(frozen=True)
class Injected:
    """One fault that was done: how long until every view went on, and what was not as promised."""

    fault: str
    recovery_s: float | None
    note: str = ""
    failure: str = ""


@dataclass
class Outcome:
    """One seed against one app."""

    app: str
    seed: int
    injected: list[Injected] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    seen: Seen = field(default_factory=Seen)
    unknown: list[str] = field(default_factory=list)
    verified: str = ""
    trouble: list[str] = field(default_factory=list)
    looks: int = 0
    rows: int = 0

    @property
    def recoveries(self) -> list[float]:
        return [one.recovery_s for one in self.injected if one.recovery_s is not None]

    @property
    def failures(self) -> list[str]:
        """Everything that must not be; empty when the app held."""
        found = [f"{one.fault}: {one.failure}" for one in self.injected if one.failure]
        found += self.seen.words + [f"unknown in the logs: {line}" for line in self.unknown] + self.trouble
        if not self.seen.clean and not self.seen.words:
            found.append("the reader saw faults")
        return found

    def line(self) -> str:
        """`seed 7: 23 faults, 0 lost, 0 duplicated, recovery p95 4.1 s`."""
        more = "".join(f", {count} {word}" for word, count in (("partial", self.seen.partial), ("retracted", self.seen.retracted)) if count)
        speed = f"recovery p95 {p95(self.recoveries):.1f} s" if self.recoveries else "no recovery measured"
        bad = "" if not self.failures else f", {len(self.failures)} FAILURES"
        return f"seed {self.seed}: {len(self.injected)} faults, {self.seen.lost} lost, {self.seen.duplicated} duplicated{more}, {speed}{bad}"

    def as_json(self) -> dict[str, object]:
        return {
            "app": self.app,
            "seed": self.seed,
            "faults": [{"fault": one.fault, "recovery_s": one.recovery_s, "note": one.note, "failure": one.failure} for one in self.injected],
            "left_out": self.left_out,
            "lost": self.seen.lost,
            "duplicated": self.seen.duplicated,
            "partial": self.seen.partial,
            "retracted": self.seen.retracted,
            "recovery_s": {"p50": middle(self.recoveries), "p95": p95(self.recoveries)},
            "verify": self.verified,
            "looks": self.looks,
            "rows": self.rows,
            "failures": self.failures,
        }


def p95(seconds: Sequence[float]) -> float:
    return sorted(seconds)[max(0, math.ceil(0.95 * len(seconds)) - 1)] if seconds else 0.0


def middle(seconds: Sequence[float]) -> float:
    return sorted(seconds)[len(seconds) // 2] if seconds else 0.0


def table(runs: Iterable[Mapping[str, Any]]) -> list[dict[str, object]]:
    """One row for each fault, over runs as `as_json` gives them. What a run lost or doubled counts against its every fault."""
    found = list(runs)
    rows: list[dict[str, object]] = []
    for fault in FAULTS:
        tries = [(run, one) for run in found for one in run["faults"] if one["fault"] == fault.name]
        if tries:
            hit = {(run["app"], run["seed"]): run for run, _ in tries}.values()
            speeds = [one["recovery_s"] for _, one in tries if one["recovery_s"] is not None]
            lost = sum(run["lost"] + run["partial"] for run in hit)
            duplicated = sum(run["duplicated"] + run["retracted"] for run in hit)
            survived = sum(1 for run, one in tries if not one["failure"] and not any(run[kind] for kind in _SEEN))
            speed = round(p95(speeds), 1)
            rows.append(
                {"fault": fault.name, "tried": len(tries), "survived": survived, "lost": lost, "duplicated": duplicated, "recovery_p95_s": speed}
            )
    return rows


def markdown(rows: Sequence[dict[str, object]], words: str) -> str:
    """The table as a page shows it."""
    lines = [words, "", "| fault | tried | survived | lost | duplicated | recovery p95 |", "|---|---|---|---|---|---|"]
    lines += [f"| `{r['fault']}` | {r['tried']} | {r['survived']} | {r['lost']} | {r['duplicated']} | {r['recovery_p95_s']} s |" for r in rows]
    return "\n".join(lines)


def publish(page: Path, text: str) -> bool:
    """Put `text` between the two marks of a page; False when the page has none."""
    if not page.is_file():
        return False
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        return False
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")
    return True


def keep(path: Path, runs: Sequence[Mapping[str, Any]]) -> None:
    """All runs and the table over them, as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"table": table(runs), "runs": list(runs)}, indent=1) + "\n", encoding="utf-8")


def kept(path: Path) -> list[dict[str, Any]]:
    """The runs that `keep` wrote; none when there is no such file."""
    return list(json.loads(path.read_text(encoding="utf-8"))["runs"]) if path.is_file() else []
