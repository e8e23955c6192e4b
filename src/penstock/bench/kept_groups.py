"""Does an epoch that touches a hundred kept groups cost what it touches, or what is kept?

Three views follow the kept totals of a stream, each in another way: by partial results, by the groups of an area, by the candidates of a top
ten. At each size all groups are made first; then epochs of a hundred rows touch a hundred of them, and the median of the last five counts.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from penstock.bench.delivery import epoch_seconds
from penstock.bench.frame import answer, middle
from penstock.observe.request import RunRequest

GROUPS = (1_000, 1_000_000)
TOUCHED = 100
_EPOCHS, _LAST = 8, 5
_AT_ONCE = 100_000
_AREA = 100
_VIEWS = {
    "total": "SELECT area % 10 AS part, sum(total) AS total, count(*) AS groups FROM ({kept}) GROUP BY area % 10",
    "rank": "SELECT k, total, rank() OVER (PARTITION BY area ORDER BY total DESC) AS place FROM ({kept})",
    "top": "SELECT k, total FROM ({kept}) ORDER BY total DESC, k LIMIT 10",
}
_KEPT = f"SELECT k, k DIV {_AREA} AS area, sum(v) AS total FROM rows GROUP BY k"
_STREAM = "CREATE STREAM rows (k BIGINT, v BIGINT) WITH (connector = 'files', path = 'rows', format = 'json');\n"


def run_sizes(folder: Path, sizes: Sequence[int]) -> dict[str, Any]:
    """The seconds of an epoch of each view at each size, and whether all views are right in the end."""
    from penstock.settings import load
    from penstock.spark.session.session import open_session

    session = open_session(load(), folder / "session", app_name="bench")
    epoch: dict[str, dict[str, float]] = {view: {} for view in _VIEWS}
    equal = True
    for groups in (min(sizes), *sizes):  # the first time the JVM warms up
        found, right = _run(folder / f"groups-{groups}-{time.monotonic_ns()}", groups, session)
        equal = equal and right
        for view, seconds in found.items():
            epoch[view][str(groups)] = seconds
    return {"epoch_s": epoch, "equal": equal}


def _run(home: Path, groups: int, session: Any) -> tuple[dict[str, float], bool]:
    from contextlib import closing

    from penstock.bench.digest import of_lines
    from penstock.catalog import Catalog
    from penstock.wiring import open_app

    (home / "rows").mkdir(parents=True)
    views = (f"CREATE MATERIALIZED VIEW {view} AS {text.format(kept=_KEPT)};\n" for view, text in _VIEWS.items())
    (home / "app.sql").write_text(_STREAM + "".join(views), encoding="utf-8")
    for number, rows in enumerate(_files(groups)):
        (home / "rows" / f"{number:05d}.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    with closing(open_app(home / "app.sql", overrides={"batch_files_max": "1"}, session=session)) as engine:
        engine.run(RunRequest(drain=True))
        right = all(of_lines(engine.peek(view, None).lines) == of_lines(engine.batch(view).lines) for view in _VIEWS)
    current = {view: Catalog(home / ".penstock").current(view) for view in _VIEWS}
    return {view: round(middle(epoch_seconds(found[1])[-_LAST:]), 3) for view, found in current.items() if found is not None}, right


def _files(groups: int) -> Iterator[list[dict[str, int]]]:
    """All groups, some at a time; then a hundred of them again and again, of one area each time."""
    for first in range(0, groups, _AT_ONCE):
        yield [{"k": key, "v": key % 1000} for key in range(first, min(groups, first + _AT_ONCE))]
    for number in range(_EPOCHS):
        first = number * _AREA % groups
        yield [{"k": first + key, "v": 7 * number + key} for key in range(TOUCHED)]


if __name__ == "__main__":
    answer(run_sizes(Path(sys.argv[1]), [int(size) for size in sys.argv[2].split(",")]))
