"""Rows for which a Python function of the app raised, on their way from the executors to the dead letters."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from pyspark import Accumulator
from pyspark.accumulators import AccumulatorParam
from pyspark.sql import SparkSession

Failures: TypeAlias = list[dict[str, Any]]


class _Gathered(AccumulatorParam[Failures]):
    def zero(self, value: Failures) -> Failures:
        return []

    def addInPlace(self, value1: Failures, value2: Failures) -> Failures:
        return value1 + value2


@dataclass(frozen=True)
class FailedRow:
    """One row that was set aside: by which function, why, at which line, and the row as JSON. `copy` tells equal rows apart."""

    target: str
    reason: str
    file: str
    line: int
    row: str
    copy: int

    @property
    def digest(self) -> str:
        return sha256(self.row.encode()).hexdigest()[:12]


class FailedRows:
    """What the plans of each session set aside since it was last asked for."""

    def __init__(self) -> None:
        self._by_session: WeakKeyDictionary[SparkSession, Accumulator[Failures]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def accumulator(self, session: SparkSession) -> Accumulator[Failures]:
        with self._lock:
            found = self._by_session.get(session)
            if found is None:
                found = self._by_session[session] = session.sparkContext.accumulator([], _Gathered())
            return found

    def take(self, session: SparkSession) -> list[FailedRow]:
        """Each row once, though Spark may run a task twice; none is given a second time."""
        with self._lock:
            found = self._by_session.get(session)
            if found is None or not found.value:
                return []
            failures, found.value = found.value, []
        once = {(each["place"], each["partition"], each["number"], each["row"]): each for each in failures}
        copies: Counter[tuple[str, str]] = Counter()
        rows: list[FailedRow] = []
        for each in once.values():
            copies[each["target"], each["row"]] += 1
            rows.append(FailedRow(each["target"], each["reason"], each["file"], each["line"], each["row"], copies[each["target"], each["row"]]))
        return rows


class LateRows:
    """How many rows came to a keyed operator after the watermark had passed them, by session, since it was last asked."""

    def __init__(self) -> None:
        self._by_session: WeakKeyDictionary[SparkSession, Accumulator[int]] = WeakKeyDictionary()

    def accumulator(self, session: SparkSession) -> Accumulator[int]:
        found = self._by_session.get(session)
        if found is None:
            found = self._by_session[session] = session.sparkContext.accumulator(0)
        return found

    def take(self, session: SparkSession) -> int:
        found = self._by_session.get(session)
        if found is None:
            return 0
        count, found.value = found.value, 0
        return count
