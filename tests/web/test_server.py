"""What the server promises, called as written."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from penstock.client import AsyncClient, Client, ServerError
from penstock.testing.server import TOKEN, Server

ORDERS = [
    {"id": 1, "country": "PT", "amount": "10.00", "at": "2024-05-01T10:00:00Z"},
    {"id": 2, "country": "ES", "amount": "150.00", "at": "2024-05-01T10:00:01Z"},
    {"id": 3, "country": "PT", "amount": "200.50", "at": "2024-05-01T10:00:02Z"},
]
SALES = [{"country": "ES", "n": 1, "total": "150.00"}, {"country": "PT", "n": 2, "total": "210.50"}]
FIELDS = {"code", "message", "where", "hint"}


def lines(*rows: object) -> str:
    return "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)


def events(response: httpx.Response) -> Iterator[tuple[str, str | None, Any]]:
    name, place = "", None
    for line in response.iter_lines():
        if line.startswith("event: "):
            name, place = line[7:], None
        elif line.startswith("id: "):
            place = line[4:]
        elif line.startswith("data: "):
            yield name, place, json.loads(line[6:])


def test_rows_that_are_sent_are_durable_counted_and_seen(server: Server, client: httpx.Client) -> None:
    sent = client.post("/v1/streams/orders/rows", content=lines(*ORDERS, "not json", {"id": "x"}), headers={"Idempotency-Key": "first"})
    assert (sent.status_code, sent.json()) == (200, {"rows": 3, "dead": 2})
    again = client.post("/v1/streams/orders/rows", content=lines(*ORDERS), headers={"Idempotency-Key": "first"})
    assert again.json() == {"rows": 3, "dead": 2}
    found = server.until("/v1/views/sales/rows?order=country", SALES)
    assert int(found.headers["Penstock-Epoch"]) >= 0
    dead = server.until_dead("orders", 2)
    assert {row["raw"] for row in dead} == {"not json", '{"id": "x"}'}
    assert client.post("/v1/streams/logged/rows", content=lines({"id": 1})).status_code == 409
    assert client.post("/v1/streams/nope/rows", content="").status_code == 404
    assert client.get("/v1/views/sales/late").json() == {"rows": []}


@pytest.mark.parametrize("path", ["/v1/views", "/openapi.json", "/metrics", "/v1/status", "/v1/views/sales/rows", "/nope"])
def test_every_call_but_health_needs_the_token(server: Server, path: str) -> None:
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}):
        found = httpx.get(f"{server.url}{path}", headers=headers)
        assert found.status_code == 401
        assert set(found.json()["error"]) == FIELDS
    assert httpx.get(f"{server.url}{path}?token={TOKEN}").status_code == 401
    assert httpx.get(f"{server.url}/health").status_code == 200


def test_views_are_listed_and_described(client: httpx.Client) -> None:
    assert [view["name"] for view in client.get("/v1/views").json()["views"]][:2] == ["sales", "big"]
    one = client.get("/v1/views/sales").json()
    assert [column["name"] for column in one["schema"]] == ["country", "n", "total"]
    assert (one["status"], one["group"]) == ("running", "sales")
    assert client.get("/v1/views/sales/explain").json()["strategy"] == "incremental"
    assert "penstock_epoch" in client.get("/metrics").text
    assert client.get("/v1/status").json()["status"] == "ok"
    assert "/v1/views/{name}/rows" in client.get("/openapi.json").json()["paths"]
    assert client.get("/v1/views/nope").status_code == 404


@pytest.mark.parametrize(
    ("asked", "countries"),
    [
        ("where=n > 1", ["PT"]),
        ("where=total >= 150&order=total desc", ["PT", "ES"]),
        ("where=length(country) = 2 AND lower(country) = 'es'", ["ES"]),
        ("where=country IN ('PT', 'FR')", ["PT"]),
        ("order=country desc nulls last&limit=1", ["PT"]),
        ("order=country&limit=1&offset=1", ["PT"]),
        ("limit=0", []),
    ],
)
def test_rows_are_filtered_ordered_and_cut(client: httpx.Client, asked: str, countries: list[str]) -> None:
    found = client.get(f"/v1/views/sales/rows?{asked}")
    assert [row["country"] for row in found.json()["rows"]] == countries


@pytest.mark.parametrize(
    "asked",
    [
        "where=n > (SELECT 1)", "where=sum(n) > 1", "where=row_number() OVER () = 1", "where=n > 1 -- x", "where=n >", "where=nope = 1",
        "where=n; drop", "where=reflect('java.lang.System', 'exit')", "order=nope", "order=n sideways", "order=n desc, -- x",
        "limit=-1", "limit=10001", "limit=x", "offset=1.5",
    ],
)  # fmt: skip
def test_what_is_no_predicate_order_or_number_is_refused(client: httpx.Client, asked: str) -> None:
    found = client.get(f"/v1/views/sales/rows?{asked}")
    assert found.status_code == 400, found.text
    assert set(found.json()["error"]) == FIELDS


def test_a_view_is_followed_from_its_snapshot_and_from_any_token(server: Server, client: httpx.Client) -> None:
    with client.stream("GET", "/v1/views/sales/changes") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        found = events(response)
        name, token, first = next(found)
        assert (name, first["reason"], first["more"]) == ("snapshot", "start", False)
        assert sorted(first["rows"], key=lambda row: str(row["country"])) == SALES
        client.post("/v1/streams/orders/rows", content=lines({"id": 4, "country": "PT", "amount": "1.00", "at": "2024-05-01T10:00:03Z"}))
        minus, plus = next(found), next(found)
    assert [(name, data["op"], data["row"]["n"], data["key"]) for name, _, data in (minus, plus)] == [
        ("change", "-", 2, {"country": "PT"}),
        ("change", "+", 3, {"country": "PT"}),
    ]
    assert minus[2]["epoch"] == plus[2]["epoch"] > first["epoch"]
    for resume, wanted in ((token, [minus, plus]), (minus[1], [plus])):
        with client.stream("GET", "/v1/views/sales/changes", headers={"Last-Event-ID": str(resume)}) as response:
            again = events(response)
            assert [next(again) for _ in wanted] == wanted
    with connect(
        f"{server.url.replace('http', 'ws')}/v1/views/sales/changes?from={token}", additional_headers={"Authorization": f"Bearer {TOKEN}"}
    ) as socket:
        messages = [json.loads(socket.recv(10)) for _ in range(2)]
    assert [(one["event"], one["id"], one["data"]) for one in messages] == [minus, plus]
    with client.stream("GET", "/v1/views/sales/changes?where=country = 'ES'") as response:
        assert [row["country"] for row in next(events(response))[2]["rows"]] == ["ES"]
    assert client.get("/v1/views/sales/changes?from=rubbish").status_code == 400
    assert client.get("/v1/views/sales/changes?where=n %2B").status_code == 400
    with pytest.raises(InvalidStatus):
        connect(f"{server.url.replace('http', 'ws')}/v1/views/sales/changes")


def test_statements_take_effect_all_or_none(server: Server, client: httpx.Client) -> None:
    def made(sql: str) -> httpx.Response:
        return client.post("/v1/statements", json={"sql": sql})

    first = made("CREATE MATERIALIZED VIEW per_country AS SELECT country, max(amount) AS most FROM orders GROUP BY country;")
    assert first.status_code == 200, first.text
    rows = client.get("/v1/views/per_country/rows?order=country").json()["rows"]
    assert [row["most"] for row in rows] == ["150.00", "200.50"]
    with client.stream("GET", "/v1/views/per_country/changes") as response:
        found = events(response)
        assert next(found)[2]["reason"] == "start"
        second = made("CREATE OR REPLACE MATERIALIZED VIEW per_country AS SELECT country, min(amount) AS least FROM orders GROUP BY country")
        assert second.json()["epoch"] >= first.json()["epoch"]
        assert next(found)[2]["reason"] == "replaced"
        assert [row["least"] for row in client.get("/v1/views/per_country/rows?order=country").json()["rows"]] == ["150.00", "1.00"]
        assert made("ROLLBACK VIEW per_country").status_code == 200
        assert "most" in client.get("/v1/views/per_country/rows").json()["rows"][0]
        made("CREATE MATERIALIZED VIEW top AS SELECT country FROM per_country WHERE most > 160")
        assert made("DROP VIEW per_country").status_code == 409
        assert made("DROP VIEW top; DROP VIEW per_country").status_code == 200
        assert list(found)[-1][0] == "dropped"
    assert made("DROP VIEW per_country").status_code == 404
    assert made("CREATE MATERIALIZED VIEW a AS SELECT 1 AS x FROM orders; CREATE MATERIALIZED VIEW b AS SELECT nope FROM orders").status_code == 400
    assert client.get("/v1/views/a").status_code == 404


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE STREAM f (x STRING) WITH (connector = 'files', path = '/etc', format = 'text')",
        "CREATE SINK s FROM sales WITH (connector = 'callback', callback = 'os:system')",
        "CREATE SINK s FROM sales WITH (connector = 'postgres', host = 'x', database = 'd', user = 'u', password = secret('p'), table = 't')",
        "SELECT 1",
        "CREATE MATERIALIZED VIEW v AS SELEC x",
        "CREATE MATERIALIZED VIEW v AS SELECT * FROM nope",
    ],
)
def test_a_request_names_no_path_no_code_and_no_secret(client: httpx.Client, sql: str) -> None:
    found = client.post("/v1/statements", json={"sql": sql})
    assert found.status_code == 400, found.text
    assert found.json()["error"]["where"] is not None
    assert found.json()["error"]["hint"]


def test_a_query_is_bounded_in_time_and_rows(client: httpx.Client) -> None:
    found = client.post("/v1/query", json={"sql": "SELECT country, n FROM sales WHERE n > 1"}).json()
    assert (found["columns"], found["rows"], found["truncated"]) == (["country", "n"], [{"country": "PT", "n": 3}], False)
    many = client.post("/v1/query", json={"sql": "SELECT id FROM range(20000)"}).json()
    assert (len(many["rows"]), many["truncated"]) == (10_000, True)
    wrong = client.post("/v1/query", json={"sql": "SELECT x\nFROM nope"})
    assert (wrong.status_code, wrong.json()["error"]["where"]["line"]) == (400, 2)
    slow = client.post("/v1/query", json={"sql": "SELECT count(*) AS n FROM range(2000000000) a CROSS JOIN range(1000000) b WHERE a.id % 7 = b.id"})
    assert (slow.status_code, slow.json()["error"]["code"]) == (408, "timeout")


def test_other_sites_are_kept_out(server: Server, client: httpx.Client) -> None:
    body = {"sql": "SELECT 1 AS x"}
    assert client.post("/v1/query", json=body, headers={"Origin": "http://evil.example"}).status_code == 403
    assert client.post("/v1/query", json=body, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert client.post("/v1/query", json=body, headers={"Origin": server.url}).status_code == 200
    with httpx.Client(base_url=server.url) as browser:
        assert browser.post("/v1/session", json={"token": "wrong"}).status_code == 401
        logged_in = browser.post("/v1/session", json={"token": TOKEN})
        assert "HttpOnly" in logged_in.headers["set-cookie"]
        assert "SameSite=Strict" in logged_in.headers["set-cookie"]
        assert browser.get("/v1/views").status_code == 200
        assert browser.get("/v1/views").headers["x-content-type-options"] == "nosniff"


def test_what_is_too_large_is_refused(client: httpx.Client) -> None:
    assert client.post("/v1/streams/orders/rows", content=b"x" * (2**20 + 1)).status_code == 413
    assert client.post("/v1/streams/orders/rows", content=(b"x" * 2**16 for _ in range(20))).status_code == 413


@pytest.mark.parametrize("value", ["", "\x00", "'", "%", "\xed\xa0\x80", "9" * 400, "../../etc/passwd", "{}", "[" * 3000])
def test_nothing_that_is_sent_makes_a_server_error(client: httpx.Client, value: str) -> None:
    """Every call of the OpenAPI document with odd values in its places."""
    paths = client.get("/openapi.json").json()["paths"]
    for path, methods in paths.items():
        for method in methods:
            if path.endswith("/changes"):
                continue
            url = path.replace("{name}", quote(value or "x", safe=""))
            params = dict.fromkeys(("where", "order", "limit", "offset"), value) if method == "get" else {}
            for content in (value.encode("utf-8", "replace"), json.dumps({"sql": value, "view": value, "url": value, "token": value}).encode()):
                sent = client.request(
                    method.upper(), url, params=params, content=None if method == "get" else content, headers={"Content-Type": "application/json"}
                )
                assert sent.status_code < 500, (method, url, sent.text)


def test_the_client_speaks_the_same_words(server: Server) -> None:
    with Client(server.url, TOKEN) as client:
        assert client.statements("CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM orders").epoch >= 0
        rows = client.rows("sales", where="n > 1")
        assert (len(rows), rows[0]["country"], rows.epoch is not None) == (1, "PT", True)
        assert list(rows.to_pandas()["n"]) == [3]
        assert rows.to_arrow().column_names == ["country", "n", "total"]
        assert client.query("SELECT n FROM counted")[0] == {"n": 4}
        with closing(client.follow("counted")) as following:
            first = next(following)
            assert (first.op, first.row, first.token is not None) == ("+", {"n": 4}, True)
            client.send("orders", lines({"id": 5, "country": "FR", "amount": "1", "at": "2024-05-01T10:00:04Z"}))
            assert [next(following).row["n"] for _ in range(2)] == [4, 5]
        with closing(client.follow("counted", resume=first.token)) as again:
            assert [(change.op, change.row["n"]) for change in (next(again), next(again))] == [("-", 4), ("+", 5)]
            replace = "CREATE OR REPLACE MATERIALIZED VIEW counted AS SELECT country, max(id) AS top FROM orders {} GROUP BY country"
            client.statements(replace.format(""))
            replaced = [next(again) for _ in range(3)]
            assert sorted((str(change.reason), change.row["country"], change.key) for change in replaced) == [
                ("replaced", country, {"country": country}) for country in ("ES", "FR", "PT")
            ]
            client.statements(replace.format("WHERE id < 0"))
            gone = next(again)
            assert (gone.op, gone.row, gone.reason) == ("-", {}, "replaced")
        with pytest.raises(ServerError) as refused:
            client.rows("nope")
        assert refused.value.status == 404


def test_the_asynchronous_client_has_the_same_verbs(server: Server) -> None:
    async def asked() -> None:
        async with AsyncClient(server.url, TOKEN) as client:
            assert [row["country"] for row in await client.rows("sales", order="country")] == ["ES", "FR", "PT"]
            assert (await client.query("SELECT n FROM sales WHERE country = 'PT'"))[0] == {"n": 3}
            following = client.follow("sales", where="country = 'PT'")
            assert (await anext(following)).row["n"] == 3
            await following.aclose()

    asyncio.run(asked())


def test_the_command_line_asks_a_server(server: Server) -> None:
    options = ["--url", server.url, "--token-file", str(server.folder / "token")]
    command = [sys.executable, "-m", "penstock", "query", "SELECT country, n FROM sales WHERE n = 3", *options]
    asked = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert asked.stdout == '{"country": "PT", "n": 3}\n'
    with subprocess.Popen([sys.executable, "-m", "penstock", "subscribe", "sales", *options], stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        assert {json.loads(following.stdout.readline())["row"]["country"] for _ in range(3)} == {"ES", "FR", "PT"}
        following.kill()


def test_all_come_back_after_a_kill_and_a_follower_misses_nothing(server: Server) -> None:
    """kill -9 with views that were added while it ran; what is read with the token goes on where it was."""
    count = 20  # `make soak` has 100 of them
    form = "CREATE MATERIALIZED VIEW added_{0} AS SELECT country, count(*) AS n FROM sales WHERE n > {0} GROUP BY country"
    with Client(server.url, TOKEN) as client, closing(client.follow("sales")) as following:
        assert client.statements("; ".join(form.format(n) for n in range(count))).epoch >= 0
        snapshot = [next(following) for _ in range(3)][-1]
        before = client.rows("sales").epoch or 0
    server.kill()
    server.start()
    with Client(server.url, TOKEN) as client:
        assert {f"added_{n}" for n in range(count)} <= {view["name"] for view in client.views()}
        assert (client.rows("sales").epoch or 0) >= before
        counts = {row["country"]: row["n"] for row in client.rows("sales")}
        for n in range(count):
            assert {row["country"] for row in client.rows(f"added_{n}")} == {country for country, many in counts.items() if many > n}
        with closing(client.follow("sales", resume=snapshot.token)) as following:
            got: list[Any] = []
            reader = threading.Thread(target=lambda: got.extend(next(following) for _ in range(2)), daemon=True)
            reader.start()
            time.sleep(0.5)
            client.send("orders", lines({"id": 6, "country": "FR", "amount": "2", "at": "2024-05-01T10:00:05Z"}))
            reader.join(60)
    assert [(change.op, change.row["country"], change.row["n"]) for change in got] == [("-", "FR", 1), ("+", "FR", 2)]


def test_webhooks_are_signed_in_order_and_sent_again(server: Server) -> None:
    taken: list[tuple[dict[str, str], bytes]] = []
    fails = [2]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            taken.append(({name.lower(): value for name, value in self.headers.items()}, body))
            fails[0] -= 1
            self.send_response(500 if fails[0] >= 0 else 204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            return None

    receiver = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    with server.client() as client:
        new = {"view": "big", "url": f"http://127.0.0.1:{receiver.server_port}/in", "where": "amount > 500", "secret": "s3cret"}
        made = client.post("/v1/webhooks", json=new)
        assert made.status_code == 201, made.text
        for number, amount in ((10, "900"), (11, "600"), (12, "50"), (13, "150")):
            client.post("/v1/streams/orders/rows", content=lines({"id": number, "country": "FR", "amount": amount, "at": "2024-05-01T10:01:00Z"}))
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and [row["id"] for row in _delivered(taken[2:])] != [10, 11]:
            time.sleep(0.2)
        assert client.delete(f"/v1/webhooks/{made.json()['id']}").status_code == 200
        for url in (
            "ftp://example.com",
            "http://10.0.0.1/",
            "http://[::1]/",
            "http://localhost:1/",
            "http://169.254.169.254/",
            "http://[::ffff:10.0.0.1]/",
        ):
            assert client.post("/v1/webhooks", json={**new, "url": url}).status_code == 400, url
    receiver.shutdown()
    receiver.server_close()
    assert [row["id"] for row in _delivered(taken[2:])] == [10, 11]
    assert len({headers["webhook-id"] for headers, _ in taken[:3]}) == 1
    for headers, body in taken:
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        wanted = base64.b64encode(hmac.new(b"s3cret", signed, hashlib.sha256).digest()).decode()
        assert headers["webhook-signature"] == f"v1,{wanted}"


def _delivered(taken: list[tuple[dict[str, str], bytes]]) -> list[dict[str, Any]]:
    return [change["row"] for _, body in taken for change in json.loads(body)["changes"]]


@pytest.mark.parametrize(
    ("options", "says"), [(["--listen", "0.0.0.0:0"], "token"), (["--listen", "nonsense"], "--listen"), (["--token-file", "absent"], "token file")]
)
def test_what_cannot_be_served_safely_is_refused(tmp_path: Path, options: list[str], says: str) -> None:
    (tmp_path / "app.sql").write_text("CREATE STREAM s (x STRING) WITH (connector = 'http', format = 'text');")
    command = [sys.executable, "-m", "penstock", "serve", str(tmp_path / "app.sql"), *options]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert found.returncode == 2
    assert says in found.stderr
