"""A driver that is frozen in the middle of a transaction does not keep its successor from taking over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from penstock.errors import SinkError
from penstock.store import postgres_store
from penstock.store.postgres_server import PostgresServer
from penstock.store.postgres_store import PostgresStore
from penstock.testing.postgres import TemporaryPostgres


@pytest.fixture
def server(postgres_server: TemporaryPostgres, database: str) -> PostgresServer:
    given = postgres_server.parameters(database)
    return PostgresServer.from_options({name: str(value) for name, value in given.items()})


def test_the_successor_ends_the_frozen_transaction_and_nothing_of_it_is_kept(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_store, "_LOCK_PATIENCE", "200ms")
    frozen, successor = PostgresStore(server), PostgresStore(server)
    place = frozen.take_over("job", "generation")
    open_epoch = ExitStack()
    writer = open_epoch.enter_context(frozen.open_epoch("job", "generation", place.fence, 0))
    writer.append("v", ['{"id": 1}'])
    taken = successor.take_over("job", "generation")
    with pytest.raises(SinkError):
        open_epoch.close()
    assert (taken.fence, taken.epoch) == (place.fence + 1, -1)
    with successor.open_epoch("job", "generation", taken.fence, 0) as writer:
        writer.append("v", ['{"id": 3}'])
    assert list(successor.rows("v")) == ['{"id": 3}']
    frozen.close()
    successor.close()


def test_the_transactions_of_other_jobs_are_left_alone(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_store, "_LOCK_PATIENCE", "200ms")
    store = PostgresStore(server)
    one, other = store.take_over("one", "generation"), store.take_over("other", "generation")
    with store.open_epoch("one", "generation", one.fence, 0) as writer:
        writer.append("v", ['{"id": 1}'])
        assert store.take_over("other", "generation").fence == other.fence + 1
    assert list(store.rows("v")) == ['{"id": 1}']
    store.close()


@contextmanager
def frozen_after(server: PostgresServer, statement: str, *values: object) -> Iterator[None]:
    """Beside a driver that is frozen in its transaction after a statement; at the end of the block the transaction has been ended."""
    frozen = PostgresStore(server)
    stuck = frozen._database.writing()
    stuck.__enter__().run(statement, *values)
    yield
    with pytest.raises(SinkError):
        stuck.__exit__(None, None, None)
    frozen.close()


def test_a_store_opens_beside_a_frozen_writer_and_ends_one_that_is_in_the_way(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_store, "_LOCK_PATIENCE", "200ms")
    with frozen_after(server, "INSERT INTO penstock_notes (name, value) VALUES ('who', 'frozen')"):
        successor = PostgresStore(server)
        with pytest.raises(SinkError, match="lock timeout"):
            successor.note("who", "successor")
        successor.note("who", "successor")
        assert successor.noted("who") == "successor"
    successor.close()


def test_a_store_opens_though_a_frozen_driver_was_making_its_tables(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_store, "_LOCK_PATIENCE", "200ms")
    with frozen_after(server, "SELECT pg_advisory_xact_lock(?)", postgres_store._ONE_AT_A_TIME):
        successor = PostgresStore(server)
        successor.note("who", "successor")
    successor.close()
