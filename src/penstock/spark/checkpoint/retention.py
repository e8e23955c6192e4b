"""A view that starts over reads its streams from their beginning, which may not be there any more.

What its last generation read and a broker has deleted since would be missing from then on, and nobody would know. So where that generation began is
compared with what the topics hold now, and only the user's word lets the view begin with less.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from penstock.errors import GapError
from penstock.share.jobs import Job
from penstock.source.kafka.source import first_offsets
from penstock.source.kafka.topic import Admin
from penstock.source.options import option_value
from penstock.spark.checkpoint.missing import Gap, gaps, known_topic
from penstock.spark.compile.frames import AppContext
from penstock.store.protocol import Store


def lost(app: AppContext, streams: Iterable[str], former: Path, store: Store) -> list[Gap]:
    """What the generation with the checkpoint `former` had read of these streams and a new one cannot read."""
    first_read, found = _first_read(former), []
    for name in dict.fromkeys(streams):
        spec = app.spec(app.declared.streams[name])
        # A view that begins with the latest record asks for nothing that was before.
        if (
            spec.options.get("connector") != "kafka"
            or spec.options["topic"] not in first_read
            or option_value(spec.options, "kafka", "start") == "latest"
        ):
            continue
        topic = Admin(spec).topic()
        recreated = store.noted(known_topic(former.name, name)) not in (None, topic.made)
        missing = gaps(name, topic, first_read[topic.name], recreated=recreated)
        found += [gap for gap in missing if gap.recreated or gap.end > gap.start]
    return found


def _first_read(checkpoint: Path) -> dict[str, dict[str, int]]:
    """Where a generation began, by topic and partition."""
    found: dict[str, dict[str, int]] = {}
    for source in checkpoint.glob("sources/*"):
        for topic, offsets in (first_offsets(source) or {}).items():
            before = found.setdefault(topic, offsets)
            found[topic] = {number: min(at, before.get(number, at)) for number, at in (before | offsets).items()}
    return found


def refused(found: Sequence[Gap], job: Job) -> GapError:
    """What to raise when the user has not allowed the view to start with less."""
    first = found[0]
    what = f"topic `{first.topic}` was recreated" if first.recreated else f"records of topic `{first.topic}` that it had read were deleted"
    count = sum(gap.end - gap.start for gap in found if not gap.recreated)
    gap_list = ", ".join(map(str, found)) + (f": {count:,} records" if count else "")
    return GapError(
        f"stream `{first.stream}`: view `{job.name}` has changed and starts over, but {what}: {gap_list}",
        hint=f"`penstock run APP --accept-gap {job.name}` begins with what is left and notes it; undo the change to go on as before",
    )
