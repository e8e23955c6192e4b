"""Random queries on trial: many views in one app, over random rows in random epochs, stopped and resumed; live, batch and DuckDB agree.

`python -m penstock.testing.random_run --count 500` goes through many apps, prints every mismatch with its seed, its SQL and its rows, and looks
for the smallest part of the query that shows it.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError
from penstock.testing.bag import bag, difference
from penstock.testing.duck import ask, load
from penstock.testing.random_query import STREAMS, TABLE, Query, query
from penstock.testing.trial import Trial

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {"master": "local[2]", "driver_memory": "2g", "shuffle_partitions": "2", "batch_files_max": "1"}
_STREAM = """CREATE STREAM {name} (id BIGINT, k BIGINT, g STRING, v BIGINT) WITH (connector = 'files', path = '{name}', format = 'json');
"""
_TABLE = f"""CREATE TABLE {TABLE} (k BIGINT, g STRING) WITH (connector = 'files', path = '{TABLE}.csv', format = 'csv', header = 'true');
"""
DECLARATIONS = "".join(_STREAM.format(name=name) for name in STREAMS) + _TABLE


@dataclass(frozen=True)
class Mismatch:
    """What went wrong with a view: by its seed and by what it was compared with."""

    seed: int
    sql: str
    what: str

    def __str__(self) -> str:
        return f"seed {self.seed}\n{self.sql}\n{self.what}"


@dataclass(frozen=True)
class Input:
    """Rows by stream and epoch, and the epoch after which the app is stopped and resumed."""

    epochs: tuple[Mapping[str, list[dict[str, Any]]], ...]
    stop_after: int


def given(seed: int, epochs: int = 3, rows: int = 30) -> Input:
    """Rows of few keys, with nulls and exact copies, spread over the epochs; an epoch may bring nothing for a stream."""
    rng = random.Random(seed)
    found: list[dict[str, list[dict[str, Any]]]] = [{name: [] for name in STREAMS} for _ in range(epochs)]
    for name in STREAMS:
        weights = [rng.random() for _ in range(epochs)]
        for number in range(rows):
            row = {
                "id": number,
                "k": rng.choice((None, *range(8))),
                "g": rng.choice((None, "g0", "g1", "g2", "g3")),
                "v": rng.choice((None, *range(-5, 20))),
            }
            copies = 2 if rng.random() < 0.1 else 1
            for epoch in rng.choices(range(epochs), weights, k=copies):
                found[epoch][name].append(row)
    return Input(tuple(found), rng.randrange(1, epochs))


def run(views: Mapping[str, Query], rows: Input, folder: Path, session: SparkSession) -> dict[str, str]:
    """All the views in one app; what is wrong with each, empty where nothing is."""
    trial = Trial(folder, session, SETTINGS)
    (folder / f"{TABLE}.csv").write_text("k,g\n" + "".join(f"{key},g{key % 3}\n" for key in range(6)), encoding="utf-8")
    for name in STREAMS:
        (folder / name).mkdir()
    refused = _write_app(trial, views)
    running = {name: view for name, view in views.items() if name not in refused}
    for part in (rows.epochs[: rows.stop_after], rows.epochs[rows.stop_after :]):
        for epoch in part:
            for name in STREAMS:
                trial.feed(name, *epoch[name])
        trial.drain()
    files = {name: [path for path in sorted((folder / name).iterdir()) if path.stat().st_size] for name in STREAMS}
    second = load(DECLARATIONS, {**files, TABLE: [folder / f"{TABLE}.csv"]})
    found = {name: f"refused: {why}" for name, why in refused.items()}
    with trial.engine() as engine:
        for name, view in running.items():
            expected = bag(ask(second, view.sql))
            held, over = (bag(json.loads(line) for line in lines) for lines in (engine.peek(name, None).lines, engine.batch(name).lines))
            found[name] = _wrong(expected, held, over)
    return found


def _wrong(expected: Counter[str], live: Counter[str], batch: Counter[str]) -> str:
    found = [(what, difference(expected, got)) for what, got in (("live", live), ("batch", batch))]
    return "\n".join(f"{what} is not what DuckDB gives: {text}" for what, text in found if text)


def _write_app(trial: Trial, views: Mapping[str, Query]) -> dict[str, str]:
    """The app with the views that are taken; those that are refused, with the reason."""
    refused: dict[str, str] = {}
    taken = DECLARATIONS
    for name, view in views.items():
        statement = "".join(f"CREATE MATERIALIZED VIEW {each} AS {sql};\n" for each, sql in view.views(name).items())
        trial.write("app.sql", DECLARATIONS + statement)
        try:
            with trial.engine() as engine:
                engine.explain(name)
            taken += statement
        except PenstockError as error:
            refused[name] = str(error)
    trial.write("app.sql", taken)
    return refused


def mismatches(queries: Mapping[int, Query], rows: Input, session: SparkSession, *, smallest: bool = True) -> list[Mismatch]:
    """The queries, by their seeds, in one app over these rows; each mismatch by its smallest part that shows it."""
    wrong = _in_new_folder({f"q{seed}": view for seed, view in queries.items()}, rows, session)
    found: list[Mismatch] = []
    for seed, view in queries.items():
        if wrong[f"q{seed}"]:
            parts = {f"p{place}": part for place, part in enumerate(view.all_parts())} if smallest else {}
            again = _in_new_folder(parts, rows, session) if parts else {}
            whole = ";\n".join(view.views(f"q{seed}").values()), wrong[f"q{seed}"]
            shown = next(((parts[name].sql, what) for name, what in again.items() if what), whole)
            found.append(Mismatch(seed, *shown))
    return found


def _in_new_folder(views: Mapping[str, Query], rows: Input, session: SparkSession) -> dict[str, str]:
    with tempfile.TemporaryDirectory(prefix="penstock-random-") as folder:
        try:
            return run(views, rows, Path(folder), session)
        except PenstockError as error:
            failed = str(error)
    if len(views) == 1:
        return dict.fromkeys(views, f"the run failed: {failed}")
    names = list(views)
    halves: Iterable[list[str]] = (names[: len(names) // 2], names[len(names) // 2 :])
    return {name: what for half in halves for name, what in _in_new_folder({name: views[name] for name in half}, rows, session).items()}


def main(arguments: Sequence[str]) -> int:
    from penstock.settings import load as load_settings
    from penstock.spark.session.session import open_session, stop_session

    parser = argparse.ArgumentParser(prog="python -m penstock.testing.random_run", description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="how many queries")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the first; the others follow")
    parser.add_argument("--together", type=int, default=30, help="views in one app")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="penstock-random-") as folder:
        session = open_session(load_settings(overrides=SETTINGS), Path(folder), app_name="random")
        wrong = 0
        for first in range(options.seed, options.seed + options.count, options.together):
            seeds = range(first, min(first + options.together, options.seed + options.count))
            for mismatch in mismatches({seed: query(seed) for seed in seeds}, given(first), session):
                wrong += 1
                sys.stdout.write(f"{mismatch}\n\n")
            sys.stderr.write(f"{seeds.stop - options.seed} of {options.count} queries, {wrong} wrong\n")
            sys.stdout.flush()
        stop_session()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
