"""What a topic lacks of what a view reads or has read, and the notes of it in the results store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from penstock.source.kafka.topic import Topic
from penstock.store.protocol import Store


@dataclass(frozen=True)
class Gap:
    """Offsets `start` up to but without `end` of one partition were not read and are gone; the job would go on at `end`.

    `recreated`: the topic was deleted and created again. An `end` before `start`: the topic has lost its newest records, which were read.
    """

    stream: str
    topic: str
    partition: int
    start: int
    end: int
    recreated: bool = False

    def __str__(self) -> str:
        if self.recreated:
            return f"partition {self.partition} was read up to {self.start} and now begins at {self.end}"
        if self.end < self.start:
            return f"partition {self.partition} was read up to {self.start} and now ends at {self.end}"
        return f"partition {self.partition} [{self.start}, {self.end})"


def gaps(stream: str, topic: Topic, begin: Mapping[str, int], *, recreated: bool) -> list[Gap]:
    """What is missing between where a job goes on, by partition, and what the topic holds."""
    found = []
    for number, at in ((int(number), at) for number, at in begin.items()):
        first, end = topic.held.get(number, (0, 0))
        if recreated or number not in topic.held:
            found.append(Gap(stream, topic.name, number, at, first, recreated=True))
        elif not first <= at <= end:
            found.append(Gap(stream, topic.name, number, at, min(max(at, first), end)))
    return found


def note(store: Store, job: str, found: Sequence[Gap]) -> None:
    """Keep for good that a job has passed these gaps; one that was found again at the next attempt is noted once."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    before = json.loads(store.noted(noted_as(job)) or "[]")
    known = [{**each, "at": at} for each in before]
    fresh = [one for gap in found if (one := {**asdict(gap), "at": at}) not in known]
    store.note(noted_as(job), json.dumps([*before, *fresh]))


def passed_gaps(store: Store, job: str) -> tuple[str, ...]:
    """The gaps that a job has passed so far, as one sentence each."""
    found = [(each.pop("at"), Gap(**each)) for each in json.loads(store.noted(noted_as(job)) or "[]")]
    return tuple(f"topic {gap.topic}: {gap}, passed {at}" for at, gap in found)


def noted_as(job: str) -> str:
    """The name of the store's note that lists the gaps that a job has passed."""
    return f"gaps:{job}"


def known_topic(generation: str, stream: str) -> str:
    """The name of the store's note that says which topic a generation of a job has read."""
    return f"topic:{generation}:{stream}"
