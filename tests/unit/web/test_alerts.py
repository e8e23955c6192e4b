"""An alert is new until it is acknowledged, also over restarts, and new again when its row comes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from penstock.store.sqlite import SqliteStore
from penstock.web.alerts import Alerts

VIEW = "loud"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "results.db")
    yield store
    store.close()


class Writer:
    """A job that writes one view, epoch by epoch."""

    def __init__(self, store: SqliteStore, generation: str = "g1") -> None:
        self.store, self.generation, self.epoch = store, generation, -1
        self.fence = store.take_over("job", generation).fence
        store.put_schema(VIEW, "k STRING, n BIGINT", ("k",))

    def put(self, rows: dict[str, int], gone: Sequence[str] = ()) -> None:
        self.epoch += 1
        with self.store.open_epoch("job", self.generation, self.fence, self.epoch) as writer:
            if self.epoch == 0:
                writer.reset(VIEW)
            writer.upsert(VIEW, [(f'{{"k":"{key}"}}', f'{{"k":"{key}","n":{n}}}') for key, n in rows.items()], [f'{{"k":"{key}"}}' for key in gone])


def watched(store: SqliteStore) -> Alerts:
    found = Alerts(store, lambda: {VIEW})
    found.look()
    return found


def state(alerts: Alerts) -> dict[str, tuple[int, bool]]:
    alerts.look()
    rows = [(alert.as_json["row"], alert.acknowledged is not None) for alert in alerts.listed()]
    return {row["k"]: (row["n"], taken) for row, taken in rows if isinstance(row, dict)}


def test_every_row_is_an_alert_that_is_new_until_it_is_acknowledged(store: SqliteStore) -> None:
    writer, alerts = Writer(store), watched(store)
    writer.put({"a": 1, "b": 2})
    assert state(alerts) == {"a": (1, False), "b": (2, False)}
    assert alerts.acknowledge(VIEW, ['{"k":"a"}', "unknown"]) == 1
    assert (state(alerts), alerts.new) == ({"b": (2, False), "a": (1, True)}, 1)
    writer.put({"a": 5})
    assert state(alerts)["a"] == (5, True)  # the same alert with other figures


def test_a_row_that_went_and_came_back_is_new_also_when_nobody_looked_meanwhile(store: SqliteStore) -> None:
    writer, alerts = Writer(store), watched(store)
    writer.put({"a": 1, "b": 2})
    state(alerts)
    alerts.acknowledge(VIEW, ['{"k":"a"}', '{"k":"b"}'])
    writer.put({}, gone=["a"])
    writer.put({"a": 1})
    assert state(watched(store)) == {"a": (1, False), "b": (2, True)}


def test_a_view_that_is_built_again_keeps_what_was_acknowledged(store: SqliteStore) -> None:
    writer, alerts = Writer(store), watched(store)
    writer.put({"a": 1, "b": 2})
    state(alerts)
    alerts.acknowledge(VIEW, ['{"k":"a"}'])
    Writer(store, "g2").put({"a": 3, "c": 4})
    assert state(alerts) == {"c": (4, False), "a": (3, True)}


def test_a_dropped_view_leaves_no_alerts_and_no_note(store: SqliteStore) -> None:
    Writer(store).put({"a": 1})
    views = {VIEW}
    alerts = Alerts(store, lambda: views)
    alerts.look()
    assert (alerts.new, len(store.notes())) == (1, 1)
    views.clear()
    alerts.look()
    assert (alerts.listed(), store.notes(), alerts.acknowledge(VIEW, ["x"])) == ([], {}, 0)
