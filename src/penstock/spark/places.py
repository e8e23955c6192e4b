"""Which epoch took a record, told from its position: Spark SQL over `__position`, made from the offset log.

An epoch's place in the log counts from 0; what was taken by epochs that the log no longer tells has the place of the first it tells.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from math import isqrt

from penstock.source.filelog import entry_of, logged_files
from penstock.source.files import urlparse_path
from penstock.spark.checkpoint import LoggedEpoch
from penstock.testing.verify.consumed import Life

_FILES_SEARCHED_MAX = 500  # Spark searches a map from its beginning, for every row


def place_of(connector: str, life: Life, stream: str, logged: Sequence[LoggedEpoch]) -> str | None:
    """An expression for the place of the record's epoch; None for a source whose positions do not tell it, or tell it only by a long search."""
    if connector == "kafka":
        return _kafka_place(_ends(life, stream, logged))
    if connector == "files":
        places = file_places(life, stream, logged)
        found = f"element_at({_constant(places, 'map<string, int>')}, get_json_object(__position, '$.file'))"
        return found if len(places) <= _FILES_SEARCHED_MAX else None
    return None


def file_places(life: Life, stream: str, logged: Sequence[LoggedEpoch]) -> dict[str, int]:
    """By the file, as a position names it: the place of the first epoch whose end reaches the entry of the source's log that took it."""
    reached = [-1 if (entry := entry_of(end)) is None else entry for end in _ends(life, stream, logged)]
    source = life.source(stream, len(logged[0].ends))
    placed = ((file.path, bisect_left(reached, file.entry)) for file in logged_files(life.checkpoint / "sources" / str(source)))
    return {"/" + urlparse_path(path).lstrip("/"): place for path, place in placed if place < len(reached)}


def _ends(life: Life, stream: str, logged: Sequence[LoggedEpoch]) -> list[str | None]:
    source = life.source(stream, len(logged[0].ends))
    return [epoch.ends[source] for epoch in logged]


def of_each(values: Sequence[int], place: str) -> str:
    """The value of the epoch in that place."""
    return f"element_at({_constant(list(values), 'array<bigint>')}, CAST(1 + {place} AS INT))"


def _kafka_place(ends: Sequence[str | None]) -> str:
    """How many of the logged ends of its partition a record has behind it: whole blocks first, for there may be very many."""
    bounds: dict[str, list[int]] = {}
    for number, end in enumerate(ends):
        taken: dict[str, int] = {} if end is None else next(iter(json.loads(end).values()), {})
        for partition in {*bounds, *taken}:
            before = bounds.setdefault(partition, [0] * number)
            before.append(int(taken.get(partition, before[-1] if before else 0)))
    block = max(1, isqrt(len(ends)))
    partition, offset = "get_json_object(__position, '$.partition')", "CAST(get_json_object(__position, '$.offset') AS BIGINT)"
    ends_of = f"element_at({_constant(bounds, 'map<string, array<bigint>>')}, {partition})"
    last_of = {name: found[block - 1 :: block] for name, found in bounds.items()}
    blocks = _behind(f"element_at({_constant(last_of, 'map<string, array<bigint>>')}, {partition})", offset)
    rest = _behind(f"slice({ends_of}, 1 + {block} * {blocks}, {block})", offset)
    return f"least({block} * {blocks} + {rest}, {len(ends) - 1})"


def _behind(ends: str, offset: str) -> str:
    return f"size(filter({ends}, __e -> __e <= {offset}))"


def _constant(value: object, kind: str) -> str:
    """A constant that Spark reads once, however large it is."""
    text = json.dumps(value, ensure_ascii=False).replace("\\", "\\\\").replace("'", "\\'")
    return f"from_json('{text}', '{kind}')"
