"""Numbered rows into a topic or a folder, all the time; it remembers what it wrote, so that anything missing is known."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_STEP = timedelta(milliseconds=100)
_TICK_S = 0.5
KEYS = 7
Row = dict[str, object]
POISON = (b"{not json", b'{"id": "seven", "k": "k0", "v": 1, "at": "2026-01-01T00:00:00Z"}', b'{"id": 1, "v": {}, "at": "never"}', b"\xff\xfe\x00")


class Target(Protocol):
    """Where rows go."""

    def put(self, batch: Mapping[str, Sequence[bytes]]) -> None:
        """Records by stream; they may arrive later, but each once and in order."""

    def close(self) -> None:
        """Returns when all has arrived."""


@dataclass
class Fed:
    """What was written so far: orders and payments as often as they were, and records that cannot decode."""

    orders: list[Row] = field(default_factory=list)
    payments: list[Row] = field(default_factory=list)
    poison: int = 0


class Feeder:
    """Orders 0, 1, 2 ... and the payment of each, at a steady rate until it is closed."""

    def __init__(self, target: Target, rows_per_s: float, seed: int) -> None:
        self.fed = Fed()
        self._target = target
        self._each = max(1, round(rows_per_s * _TICK_S))
        self._chance = random.Random(f"penstock feeder {seed}")
        self._twice = self._shuffled = self._poisoned = 0
        self._held: dict[str, list[Row]] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="feeder", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def duplicate(self, ticks: int) -> None:
        """For so many ticks every third row is written twice."""
        with self._lock:
            self._twice += ticks

    def shuffle(self, ticks: int) -> None:
        with self._lock:
            self._shuffled += ticks

    def poison(self, ticks: int) -> None:
        with self._lock:
            self._poisoned += ticks

    def close(self) -> None:
        """Stop writing; returns when everything written has arrived."""
        self._over.set()
        self._thread.join()
        self._target.close()

    def _work(self) -> None:
        number = 0
        while not self._over.wait(_TICK_S):
            with self._lock:
                self._target.put(self._batch(number))
            number += self._each

    def _batch(self, number: int) -> dict[str, list[bytes]]:
        orders = [order(n) for n in range(number, number + self._each)]
        payments = [payment(n) for n in range(number, number + self._each)]
        if self._twice:
            self._twice -= 1
            orders += orders[::3]
        if self._shuffled:
            self._shuffled -= 1
            orders, payments = self._late(orders), self._late(payments)
        else:
            orders, payments = [*self._held.pop("id k v at", []), *orders], [*self._held.pop("id paid at", []), *payments]
        self.fed.orders += orders
        self.fed.payments += payments
        lines = {"orders": [_line(row) for row in orders], "payments": [_line(row) for row in payments]}
        if self._poisoned:
            self._poisoned -= 1
            lines["orders"].insert(self._chance.randrange(len(orders) + 1), self._chance.choice(POISON))
            self.fed.poison += 1
        return lines

    def _late(self, rows: list[Row]) -> list[Row]:
        """Half of the rows, in any order; the others come after the disorder."""
        self._chance.shuffle(rows)
        kept = len(rows) // 2
        self._held.setdefault(" ".join(rows[0]), []).extend(rows[kept:])
        return rows[:kept]


def order(number: int) -> Row:
    return {"id": number, "k": f"k{number * number % KEYS}", "v": number % 10, "at": _time(number)}


def payment(number: int) -> Row:
    return {"id": number, "paid": number % 10 + 1, "at": _time(number)}


def moment(row: Row) -> datetime:
    return datetime.fromisoformat(str(row["at"]))


def _time(number: int) -> str:
    return (_BEGIN + number * _STEP).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _line(row: Row) -> bytes:
    return json.dumps(row).encode()


class Files:
    """Orders as one file for each tick, there whole or not at all; payments into a log that grows."""

    def __init__(self, orders: Path, payments: Path) -> None:
        self._orders, self._payments = orders, payments
        self._files = 0

    def put(self, batch: Mapping[str, Sequence[bytes]]) -> None:
        self._files += 1
        staged = self._orders / f".{self._files:06}.json"
        staged.write_bytes(_whole(batch["orders"]))
        staged.rename(self._orders / f"{self._files:06}.json")
        with self._payments.open("ab") as log:
            log.write(_whole(batch["payments"]))

    def close(self) -> None:
        """Nothing is on its way."""


def _whole(lines: Sequence[bytes]) -> bytes:
    return b"".join(line.replace(b"\n", b" ") + b"\n" for line in lines)


class Topics:
    """A topic for each stream; records wait here while the broker is away."""

    def __init__(self, servers: str, topics: Mapping[str, str]) -> None:
        from confluent_kafka import Producer

        self._topics = topics
        settings: dict[str, str | int | float | bool] = {
            "bootstrap.servers": servers,
            "enable.idempotence": True,
            "message.timeout.ms": 0,
            "queue.buffering.max.messages": 1_000_000,
            "linger.ms": 5,
            "log_level": 0,
        }
        self._producer = Producer(settings)

    def put(self, batch: Mapping[str, Sequence[bytes]]) -> None:
        for stream, lines in batch.items():
            for number, line in enumerate(lines):
                self._producer.produce(self._topics[stream], value=line, partition=number % 2)
        self._producer.poll(0)

    def close(self) -> None:
        deadline = time.monotonic() + 60
        while self._producer.flush(1) and time.monotonic() < deadline:
            continue
