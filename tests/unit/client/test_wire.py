from __future__ import annotations

from penstock.client.wire import Events


def fed(events: Events, text: str) -> list[tuple[str, object, str | None]]:
    return [(change.op, change.row, change.token) for line in text.split("\n") for change in events.line(line)]


def test_a_snapshot_is_whole_or_not_there_and_its_last_row_has_the_token() -> None:
    events = Events(None)
    half = 'event: snapshot\ndata: {"epoch": 3, "rows": [{"a": 1}], "more": true, "reason": "start"}\n\n'
    assert fed(events, half) == []
    events.restart()
    assert fed(events, half + 'event: snapshot\nid: t1\ndata: {"epoch": 3, "rows": [{"a": 2}], "more": false, "reason": "start"}\n\n') == [
        ("+", {"a": 1}, None),
        ("+", {"a": 2}, "t1"),
    ]
    change = 'event: change\nid: t2\ndata: {"op": "-", "key": null, "row": {"a": 1}, "epoch": 4}\n\n'
    assert fed(events, ": nothing new\n\n" + change) == [("-", {"a": 1}, "t2")]
    assert events.token == "t2"
    assert not events.is_over
    assert fed(events, 'event: dropped\ndata: {"view": "v"}\n\n') == []
    assert events.is_over
