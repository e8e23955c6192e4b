"""What the faults happen to: a user's app, or a built-in one with a stateless, a windowed, a joined and a cut view, whose results are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from penstock.chaos.feeder import Fed, Row, moment

ROUTES: Mapping[str, str] = {
    "kafka-kafka": "four views from topics to topics",
    "kafka-postgres": "four views from topics to Postgres, which also keeps the results",
    "files-sqlite": "four views from files, one of them a log that grows, to files; SQLite keeps the results",
    "kafka-postgres-on-cluster": "the same from topics to Postgres, on a cluster of two workers",
}
LATENESS = "10 MINUTES"
_STREAMS = """
CREATE STREAM orders (id BIGINT, k STRING, v INT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL {late}) WITH ({orders});
CREATE STREAM payments (id BIGINT, paid INT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL {late}) WITH ({payments});
"""
_VIEWS: Mapping[str, str] = {
    "plain": "SELECT id, k, v FROM orders WHERE v <> 3",
    "windowed": "SELECT window.start AS since, k, count(*) AS n, sum(v) AS total FROM orders GROUP BY window(at, '10 seconds'), k",
    "joined": "SELECT o.id, o.v, p.paid FROM orders o JOIN payments p ON o.id = p.id AND p.at BETWEEN o.at AND o.at + INTERVAL 1 MINUTE",
    "best": "SELECT k, sum(v) AS total FROM orders GROUP BY k ORDER BY total DESC, k LIMIT 3",
}
VIEWS = tuple(_VIEWS)
Key = tuple[object, ...]


@dataclass(frozen=True)
class Subject:
    """An app as chaos runs it. `wanted` gives its views' results for what was fed; None where only `verify` can know."""

    name: str
    app: Path
    state: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    offered: frozenset[str] = frozenset()
    wanted: Callable[[Fed], Mapping[str, Counter[Key]]] | None = None

    def command(self, verb: str, *more: str) -> list[str]:
        pairs = [word for name, value in self.settings.items() for word in ("--set", f"{name}={value}")]
        return [verb, str(self.app), "--state", str(self.state), *pairs, *more]


def text(streams: Mapping[str, str], sinks: Mapping[str, str]) -> str:
    """The SQL of a built-in app: a sink for each of its views."""
    views = [f"CREATE MATERIALIZED VIEW {view} AS {_VIEWS[view]};\n{sink}\n" for view, sink in sinks.items()]
    return _STREAMS.format(late=LATENESS, **streams) + "\n" + "\n".join(views)


def wanted(fed: Fed, views: Sequence[str] = VIEWS) -> dict[str, Counter[Key]]:
    """What the views must hold: worked out in plain Python, so that Spark is not only compared with itself."""
    found = {"plain": _plain(fed.orders), "windowed": _windowed(fed.orders), "joined": _joined(fed), "best": _best(fed.orders)}
    return {view: found[view] for view in views}


def _plain(orders: Sequence[Row]) -> Counter[Key]:
    return Counter((row["id"], row["k"], row["v"]) for row in orders if row["v"] != 3)


def _windowed(orders: Sequence[Row]) -> Counter[Key]:
    found: dict[tuple[str, object], tuple[int, int]] = {}
    for row in orders:
        at = moment(row)
        since = at.replace(second=at.second - at.second % 10, microsecond=0).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        n, total = found.get((since, row["k"]), (0, 0))
        found[since, row["k"]] = (n + 1, total + int(str(row["v"])))
    return Counter((since, k, n, total) for (since, k), (n, total) in found.items())


def _joined(fed: Fed) -> Counter[Key]:
    paid = {row["id"]: row["paid"] for row in fed.payments}
    return Counter((row["id"], row["v"], paid[row["id"]]) for row in fed.orders if row["id"] in paid)


def _best(orders: Sequence[Row]) -> Counter[Key]:
    total: Counter[str] = Counter()
    for row in orders:
        total[str(row["k"])] += int(str(row["v"]))
    return Counter(sorted(total.items(), key=lambda entry: (-entry[1], entry[0]))[:3])
