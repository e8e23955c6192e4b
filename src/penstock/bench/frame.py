"""The frame of every benchmark: each system runs in processes of its own, in turn, and reports one JSON line."""

from __future__ import annotations

import inspect
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from penstock.bench.names import BENCHES
from penstock.errors import EngineError, NameFault, OptionFault

Report = Callable[[str], None]
_ROUNDS = 3


@dataclass(frozen=True)
class Outcome:
    """What a benchmark found. `events_per_s` is by system; `ratio` is Penstock's advantage over each other system."""

    bench: str
    events: int
    events_per_s: Mapping[str, float]
    ratio: Mapping[str, float]
    equal: bool
    detail: dict[str, Any]
    ratio_text: str = "penstock is {ratio:g} times as good as {name}"

    def as_json(self) -> dict[str, Any]:
        return {
            "bench": self.bench,
            "events": self.events,
            "events_per_s": dict(self.events_per_s),
            "ratio": dict(self.ratio),
            "equal": self.equal,
            "machine": machine(),
            **self.detail,
        }


def machine() -> dict[str, Any]:
    """Where the figures were taken."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"cores": os.cpu_count(), "memory_gb": round(memory / 2**30, 1), "system": platform.platform(), "python": platform.python_version()}


def run(name: str, *, events: int | None, rounds: int | None, report: Report, **options: Any) -> Outcome:
    """Run the benchmark `name`; `options` are those that only some benchmarks take."""
    if name not in BENCHES:
        raise NameFault(f"there is no benchmark `{name}`", hint=f"there are: {', '.join(BENCHES)}")
    module = import_module(f"penstock.bench.{name}")
    taken = inspect.signature(module.measure).parameters
    for option in options:
        if option not in taken:
            raise OptionFault(f"the benchmark `{name}` does not take --{option}", hint="leave it out")
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        outcome = module.measure(Path(folder), events, rounds or getattr(module, "ROUNDS", _ROUNDS), report, **options)
    assert isinstance(outcome, Outcome)
    return outcome


def in_child(module: str, *arguments: str) -> dict[str, Any]:
    """Run `python -m module arguments` and read the JSON object on its last line."""
    done = subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        raise EngineError(f"{module} {' '.join(arguments)} failed: {done.stderr.strip()[-800:]}")
    found = json.loads(lines[-1])
    assert isinstance(found, dict)
    return found


def answer(found: Mapping[str, Any]) -> None:
    """What a child process reports to `in_child`."""
    sys.stdout.write(json.dumps(dict(found)) + "\n")
    sys.stdout.flush()


def alternately(systems: Iterable[str], rounds: int, step: Callable[[str], dict[str, Any]], report: Report) -> dict[str, list[dict[str, Any]]]:
    """Every system once per round, the order turned round each time, so that neither profits from the machine's mood."""
    names = list(systems)
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for number in range(rounds):
        for name in names if number % 2 == 0 else reversed(names):
            report(f"round {number + 1} of {rounds}: {name}")
            found[name].append(step(name))
    return found


def middle(values: Iterable[float]) -> float:
    return float(statistics.median(values))


def percentile(values: Iterable[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]
