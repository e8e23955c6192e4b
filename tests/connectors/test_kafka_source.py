"""What other people's transactions leave in a topic: only what was committed is a row, live, in batch and in what waits."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

from confluent_kafka import Producer
from pyspark.sql import SparkSession

from penstock.dev.produce import produce
from penstock.schema import Column, Schema
from penstock.source import Limits, SourceSpec, Span
from penstock.source.kafka.source import Kafka
from penstock.source.kafka.topic import Admin


def spec_of(servers: str, topic: str, folder: Path) -> SourceSpec:
    schema = Schema((Column("n", "bigint"),))
    return SourceSpec("events", {"connector": "kafka", "servers": servers, "topic": topic}, schema, folder, folder / ".penstock")


def writer(servers: str) -> Producer:
    found = Producer({"bootstrap.servers": servers, "transactional.id": f"t-{uuid.uuid4().hex}", "log_level": 0})
    found.init_transactions(20)
    found.begin_transaction()
    return found


def put(producer: Producer, topic: str, numbers: range) -> None:
    for number in numbers:
        producer.produce(topic, json.dumps({"n": number}).encode(), partition=0)
    producer.flush(20)


def drained(spark: SparkSession, source: Kafka, checkpoint: Path) -> list[int]:
    """All rows of one more run on this checkpoint, three offsets a batch, so that batches end and begin among aborted records."""
    found: list[int] = []
    query = (
        source.live(spark, Limits(rows=3, megabytes=1))
        .writeStream.foreachBatch(lambda frame, _: found.extend(json.loads(row["__value"])["n"] for row in frame.collect()))
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(120)
    return found


def numbers(spark: SparkSession, source: Kafka, span: Span) -> list[int]:
    return sorted(json.loads(row["__value"])["n"] for row in source.history(spark, span).collect())


def test_aborted_and_open_transactions_are_no_rows(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    topic = f"moves-{uuid.uuid4().hex[:8]}"
    produce([b'{"n": 0}'], kafka, topic, partitions=1)
    aborted, committed = writer(kafka), writer(kafka)
    put(aborted, topic, range(100, 110))
    aborted.abort_transaction(20)
    put(committed, topic, range(1, 6))
    committed.commit_transaction(20)
    source = Kafka(spec_of(kafka, topic, tmp_path))
    assert sorted(drained(spark, source, tmp_path / "live")) == list(range(6))
    assert numbers(spark, source, Span()) == list(range(6))

    again = writer(kafka)  # the topic now ends in aborted records
    put(again, topic, range(200, 207))
    again.abort_transaction(20)
    assert drained(spark, source, tmp_path / "live") == []
    assert numbers(spark, source, Span()) == list(range(6))

    still_open = writer(kafka)
    put(still_open, topic, range(6, 9))
    assert drained(spark, source, tmp_path / "live") == []
    assert numbers(spark, source, Span()) == list(range(6))
    last = sorted((tmp_path / "live" / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))[-1]
    end = last.read_text(encoding="utf-8").splitlines()[-1]
    read = json.loads(end)[topic]["0"]
    assert Admin(source._spec).topic().held[0] == (0, read)  # an open transaction does not wait for us, but we for it
    still_open.commit_transaction(20)
    assert sorted(drained(spark, source, tmp_path / "live")) == [6, 7, 8]
    assert numbers(spark, source, Span(end=end)) == list(range(6))
    assert numbers(spark, source, Span(start=end)) == [6, 7, 8]
