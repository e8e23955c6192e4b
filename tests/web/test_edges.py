"""The server at its edges: long snapshots, tokens that are too old, hostile paths and SQL, slow senders, and every call of its OpenAPI document."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from penstock.testing.server import TOKEN, Server

ROWS = 2500
APP = """
CREATE STREAM words (id BIGINT, word STRING) WITH (connector = 'http');
CREATE MATERIALIZED VIEW every AS SELECT id, word FROM words;
CREATE MATERIALIZED VIEW loud WITH (alert = true) AS SELECT word, count(*) AS n FROM words GROUP BY word HAVING count(*) > 1000;
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    found = Server(tmp_path_factory.mktemp("edges"), APP, "changes_kept_epochs=2", "requests_per_s_max=100")
    try:
        yield found
    finally:
        found.kill()


@pytest.fixture
def client(server: Server) -> Iterator[httpx.Client]:
    with server.client() as found:
        yield found


def send(client: httpx.Client, *rows: dict[str, object]) -> None:
    assert client.post("/v1/streams/words/rows", content="".join(json.dumps(row) + "\n" for row in rows)).status_code == 200


def counted(client: httpx.Client, wanted: int) -> None:
    deadline = time.monotonic() + 120
    while client.get("/v1/views/every").json()["rows"] != wanted:
        assert time.monotonic() < deadline
        time.sleep(0.2)


def snapshot(client: httpx.Client, token: str | None = None) -> list[tuple[str | None, dict[str, Any]]]:
    """The events of a snapshot: id and data of each."""
    found: list[tuple[str | None, dict[str, Any]]] = []
    with client.stream("GET", "/v1/views/every/changes", headers={"Last-Event-ID": token} if token else {}) as response:
        place: str | None = None
        for line in response.iter_lines():
            if line.startswith("event: "):
                assert line == "event: snapshot"
                place = None
            elif line.startswith("id: "):
                place = line[4:]
            elif line.startswith("data: "):
                found.append((place, json.loads(line[6:])))
                if not found[-1][1]["more"]:
                    return found
    raise AssertionError(found)


def test_a_long_snapshot_comes_in_several_events_and_an_old_token_gets_one_that_says_so(client: httpx.Client) -> None:
    send(client, *({"id": number, "word": "a"} for number in range(ROWS)))
    counted(client, ROWS)
    first = snapshot(client)
    assert [(place is not None, data["more"], len(data["rows"])) for place, data in first] == [
        (False, True, 1000),
        (False, True, 1000),
        (True, False, 500),
    ]
    assert sorted(row["id"] for _, data in first for row in data["rows"]) == list(range(ROWS))
    for number in range(5):
        send(client, {"id": ROWS + number, "word": "b"})
        counted(client, ROWS + number + 1)
    again = snapshot(client, first[-1][0])
    assert {data["reason"] for _, data in again} == {"expired"}
    assert sum(len(data["rows"]) for _, data in again) == ROWS + 5


def test_an_alert_is_acknowledged_and_stays_so_over_a_kill(server: Server) -> None:
    def alerts(client: httpx.Client) -> list[dict[str, Any]]:
        deadline = time.monotonic() + 60
        while not (found := client.get("/v1/alerts").json()["alerts"]):
            assert time.monotonic() < deadline
            time.sleep(0.2)
        return list(found)

    with server.client() as client:
        (found,) = alerts(client)
        assert (found["row"], found["acknowledged"]) == ({"word": "a", "n": ROWS}, None)
        taken = client.post("/v1/alerts/acknowledge", json={"view": "LOUD", "ids": [found["id"]]})
        assert taken.json() == {"acknowledged": 1, "new": 0}
        assert client.post("/v1/alerts/acknowledge", json={"view": "nope", "ids": ["x"]}).status_code == 404
    server.kill()
    server.start()
    with server.client() as client:
        (again,) = alerts(client)
    assert (again["seen"], again["acknowledged"] is not None) == (found["seen"], True)


def asked_of(server: Server, request: bytes) -> bytes:
    """An answer to what no library would send."""
    with socket.create_connection((urlsplit(server.url).hostname, urlsplit(server.url).port), timeout=30) as plain:
        plain.sendall(request)
        return plain.recv(65536)


@pytest.mark.parametrize(
    "path",
    [
        "/../../../../etc/passwd", "/v1/views/..%2f..%2f..%2fetc%2fpasswd/rows", "/v1/streams/%2e%2e%2f%2e%2e%2fetc/dead",
        "/console/_nicegui/3.18.0/static/../../../../../../etc/passwd", "/console/_nicegui/..%2f..%2f..%2fetc%2fpasswd",
        "//etc/passwd", "/console/%00", "/v1/views/%00/rows",
    ],
)  # fmt: skip
def test_no_path_leads_to_a_file(server: Server, path: str) -> None:
    answer = asked_of(server, f"GET {path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n".encode())
    assert int(answer.split()[1]) in (303, 400, 404), answer
    assert b"root:" not in answer


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM text.`/etc/passwd`", "SELECT * FROM read_files('/etc/passwd')", "SELECT reflect('java.lang.System', 'getenv')",
        "SELECT java_method('java.lang.Runtime', 'getRuntime')", "SELECT 1 AS x; DROP VIEW every", "SET spark.sql.ansi.enabled = false",
        "ADD JAR '/tmp/x.jar'", "SELECT TRANSFORM(id) USING 'cat' FROM every", "INSERT INTO every SELECT 1, 'x'", "CREATE TABLE t AS SELECT 1",
    ],
)  # fmt: skip
def test_no_sql_leads_out_of_the_app(client: httpx.Client, sql: str) -> None:
    for path in ("/v1/query", "/v1/statements"):
        answer = client.post(path, json={"sql": sql})
        assert answer.status_code == 400, answer.text
        assert "root:" not in answer.text
    assert client.get("/v1/views/every").status_code == 200


def test_slow_senders_hold_up_nobody(server: Server, client: httpx.Client) -> None:
    place = (urlsplit(server.url).hostname, urlsplit(server.url).port)
    head = f"POST /v1/query HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 100\r\n\r\n".encode()
    slow = [socket.create_connection(place, timeout=60) for _ in range(50)]
    for number, one in enumerate(slow):
        one.sendall(b"GET /v1/views HT" if number % 2 else head + b'{"sql":')
    began = time.monotonic()
    assert client.get("/v1/views/every/rows?limit=1").status_code == 200
    assert time.monotonic() - began < 10
    assert slow[1].recv(10) == b""  # headers that do not come are waited for, for a while
    for one in slow:
        one.close()


def test_no_call_of_the_openapi_document_gives_a_server_error(server: Server) -> None:
    """With names of the app, so that calls come further than 404; odd names are in test_server.py."""
    named = {"/v1/views/": "every", "/v1/streams/": "words"}
    chosen = (f'[[operations]]\ninclude-path-regex = "^{path}"\nparameters = {{ name = "{name}" }}\n' for path, name in named.items())
    (server.folder / "schemathesis.toml").write_text("".join(chosen))
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json", "--header", f"Authorization: Bearer {TOKEN}"]
    command += ["--checks", "not_a_server_error", "--phases", "examples,coverage,fuzzing", "--max-examples", "8", "--workers", "2"]
    command += ["--exclude-path-regex", "/changes$", "--request-timeout", "60", "--no-color", "--generation-deterministic"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=server.folder, check=False)
    assert found.returncode == 0, found.stdout[-5000:] + found.stderr[-2000:]
    counted = re.search(r"(\d+) generated, (\d+) passed", found.stdout)
    assert counted is not None, found.stdout
    assert int(counted[1]) == int(counted[2]) > 200


def test_the_command_line_asks_the_server_of_the_state_folder_and_starts_no_spark(server: Server) -> None:
    place = [str(server.folder / "app.sql"), "--state", str(server.folder / "state"), "--json"]
    without_java = {**os.environ, "JAVA_HOME": "/nowhere", "PATH": str(Path(sys.executable).parent)}

    def said(*words: str) -> str:
        command = [sys.executable, "-m", "penstock", words[0], *place[:1], *words[1:], *place[1:]]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, env=without_java).stdout

    assert json.loads(said("sql", "-c", "SELECT count(*) AS n FROM words WHERE word = 'a'")) == {"n": ROWS}
    assert len(said("peek", "words", "-n", "3").splitlines()) == 3
    assert oct((server.folder / "state" / "server.json").stat().st_mode)[-3:] == "600"


def test_too_many_calls_are_429_and_then_taken_again(server: Server, client: httpx.Client) -> None:
    """Last, for it uses up the rate."""
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: client.get("/v1/nope"), range(1500)))
    refused = [answer for answer in found if answer.status_code == 429]
    assert refused
    assert int(refused[0].headers["Retry-After"]) >= 1
    time.sleep(1.5)
    assert client.get("/v1/views").status_code == 200
