"""Dead letters as the store keeps them: one record at a position counts once, however often it comes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from penstock.store.layout import Session


def add_dead(session: Session, stream: str, rows: Iterable[tuple[str, str, bytes, str]]) -> int:
    """Keep position, reason, bytes and time of each; how many were new."""
    session.run("DELETE FROM penstock_dead_batch")
    columns = ("n", "position", "reason", "raw", "seen_at")
    session.load("penstock_dead_batch", columns, ((n, where, _printable(why), raw, at) for n, (where, why, raw, at) in enumerate(rows)))
    _distinguish(session, stream)
    session.run(  # a declaration that was corrected in part has another reason
        "UPDATE penstock_dead SET reason = b.reason FROM penstock_dead_batch b"
        " WHERE penstock_dead.stream = ? AND penstock_dead.position = b.position AND penstock_dead.reason <> b.reason",
        stream,
    )
    return session.run(
        "INSERT INTO penstock_dead (stream, position, reason, raw, seen_at)"
        " SELECT ?, position, reason, raw, seen_at FROM penstock_dead_batch WHERE true ORDER BY n ON CONFLICT DO NOTHING",
        stream,
    )


def _distinguish(session: Session, stream: str) -> None:
    """Another record than the one kept of its position is no repetition: the topic or file was recreated. Its position says what it holds."""
    found = session.fetch(
        "SELECT b.n, b.position, b.raw FROM penstock_dead_batch b JOIN penstock_dead d ON d.stream = ? AND d.position = b.position"
        " WHERE d.raw <> b.raw",
        stream,
    )
    for n, position, raw in found:
        place = {**json.loads(position), "record": hashlib.sha256(raw).hexdigest()[:12]}
        session.run("UPDATE penstock_dead_batch SET position = ? WHERE n = ?", json.dumps(place, ensure_ascii=False), n)


def _printable(text: str) -> str:
    """Postgres cannot keep the character NUL in a text."""
    return text.replace("\0", "")
