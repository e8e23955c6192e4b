"""Does an epoch cost what changed, or what there is? Eight queries over a history that grows, in epochs of one size.

Each shape is one app in a process of its own, which first runs some epochs with other state, so that the JVM is warm. An epoch lasts
from one entry in the checkpoint's commit log to the next; at each length of history the median of the last five counts. `ratio` is
that at the greatest length to that at the smallest: 1 means that history costs nothing. Beside it, `recompute_s` is what it takes to
evaluate the query once over the history of the two smaller lengths, which is what a recomputed view pays in every epoch. In the end
the view is compared with a batch run.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock.bench.delivery import epoch_seconds
from penstock.bench.frame import Outcome, Report, answer, in_child, middle
from penstock.bench.kept_groups import GROUPS, TOUCHED
from penstock.bench.nexmark.generate import STREAMS, Plan, write
from penstock.bench.nexmark.queries import HERE, statement
from penstock.errors import OptionFault
from penstock.observe.request import RunRequest

ROUNDS = 1
LENGTHS = (10, 40, 160)
ROWS = 10_000
LAST = 5
OUTER = "outer"
SHAPES = ("q4", "q7", "q9", "q15", "q16", "q18", "q19", OUTER)
KEPT_GROUPS = "kept_groups"
"""What is asked of groups instead of epochs: the ratio of an epoch over a million kept groups to one over a thousand."""
_OUTER = """
CREATE MATERIALIZED VIEW outer AS
SELECT a.id, a.category, b.bidder, b.price, b.dateTime FROM auction a FULL OUTER JOIN bid b ON a.id = b.auction;
"""


def measure(
    folder: Path,
    events: int | None,
    rounds: int,
    report: Report,
    *,
    epochs: Sequence[int] = LENGTHS,
    rows: int = ROWS,
    queries: Sequence[str] = (*SHAPES, KEPT_GROUPS),
) -> Outcome:
    """The time of an epoch of each shape at each length of history."""
    if events is not None:
        raise OptionFault("growth takes --epochs and --rows, not --events", hint="the events are the last of --epochs times --rows")
    lengths = sorted(epochs)
    if len(lengths) < 2 or lengths[0] <= LAST:
        raise OptionFault(f"--epochs needs two lengths or more, each above {LAST}", hint="for example --epochs 10,20,40")
    of_epochs = _of_epochs(queries)
    report(f"writing {lengths[-1]} epochs of {rows:,} rows")
    write(folder / "pool", Plan(events=rows * lengths[-1], files=lengths[-1]))
    found: dict[str, list[dict[str, Any]]] = {shape: [] for shape in of_epochs}
    for number in range(rounds):
        for shape in of_epochs:
            report(f"round {number + 1} of {rounds}: {shape}")
            found[shape].append(in_child("penstock.bench.growth", str(folder), shape, ",".join(map(str, lengths))))
    shapes = {shape: _figures(runs, lengths) for shape, runs in found.items()}
    groups = _kept_groups(folder, report) if KEPT_GROUPS in queries else None
    ratios = {shape: one["ratio"] for shape, one in shapes.items()} | ({} if groups is None else {KEPT_GROUPS: groups["ratio"]})
    return Outcome(
        "growth",
        rows * lengths[-1],
        {shape: round(rows / one["epoch_s"][str(lengths[-1])]) for shape, one in shapes.items()},
        ratios,
        all(run["equal"] for runs in found.values() for run in runs) and (groups is None or bool(groups["equal"])),
        {"rows_per_epoch": rows, "epochs": lengths, "shapes": shapes, **({} if groups is None else {KEPT_GROUPS: groups})},
        "{name}: an epoch at the end takes {ratio:g} times as long as at the beginning",
    )


def _of_epochs(queries: Sequence[str]) -> list[str]:
    known = (*SHAPES, KEPT_GROUPS)
    unknown = [name for name in queries if name not in known]
    if unknown:
        raise OptionFault(f"growth has no shape `{unknown[0]}`", hint=f"there are: {', '.join(known)}")
    return [shape for shape in queries if shape != KEPT_GROUPS]


def _kept_groups(folder: Path, report: Report) -> dict[str, Any]:
    """The views of `kept_groups`, and the greatest ratio among them."""
    report(f"{KEPT_GROUPS}: {TOUCHED} touched of {' and of '.join(f'{size:,}' for size in GROUPS)}")
    found = in_child("penstock.bench.kept_groups", str(folder), ",".join(map(str, GROUPS)))
    ratios = {view: round(seconds[str(GROUPS[-1])] / seconds[str(GROUPS[0])], 2) for view, seconds in found["epoch_s"].items()}
    return {**found, "ratios": ratios, "ratio": max(ratios.values())}


def _figures(runs: Sequence[dict[str, Any]], lengths: Sequence[int]) -> dict[str, Any]:
    """Medians over the rounds."""
    first, last = str(lengths[0]), str(lengths[-1])
    epoch = {str(length): round(middle(run["epoch_s"][str(length)] for run in runs), 3) for length in lengths}
    recompute = {length: round(middle(run["recompute_s"][length] for run in runs), 3) for length in runs[0]["recompute_s"]}
    smaller, larger = list(recompute)
    return {
        "strategy": runs[0]["strategy"],
        "epoch_s": epoch,
        "ratio": round(epoch[last] / epoch[first], 2),
        "recompute_s": recompute,
        "recompute_ratio": round(recompute[larger] / recompute[smaller], 2),
        "equal": all(run["equal"] for run in runs),
    }


def run_shape(folder: Path, shape: str, lengths: Sequence[int]) -> dict[str, Any]:
    from penstock.settings import load
    from penstock.spark.session.session import open_session

    session = open_session(load(), folder / "session", app_name="bench")
    _Growing(folder, shape, session).grow(lengths[0])
    growing = _Growing(folder, shape, session)
    epoch: dict[str, float] = {}
    recompute: dict[str, float] = {}
    for length in lengths:
        epoch[str(length)] = growing.grow(length)
        if len(recompute) < 2:
            recompute[str(length)] = growing.over_history()
    return {"strategy": growing.strategy(), "epoch_s": epoch, "recompute_s": recompute, "equal": growing.is_right()}


class _Growing:
    """One view whose history is let in file by file."""

    def __init__(self, folder: Path, shape: str, session: Any) -> None:
        self._pool = folder / "pool"
        self._home = folder / f"{shape}-{time.monotonic_ns()}"
        self._view = shape
        self._session = session
        self._length = 0
        for stream in STREAMS:
            (self._home / stream).mkdir(parents=True)
        streams = (HERE / "streams.sql").read_text(encoding="utf-8").partition("CREATE TABLE")[0].replace("{data}", str(self._home))
        (self._home / "app.sql").write_text(streams + (_OUTER if shape == OUTER else statement(shape)), encoding="utf-8")

    def grow(self, length: int) -> float:
        """Run on until the history has this many epochs; the median of the last ones, in seconds."""
        from penstock.catalog import Catalog

        for number in range(self._length, length):
            for stream in STREAMS:
                os.link(self._pool / stream / f"{number:05d}.json", self._home / stream / f"{number:05d}.json")
        self._length = length
        with _opened(self._home, self._session) as engine:
            engine.run(RunRequest(drain=True))
        current = Catalog(self._home / ".penstock").current(self._view)
        assert current is not None
        return middle(epoch_seconds(current[1])[-LAST:])

    def over_history(self) -> float:
        """Seconds of one evaluation of the whole query over all that there is."""
        with _opened(self._home, self._session) as engine:
            began = time.monotonic()
            engine.batch(self._view)
            return time.monotonic() - began

    def strategy(self) -> str:
        with _opened(self._home, self._session) as engine:
            (explained,) = engine.explain(self._view)
            return str(explained.strategy)

    def is_right(self) -> bool:
        from penstock.bench.digest import of_lines

        with _opened(self._home, self._session) as engine:
            return of_lines(engine.peek(self._view, None).lines) == of_lines(engine.batch(self._view).lines)


def _opened(home: Path, session: Any) -> Any:
    from contextlib import closing

    from penstock.wiring import open_app

    return closing(open_app(home / "app.sql", overrides={"batch_files_max": "1"}, session=session))


if __name__ == "__main__":
    answer(run_shape(Path(sys.argv[1]), sys.argv[2], [int(length) for length in sys.argv[3].split(",")]))
