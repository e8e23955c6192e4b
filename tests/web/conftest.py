"""One real server for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from penstock.testing.server import Server

APP = """
CREATE STREAM orders (id BIGINT, country STRING, amount DECIMAL(12,2), at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 10 SECONDS)
  WITH (connector = 'http');
CREATE STREAM logged (id BIGINT, word STRING) WITH (connector = 'files', path = 'logged', format = 'json');
CREATE MATERIALIZED VIEW sales AS SELECT country, count(*) AS n, sum(amount) AS total FROM orders GROUP BY country;
CREATE MATERIALIZED VIEW big AS SELECT id, country, amount FROM orders WHERE amount >= 100;
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "logged").mkdir()
    found = Server(folder, APP, "query_timeout_s=20", "request_mb_max=1", "webhook_allow=127.0.0.1")
    try:
        yield found
    finally:
        found.kill()


@pytest.fixture
def client(server: Server) -> Iterator[httpx.Client]:
    with server.client() as found:
        yield found
