from __future__ import annotations

import pytest

from penstock.client.wire import TRY_FOR_S, Events, ServerError


def fed(events: Events, text: str) -> list[tuple[str, object, str | None]]:
    return [(change.op, change.row, change.token) for line in text.split("\n") for change in events.line(line)]


def test_a_snapshot_is_whole_or_not_there_and_its_last_row_has_the_token() -> None:
    events = Events(None)
    half = 'event: snapshot\ndata: {"epoch": 3, "rows": [{"a": 1}], "more": true, "reason": "start"}\n\n'
    assert fed(events, half) == []
    assert events.wait_s("here", ConnectionError()) > 0
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


def test_a_snapshot_without_rows_says_that_what_was_there_is_gone() -> None:
    empty = 'event: snapshot\nid: t{0}\ndata: {{"epoch": 3, "rows": [], "more": false, "reason": "{0}"}}\n\n'
    events = Events(None)
    assert fed(events, empty.format("start")) == []
    for reason in ("replaced", "expired"):
        assert fed(events, empty.format(reason)) == [("-", {}, f"t{reason}")]
    assert (events.token, events.is_replaced) == ("texpired", True)


def test_a_view_that_was_quiet_for_long_is_tried_again_as_long_as_any(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("penstock.client.wire.time.monotonic", lambda: now[0])
    events = Events(None)
    for quiet_s in (10 * TRY_FOR_S, 10 * TRY_FOR_S):
        assert fed(events, ": nothing new\n\n") == []
        now[0] += quiet_s
        waits = [events.wait_s("here", ConnectionError()) for _ in range(7)]
        assert waits == sorted(waits)
        assert waits[0] < 1 < waits[-1]
    now[0] += TRY_FOR_S + 1
    with pytest.raises(ServerError, match="here"):
        events.wait_s("here", ConnectionError())
    with pytest.raises(ServerError, match="no view"):
        Events(None).wait_s("here", ServerError("no view", status=404))
