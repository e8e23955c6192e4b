"""What a run of chaos found: a line for people, an object for programs, a table over many runs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from penstock.chaos.faults import FAULTS
from penstock.chaos.follow import Seen

UNKNOWN = "unknown in the logs"
BEGIN, END = "<!-- chaos: begin -->", "<!-- chaos: end -->"


@dataclass(frozen=True)
class Injected:
    """One fault of the plan: how long until every view went on, and what was not as promised.

    Not `done`: the app did not come to where it was to happen, and `note` says why. Then nothing was survived.
    """

    fault: str
    recovery_s: float | None
    note: str = ""
    failure: str = ""
    done: bool = True


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
        return [one.recovery_s for one in self.injected if one.recovery_s is not None and one.done]

    @property
    def failures(self) -> list[str]:
        """Everything that must not be; empty when the app held."""
        found = [f"{one.fault}: {one.failure}" for one in self.injected if one.failure]
        found += self.seen.words + [f"{UNKNOWN}: {line}" for line in self.unknown] + self.trouble
        if not self.seen.clean and not self.seen.words:
            found.append("the reader saw faults")
        return found

    def line(self) -> str:
        """`seed 7: 23 faults, 0 lost, 0 duplicated, recovery p95 4.1 s`."""
        more = "".join(f", {count} {word}" for word, count in (("partial", self.seen.partial), ("retracted", self.seen.retracted)) if count)
        speed = f"recovery p95 {p95(self.recoveries):.1f} s" if self.recoveries else "no recovery measured"
        done = sum(one.done for one in self.injected)
        left = "" if done == len(self.injected) else f", {len(self.injected) - done} not done"
        bad = "" if not self.failures else f", {len(self.failures)} FAILURES"
        faults = f"{done} fault{'' if done == 1 else 's'}"
        return f"seed {self.seed}: {faults}, {self.seen.lost} lost, {self.seen.duplicated} duplicated{more}, {speed}{left}{bad}"

    def as_json(self) -> dict[str, object]:
        return {
            "app": self.app,
            "seed": self.seed,
            "faults": [asdict(one) for one in self.injected],
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
    """One row for each fault that was done, over runs as `as_json` gives them. What a run did wrong as a whole counts against its every fault."""
    found = list(runs)
    rows: list[dict[str, object]] = []
    for fault in FAULTS:
        tries = [(run, one) for run in found for one in run["faults"] if one["fault"] == fault.name and one.get("done", True)]
        if tries:
            hit = {(run["app"], run["seed"]): run for run, _ in tries}.values()
            speeds = [one["recovery_s"] for _, one in tries if one["recovery_s"] is not None]
            lost = sum(run["lost"] + run["partial"] for run in hit)
            duplicated = sum(run["duplicated"] + run["retracted"] for run in hit)
            survived = sum(1 for run, one in tries if not one["failure"] and not of_the_whole(run))
            speed = round(p95(speeds), 1)
            rows.append(
                {"fault": fault.name, "tried": len(tries), "survived": survived, "lost": lost, "duplicated": duplicated, "recovery_p95_s": speed}
            )
    return rows


def of_the_whole(run: Mapping[str, Any]) -> list[str]:
    """What was wrong in a run that no single fault is blamed for: any of them may have done it."""
    blamed = {f"{one['fault']}: {one['failure']}" for one in run["faults"]}
    return [words for words in run["failures"] if words not in blamed]


def words(runs: Sequence[Mapping[str, Any]]) -> str:
    """What the runs were, above their table."""
    seeds = sorted({int(run["seed"]) for run in runs})
    rows, looks = sum(int(run["rows"]) for run in runs), sum(int(run["looks"]) for run in runs)
    apps = ", ".join(f"`{name}`" for name in dict.fromkeys(str(run["app"]) for run in runs))
    equal = sum(1 for run in runs if run["verify"] == "equal")
    odd = sum(1 for run in runs if of_the_whole(run))
    unknown = sum(1 for run in runs if of_the_whole(run) and all(found.startswith(UNKNOWN) for found in of_the_whole(run)))
    return (
        f"Made by `make chaos`: {len(runs)} runs ({apps}; seeds {', '.join(map(str, seeds))}), {rows:,} rows fed, {looks:,} looks of the reader,"
        f" `verify` equal in {equal} of {len(runs)}. In {odd} of them something was wrong for which no single fault is to blame ({unknown}: only"
        " records in the logs that no fault explains): none of their faults counts as survived. Recovery counts from the moment"
        " nothing is in the way until every view went on; where the driver was killed it includes a new start of Spark."
    )


def markdown(rows: Sequence[dict[str, object]], head: str) -> str:
    """The table as a page shows it, below some words."""
    lines = [head, "", "| fault | tried | survived | lost | duplicated | recovery p95 |", "|---|---|---|---|---|---|"]
    lines += [f"| `{r['fault']}` | {r['tried']} | {r['survived']} | {r['lost']} | {r['duplicated']} | {r['recovery_p95_s']} s |" for r in rows]
    return "\n".join(lines)


def publish(page: Path, text: str) -> bool:
    """Put `text` between the two marks of a page; False when the page has none."""
    placed = between_marks(page.read_text(encoding="utf-8"), text) if page.is_file() else None
    if placed is not None:
        page.write_text(placed, encoding="utf-8")
    return placed is not None


def between_marks(page: str, text: str) -> str | None:
    """A page with `text` between its two marks; None when it has none."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{begin}\n{text}\n{end}{after}" if begin and end else None


def keep(path: Path, runs: Sequence[Mapping[str, Any]]) -> None:
    """All runs and the table over them, as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"table": table(runs), "runs": list(runs)}, indent=1) + "\n", encoding="utf-8")


def kept(path: Path) -> list[dict[str, Any]]:
    """The runs that `keep` wrote; none when there is no such file."""
    return list(json.loads(path.read_text(encoding="utf-8"))["runs"]) if path.is_file() else []
