"""Delivers to a Kafka topic exactly-once, for readers that read committed records only.

One transaction per epoch holds all of its records and the sink's progress (`sink.kafka.progress`). Who opens the sink takes its
transactional id over first, which ends the last driver's open transaction and fences that driver, and only then reads how far
the sink is. After an error whose outcome is not known the producer is thrown away and the progress read again.

When a view starts over (a new generation), the first transaction also takes back every key of the last generation that it does not
put again. Rows without a key cannot be taken back from a topic: that is refused, unless `on_rebuild = 'append'`. A topic that is gone,
though this generation's rows should be in it, is not made again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from penstock.change import Epoch
from penstock.crash_points import crash_point
from penstock.errors import FencedError, RefusalError, SinkError
from penstock.sink.kafka.progress import (
    PARTITIONS,
    PROGRESS,
    TOPIC_CONFIG,
    Progress,
    bounds,
    ledger_of,
    partition_of,
    progress_key,
    read_progress,
    read_to,
    sinks_known,
)
from penstock.sink.kafka.records import Made, Records
from penstock.sink.kafka.server import BULK, PATIENCE_S, KafkaServer
from penstock.sink.spec import SinkSpec

_TRANSACTION_S = 120.0
_FENCED = {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH}
_Found = TypeVar("_Found")


class TransactionalKafkaSink:
    """One transactional producer, one transaction per epoch."""

    def __init__(self, spec: SinkSpec) -> None:
        self._spec = spec
        self._server = KafkaServer(spec)
        self._records = Records(spec)
        self._name = progress_key(spec)
        self._producer: Producer | None = None
        self._progress = Progress("", -1, 0, 0, 0)
        self._topic_partitions = 0
        self._partitions = self._server.make_topic(PROGRESS, PARTITIONS, TOPIC_CONFIG)
        self.ledger = ledger_of(spec, self._partitions)

    def position(self, generation: str) -> int | None:
        self.close()
        self._producer = Producer(
            {
                **self._server.login,
                **BULK,
                "transactional.id": self._name,
                "transaction.timeout.ms": round(_TRANSACTION_S * 1000),
                "message.timeout.ms": round(_TRANSACTION_S * 1000),
            }
        )
        with _Reported(self):
            _patiently(self._producer.init_transactions)
            found = self._read()
            self._progress = replace(found or Progress(generation, -1, 0, 0, 0), fence=(found.fence if found else 0) + 1)
            self._check_topic(generation, self._ever_written() if self._progress.total else 0)
            self._topic_partitions = self._server.make_topic(self._server.topic)
            self._producer.begin_transaction()
            self._mark(self._producer, self._progress)
            _patiently(self._producer.commit_transaction)
        return self._progress.epoch if self._progress.generation == generation else -1

    def deliver(self, epoch: Epoch) -> None:
        self._write(epoch, self._records.of(epoch.changes))

    def deliver_complete(self, epoch: Epoch, rows: Sequence[str]) -> None:
        self._write(epoch, self._records.of_complete(epoch, rows))

    def close(self) -> None:
        if self._producer is not None:
            self._producer.purge()
            self._producer = None

    def _write(self, epoch: Epoch, records: Made) -> None:
        if self._producer is None:
            self.position(epoch.generation)
        before = self._progress
        fresh = before.generation != epoch.generation
        if not fresh and epoch.epoch <= before.epoch:
            return
        with _Reported(self):
            if fresh and before.total and self._records.tombstones:
                records = [*self._left_behind(records), *records]
            after = Progress(epoch.generation, epoch.epoch, len(records), len(records) + (0 if fresh else before.total), before.fence)
            self._transact(after, records)
            self._progress = after

    def _transact(self, after: Progress, records: Made) -> None:
        assert self._producer is not None
        producer, middle = self._producer, len(records) // 2
        producer.begin_transaction()
        self._produce(producer, after.epoch, records[:middle])
        crash_point("sink.mid-rows")
        self._produce(producer, after.epoch, records[middle:])
        self._mark(producer, after)
        crash_point("sink.before-commit")
        _patiently(producer.commit_transaction)

    def _produce(self, producer: Producer, epoch: int, records: Made) -> None:
        headers, topic, produce = self._records.headers(epoch, owned=True), self._server.topic, producer.produce
        deadline = time.monotonic() + _TRANSACTION_S
        for op, key, value in records:
            while True:
                try:
                    produce(topic, value=value, key=key, headers=headers[op])
                    break
                except BufferError:
                    producer.poll(0.1)
                    if time.monotonic() > deadline:
                        raise KafkaException(KafkaError(KafkaError._TIMED_OUT)) from None

    def _mark(self, producer: Producer, progress: Progress) -> None:
        producer.produce(PROGRESS, value=progress.as_json(), key=self._name, partition=partition_of(self._name, self._partitions))

    def _left_behind(self, records: Made) -> Made:
        """Tombstones for the keys that this sink put into the topic in its last generation and does not put now."""
        known = sinks_known(self._server.login, self._partitions, _TRANSACTION_S + PATIENCE_S)
        same = sorted(name for name in known if name != self._name and name.endswith(f".{self._spec.name}.{self._server.topic}"))
        if same:
            raise RefusalError(
                f"sink `{self._spec.name}`: view `{self._spec.view}` starts over, but topic `{self._server.topic}` is also written by {same[0]},"
                " whose keys cannot be distinguished from its own",
                hint="give the sink another name or another topic",
            )
        alive: dict[bytes, bool] = {}

        def look(message: Message) -> None:
            key = message.key()
            if isinstance(key, bytes) and ("penstock-sink", self._spec.name.encode()) in (message.headers() or []):
                alive[key] = message.value() is not None

        spans = bounds(self._server.login, self._server.topic, list(range(self._topic_partitions)))
        read_to(self._server.login, self._server.topic, spans, look, _TRANSACTION_S + PATIENCE_S)
        put = {key for _, key, value in records if value is not None}
        return [("-", key.decode(), None) for key, living in alive.items() if living and key.decode() not in put]

    def _ever_written(self) -> int:
        """How many records the topic can have had: its ends only grow, whatever is removed from its beginning."""
        there = self._server.partitions_of(self._server.topic)
        return sum(end for _, end in bounds(self._server.login, self._server.topic, list(range(there))).values()) if there else 0

    def _check_topic(self, generation: str, written: int) -> None:
        if self._progress.generation != generation:
            self._check_may_start_over(written)
        elif written < self._progress.total:
            raise SinkError(
                f"sink `{self._spec.name}`: topic `{self._server.topic}` was deleted or emptied: it has had {written} records,"
                f" but {self._progress.total} were delivered to it ({self.ledger})",
                hint="give the sink another name or another topic: it then begins with the view as it stands;"
                " or let the view start over with an empty state folder",
            )

    def _check_may_start_over(self, written: int) -> None:
        if written and not self._records.tombstones and not self._spec.complete and self._spec.options.get("on_rebuild") != "append":
            raise RefusalError(
                f"sink `{self._spec.name}`: view `{self._spec.view}` starts over, but topic `{self._server.topic}` holds {self._progress.total}"
                " records that an earlier generation delivered, and rows without a key cannot be taken back",
                hint="name another topic, or set on_rebuild = 'append': every row of the view is then delivered once more, behind the old ones",
            )

    def _read(self) -> Progress | None:
        return read_progress(self._server.login, self._name, self._partitions, _TRANSACTION_S + PATIENCE_S)

    def failed(self, error: KafkaError) -> SinkError:
        """Throw the producer away, and say what happened: a fence, or something after which the epoch comes again."""
        if self._producer is not None and error.txn_requires_abort():
            with suppress(KafkaException):  # who opens the sink next ends the transaction anyway; until then it holds up the topic's readers
                self._producer.abort_transaction(PATIENCE_S)
        self.close()
        if error.code() in _FENCED and self._taken_over():
            return FencedError(
                f"sink `{self._spec.name}`: another driver has taken over topic `{self._server.topic}`",
                hint="only one `penstock run` may deliver to it; give the other app's sink another name or another topic",
            )
        return self._server.error(error)

    def _taken_over(self) -> bool:
        """Whether another driver has taken over since; a transaction that was open for too long is ended by the broker in the same way."""
        try:
            found = read_progress(self._server.login, self._name, self._partitions, PATIENCE_S)
        except (KafkaException, TimeoutError, SinkError):
            return True
        return found is None or found.fence != self._progress.fence


class _Reported:
    """Turns the client's errors inside into the sink's own; whatever happens, the producer is not used again."""

    def __init__(self, sink: TransactionalKafkaSink) -> None:
        self._sink = sink

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, KafkaException):
            raise self._sink.failed(error.args[0]) from error
        if isinstance(error, TimeoutError):
            raise self._sink.failed(KafkaError(KafkaError._TIMED_OUT, str(error))) from error
        if error is not None:
            self._sink.close()


def _patiently(step: Callable[[float], _Found]) -> _Found:
    """A step of the transaction, again while the client says that this may help."""
    deadline = time.monotonic() + _TRANSACTION_S
    while True:
        try:
            return step(PATIENCE_S)
        except KafkaException as error:
            if not error.args[0].retriable() or time.monotonic() > deadline:
                raise
