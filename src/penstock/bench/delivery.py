"""What a guarantee costs: one view, delivered to Kafka and to Postgres with each guarantee, beside Spark's own Kafka sink.

All read the same JSON files, one file an epoch, and write the same rows to a real broker and a real Postgres. An epoch lasts from
one entry in the checkpoint's commit log to the next, which takes in all that Spark, the results store and the sink do. Each
process first runs one small epoch per target, so that the JVM is warm. Topics are read back as committed readers do.
"""

from __future__ import annotations

import json
import sys
import time
import uuid
from itertools import pairwise
from pathlib import Path
from typing import Any

from penstock.bench.frame import Outcome, Report, alternately, answer, in_child, middle
from penstock.observe.request import RunRequest

GUARANTEES = ("exactly-once", "at-least-once", "at-most-once")
TARGETS = ("kafka", "postgres")
SPARK = "spark kafka"
ROWS_AN_EPOCH = 200_000
_COLUMNS = "id BIGINT, k STRING, v BIGINT, note STRING"
_APP = """
CREATE STREAM events (id BIGINT, k STRING, v BIGINT, note STRING) WITH (connector = 'files', path = '{input}', format = 'json');
CREATE MATERIALIZED VIEW doubled AS SELECT id, k, v * 2 AS v, note FROM events WHERE v >= 0;
CREATE SINK out FROM doubled WITH ({sink}, delivery = '{delivery}');
"""


def measure(folder: Path, events: int | None, rounds: int, report: Report) -> Outcome:
    """Rows a second of each system; the ratio is that of exactly-once to Kafka and Spark's own, at-least-once sink."""
    from penstock.dev.broker import Broker
    from penstock.testing.postgres import TemporaryPostgres

    epochs = max((events or 5 * ROWS_AN_EPOCH) // ROWS_AN_EPOCH, 3)
    report(f"writing {epochs} files of {ROWS_AN_EPOCH:,} rows")
    write_events(folder / "in", epochs, ROWS_AN_EPOCH)
    write_events(folder / "warm", 2, 20_000)
    broker = Broker(folder)
    try:
        with TemporaryPostgres() as server:
            parts = json.dumps({"kafka": broker.start(port=0).servers, "postgres": server.parameters(server.new_database())})
            step = lambda side: in_child("penstock.bench.delivery", side, str(folder), parts)  # noqa: E731
            found = alternately(("penstock", "spark"), rounds, step, report)
    finally:
        broker.stop()
    runs = [run for side in found.values() for run in side]
    systems = [name for side in found.values() for name in side[0]]
    rates = {name: round(ROWS_AN_EPOCH / middle(second for run in runs if name in run for second in run[name]["seconds"])) for name in systems}
    totals = {tuple(one["total"]) for run in runs for one in run.values()}
    cost = {f"{target} {one}": round(rates[f"{target} {one}"] / rates[f"{target} at-least-once"], 2) for target in TARGETS for one in GUARANTEES}
    return Outcome(
        "delivery",
        epochs * ROWS_AN_EPOCH,
        rates,
        {SPARK: round(rates["kafka exactly-once"] / rates[SPARK], 3)},
        totals == {(epochs * ROWS_AN_EPOCH, expected_sum(epochs * ROWS_AN_EPOCH))},
        {
            "rows_per_epoch": ROWS_AN_EPOCH,
            "beside_at_least_once": cost,
            "seconds": {name: [run[name]["seconds"] for run in runs if name in run] for name in systems},
        },
    )


def write_events(folder: Path, files: int, rows: int) -> None:
    folder.mkdir()
    for number in range(files):
        lines = (
            f'{{"id":{row},"k":"k{row % 1000}","v":{row % 9973},"note":"reading {row:012d}"}}\n' for row in range(number * rows, (number + 1) * rows)
        )
        (folder / f"{number:03d}.json").write_text("".join(lines), encoding="utf-8")


def expected_sum(rows: int) -> int:
    whole, rest = divmod(rows, 9973)
    return whole * 9973 * 9972 + rest * (rest - 1)


def run_penstock(folder: Path, parts: dict[str, Any]) -> dict[str, Any]:
    from penstock.settings import load
    from penstock.spark.session.session import open_session

    session = open_session(load(), folder / "session", app_name="bench")
    found: dict[str, Any] = {}
    for target in TARGETS:
        run_app(folder, parts, session, target, GUARANTEES[0], "warm")
        for guarantee in GUARANTEES:
            found[f"{target} {guarantee}"] = run_app(folder, parts, session, target, guarantee, "in")
    return found


def run_app(folder: Path, parts: dict[str, Any], session: Any, target: str, guarantee: str, given: str) -> dict[str, Any]:
    """One app to its end; the seconds of its epochs, and what the sink holds afterwards."""
    from penstock.catalog import Catalog
    from penstock.wiring import open_app

    place = f"t{uuid.uuid4().hex[:12]}"
    home = folder / place
    options = {"servers": parts["kafka"], "topic": place} if target == "kafka" else {**parts["postgres"], "table": place}
    sink = ", ".join(f"{name} = '{value}'" for name, value in {"connector": target, **options}.items())
    home.mkdir()
    (home / "app.sql").write_text(_APP.format(input=folder / given, sink=sink, delivery=guarantee), encoding="utf-8")
    engine = open_app(home / "app.sql", overrides={"batch_files_max": "1"}, session=session)
    engine.run(RunRequest(drain=True))
    engine.close()
    current = Catalog(home / ".penstock").current("doubled")
    assert current is not None
    total = topic_total(parts["kafka"], place) if target == "kafka" else table_total(parts["postgres"], place)
    return {"seconds": epoch_seconds(current[1]), "total": total}


def run_spark(folder: Path, parts: dict[str, Any]) -> dict[str, Any]:
    """The same rows by Spark's own sink."""
    from penstock.bench.ysb import plain_session
    from penstock.spark.session.jars import connector_jars

    spark = plain_session(jars=connector_jars())
    for given in ("warm", "in"):
        topic, checkpoint = f"t{uuid.uuid4().hex[:12]}", folder / f"spark{time.monotonic_ns()}"
        events = spark.readStream.schema(_COLUMNS).option("maxFilesPerTrigger", 1).json(str(folder / given))
        rows = events.where("v >= 0").selectExpr("to_json(struct(id, k, v * 2 AS v, note)) AS value")
        writer = rows.writeStream.format("kafka").option("kafka.bootstrap.servers", parts["kafka"]).option("topic", topic)
        writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start().awaitTermination()
    spark.stop()
    return {SPARK: {"seconds": epoch_seconds(checkpoint), "total": topic_total(parts["kafka"], topic)}}


def epoch_seconds(checkpoint: Path) -> list[float]:
    """From each commit to the next; the first epoch, which also opens everything, does not count."""
    commits = sorted(path.stat().st_mtime for path in (checkpoint / "commits").iterdir() if path.name.isdigit())
    return [round(later - earlier, 3) for earlier, later in pairwise(commits)]


def topic_total(servers: str, topic: str) -> tuple[int, int]:
    """How many committed records there are, and the sum of their `v`."""
    from confluent_kafka import Message

    from penstock.sink.kafka.progress import bounds, read_to

    login: dict[str, str | int | float | bool] = {"bootstrap.servers": servers}
    found = [0, 0]

    def look(message: Message) -> None:
        value = message.value()
        assert value is not None
        found[0] += 1
        found[1] += int(json.loads(value)["v"])

    read_to(login, topic, bounds(login, topic, [0, 1]), look, 300)
    return found[0], found[1]


def table_total(server: dict[str, Any], table: str) -> tuple[int, int]:
    from psycopg import sql

    from penstock.store.postgres_server import PostgresServer

    with PostgresServer.from_options({name: str(value) for name, value in server.items()}).connect() as connection:
        row = connection.execute(sql.SQL("SELECT count(*), sum(v)::bigint FROM {}").format(sql.Identifier(table))).fetchone()
        assert row is not None
        return int(row[0]), int(row[1])


if __name__ == "__main__":
    answer({"penstock": run_penstock, "spark": run_spark}[sys.argv[1]](Path(sys.argv[2]), json.loads(sys.argv[3])))
