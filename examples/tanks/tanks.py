"""What is done with the readings of one tank, in the order of their times."""

from collections.abc import Iterator
from datetime import timedelta
from statistics import median
from typing import Any

import penstock as ps

FULL = 95.0
SILENT = timedelta(minutes=5)


def denoise(row: dict[str, Any], state: dict[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The median of the last five readings: one wild reading changes nothing."""
    last = [*(state["last"] if state else []), row["level"]][-5:]
    return {"tank": row["tank"], "at": row["at"], "level": median(last)}, {"last": last}


class Watch(ps.ProcessFunction):
    """An alarm when a tank overflows, leaks, or has a sensor that is stuck or silent; once, until it is over."""

    def process(self, row: dict[str, Any], ctx: Any) -> Iterator[dict[str, Any]]:
        readings = ctx.list("readings")
        kept = [*readings.get(), (row["level"], row["valve"])][-15:]
        readings.clear()
        readings.add(*kept)
        levels = [level for level, _ in kept]
        level = median(levels[-5:])
        closed = len(kept) == 15 and all(valve == "closed" for _, valve in kept)
        stuck = len(kept) >= 10 and len(set(levels[-10:])) == 1
        found = {
            "overflow": level >= FULL,
            "leak": closed and not stuck and median(levels[:5]) - level >= 2.0,
            "stuck sensor": stuck,
            "silent sensor": False,
        }
        raised = ctx.map("raised")
        for alarm, holds in found.items():
            if holds and alarm not in raised:
                raised.put(alarm, ctx.time)
                yield {"tank": row["tank"], "at": ctx.time, "alarm": alarm, "level": level}
            elif not holds:
                raised.remove(alarm)
        deadline = ctx.value("deadline")
        if deadline.get() is not None:
            ctx.delete_timer(deadline.get())
        deadline.set(ctx.time + SILENT)
        ctx.timer(deadline.get())

    def on_timer(self, ctx: Any) -> dict[str, Any]:
        ctx.map("raised").put("silent sensor", ctx.time)
        return {"tank": ctx.key["tank"], "at": ctx.time, "alarm": "silent sensor", "level": None}
