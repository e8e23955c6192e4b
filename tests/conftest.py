"""Real parts for the tests, each started once per process, on demand, and gone at its end."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.testing.cluster import StandaloneCluster
    from penstock.testing.postgres import TemporaryPostgres

# A test says by its fixtures which parts it needs; the markers follow, so `-m "not kafka"` is always true.
FIXTURE_MARKERS = {
    "spark": "spark",
    "kafka": "kafka",
    "postgres": "postgres",
    "postgres_server": "postgres",
    "database": "postgres",
    "cluster": "cluster",
    "browser": "browser",
}


# The files that take longest go first, so that no process is left with one of them at the end.
_LONGEST = (
    "golden chaos_short verify cli come_and_go dead_letters outages cluster docs random_queries everyday examples guarantees exactly_once server"
    " console sources outputs"
)
LONGEST = tuple(f"test_{name}.py" for name in _LONGEST.split())


def pytest_configure(config: pytest.Config) -> None:
    for marker in sorted(set(FIXTURE_MARKERS.values())):
        config.addinivalue_line("markers", f"{marker}: needs a real {marker}; set from the fixtures a test uses")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for fixture in getattr(item, "fixturenames", ()):
            if fixture in FIXTURE_MARKERS:
                item.add_marker(FIXTURE_MARKERS[fixture])
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


@pytest.fixture(scope="session")
def session_folder() -> Iterator[Path]:
    """A folder for what outlives a single test."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-tests-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def spark(session_folder: Path) -> Iterator[SparkSession]:
    """The Spark session of this process, small and quick to start."""
    from penstock.settings import load
    from penstock.spark.session.session import open_session, stop_session

    chosen = {"master": "local[2]", "driver_memory": "2g", "shuffle_partitions": "2", "fast_start": "true"}
    yield open_session(load(overrides=chosen), session_folder / "spark", app_name="penstock-tests")
    stop_session()


@pytest.fixture(scope="session")
def kafka(session_folder: Path) -> Iterator[str]:
    """A real broker of this process; the value is its bootstrap servers."""
    from penstock.dev.broker import Broker

    broker = Broker(session_folder / "kafka")
    yield broker.start(port=0).servers
    broker.stop()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[TemporaryPostgres]:
    from penstock.testing.postgres import TemporaryPostgres

    with TemporaryPostgres() as server:
        yield server


@pytest.fixture(scope="session")
def postgres(postgres_server: TemporaryPostgres) -> dict[str, str | int]:
    """A real PostgreSQL of this process: host, port, database, user and password, by the connector's names."""
    return postgres_server.parameters()


@pytest.fixture
def database(postgres_server: TemporaryPostgres) -> str:
    """A fresh, empty database on the server of this process; the value is its name."""
    return postgres_server.new_database()


@pytest.fixture(scope="session")
def cluster() -> Iterator[StandaloneCluster]:
    """A Spark standalone cluster with two workers; `cluster.master` is its address."""
    from penstock.testing.cluster import StandaloneCluster

    with StandaloneCluster(workers=2, cores=1, memory="1g") as running:
        yield running
