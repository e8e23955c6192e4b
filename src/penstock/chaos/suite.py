"""Every fault and seed against the built-in apps: `python -m penstock.chaos.suite`, which is `make chaos`.

Environment: SEEDS (`1 2 3`), FAULTS (names with commas; all), ROUTES (names of built-in apps; all), VIEWS (which of their views; all),
MORE=1 adds to the runs that were kept before instead of starting over. What it finds is kept after each run.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from penstock.chaos.apps import ROUTES, VIEWS
from penstock.chaos.faults import chosen
from penstock.chaos.report import keep, kept, markdown, publish, table, words
from penstock.chaos.storm import orderly_end, storm

_CLUSTER = ("kill-executor", "kill-worker")


def main(results: Path, page: Path) -> int:
    """Run all, keep the figures in `results` and show them on `page`; 1 when anything was not as promised."""
    seeds = [int(seed) for seed in os.environ.get("SEEDS", "1 2 3").replace(",", " ").split()]
    routes = os.environ.get("ROUTES", " ".join(route for route in ROUTES if "cluster" not in route)).replace(",", " ").split()
    asked = [fault.name for fault in chosen(name for name in os.environ.get("FAULTS", "").split(",") if name)]
    views = tuple(os.environ.get("VIEWS", "").replace(",", " ").split()) or VIEWS
    runs = kept(results) if os.environ.get("MORE") else []
    failed = 0
    for seed in seeds:
        for app, faults in _storms(routes, asked):
            outcome = storm(app, seed, faults, say=lambda text: print(text, file=sys.stderr, flush=True), views=views)  # noqa: T201
            print(f"{app}: {outcome.line()}", flush=True)  # noqa: T201
            failed += bool(outcome.failures)
            runs = kept(results) if os.environ.get("MORE") else runs  # another suite may have added to it meanwhile
            runs = [run for run in runs if (run["app"], run["seed"]) != (outcome.app, seed)] + [outcome.as_json()]
            keep(results, runs)
            publish(page, markdown(table(runs), words(runs)))
    return 1 if failed else 0


def _storms(routes: list[str], asked: list[str]) -> list[tuple[str, list[str]]]:
    """Apps with their faults; those of a cluster in a run of their own, for it is slow to start."""
    plain = [name for name in asked if name not in _CLUSTER]
    found = [(route, plain) for route in routes if plain or not asked]
    on_cluster = [name for name in _CLUSTER if not asked or name in asked]
    return found + ([("kafka-postgres-on-cluster", on_cluster)] if on_cluster and "kafka-postgres" in routes else [])


if __name__ == "__main__":
    with orderly_end():
        sys.exit(main(Path("docs/chaos.json"), Path("docs/guarantees.md")))
