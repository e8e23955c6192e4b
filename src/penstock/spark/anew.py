"""A view that begins anew reads its streams from their beginning, which may not be there any more.

What its last life read and a broker has deleted since would be missing from then on, and nobody would know. So where that life began is
compared with what the topics hold now, and only the user's word lets the view begin with less.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from penstock.errors import GapError
from penstock.share.jobs import Job
from penstock.sink.store import Store
from penstock.source.kafka import first_offsets
from penstock.source.kafka_topic import Admin
from penstock.source.options import option_value
from penstock.spark.frames import App
from penstock.spark.missing import Gap, gaps, known_topic


def lost(app: App, streams: Iterable[str], former: Path, store: Store) -> list[Gap]:
    """What the life with the checkpoint `former` had read of these streams and a new one cannot read."""
    begun, found = _begun(former), []
    for name in dict.fromkeys(streams):
        spec = app.spec(app.declared.streams[name])
        # A view that begins with the latest record asks for nothing that was before.
        if spec.options.get("connector") != "kafka" or spec.options["topic"] not in begun or option_value(spec.options, "kafka", "start") == "latest":
            continue
        topic = Admin(spec).topic()
        made_anew = store.noted(known_topic(former.name, name)) not in (None, topic.made)
        missing = gaps(name, topic, begun[topic.name], anew=made_anew)
        found += [gap for gap in missing if gap.anew or gap.end > gap.start]
    return found


def _begun(checkpoint: Path) -> dict[str, dict[str, int]]:
    """Where a life began, by topic and partition."""
    found: dict[str, dict[str, int]] = {}
    for source in checkpoint.glob("sources/*"):
        for topic, offsets in (first_offsets(source) or {}).items():
            before = found.setdefault(topic, offsets)
            found[topic] = {number: min(at, before.get(number, at)) for number, at in (before | offsets).items()}
    return found


def refused(found: Sequence[Gap], job: Job) -> GapError:
    """What to raise when the user has not said that the view may begin with less."""
    first = found[0]
    what = f"topic `{first.topic}` was made anew" if first.anew else f"records of topic `{first.topic}` that it had read were deleted"
    count = sum(gap.end - gap.start for gap in found if not gap.anew)
    told = ", ".join(map(str, found)) + (f": {count:,} records" if count else "")
    return GapError(
        f"stream `{first.stream}`: view `{job.name}` has changed and begins anew, but {what}: {told}",
        hint=f"`penstock run APP --accept-gap {job.name}` begins with what is left and notes it; undo the change to go on as before",
    )
