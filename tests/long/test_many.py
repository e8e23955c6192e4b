"""Many views on one server: added while it runs, over a kill, and in many browsers. Long: `make soak` runs it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from penstock.client import Client
from penstock.testing.server import TOKEN, Server

pytestmark = pytest.mark.timeout(1800)
COUNT = int(os.environ.get("PENSTOCK_VIEWS", "100"))
BROWSERS = 10
APP = """
CREATE STREAM orders (id BIGINT, country STRING, amount BIGINT) WITH (connector = 'http');
CREATE MATERIALIZED VIEW sales AS SELECT country, count(*) AS n, sum(amount) AS total FROM orders GROUP BY country;
"""
VIEW = "CREATE MATERIALIZED VIEW added_{0} AS SELECT country, max(n) AS n, max(total) AS total FROM sales WHERE n > {0} % 5 GROUP BY country"


def orders(first: int, count: int) -> str:
    return "".join(json.dumps({"id": first + n, "country": f"c{n % 7}", "amount": n}) + "\n" for n in range(count))


def test_views_that_were_added_come_back_after_a_kill_and_verify_is_equal(tmp_path: Path) -> None:
    server = Server(tmp_path / "many", APP)
    try:
        with Client(server.url, TOKEN) as client:
            client.send("orders", orders(0, 100))
            began = time.monotonic()
            for low in range(0, COUNT, 25):
                client.statements("; ".join(VIEW.format(n) for n in range(low, min(low + 25, COUNT))))
            added_s = time.monotonic() - began
            client.send("orders", orders(100, 50))
        server.kill()
        began = time.monotonic()
        server.start()
        back_s = time.monotonic() - began
        with Client(server.url, TOKEN) as client:
            assert {f"added_{n}" for n in range(COUNT)} <= {view["name"] for view in client.views()}
            client.send("orders", orders(150, 50))
        server.until("/v1/views/sales/rows?where=country = 'c0'", [{"country": "c0", "n": 31, "total": 1127}])
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(60)
    finally:
        if server.process.poll() is None:
            server.kill()
    command = [sys.executable, "-m", "penstock", "verify", str(server.folder / "app.sql"), "--state", str(server.folder / "state")]
    found = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    assert found.returncode == 0, found.stdout[-3000:] + found.stderr[-3000:]
    print(f"\n{COUNT} views added in {added_s:.0f} s, back {back_s:.0f} s after a kill; {found.stderr.splitlines()[-1]}")


def test_200_views_and_10_browsers_leave_it_responsive(tmp_path: Path) -> None:
    views = ";\n".join(VIEW.format(n) for n in range(2 * COUNT - 1))
    server = Server(tmp_path / "browsers", f"{APP}{views};")
    binary = shutil.which("chromium")
    assert binary is not None
    asked: list[float] = []
    try:
        with Client(server.url, TOKEN) as client, sync_playwright() as playwright:
            client.send("orders", orders(0, 100))
            browser = playwright.chromium.launch(executable_path=binary, args=["--no-sandbox"])
            pages = [browser.new_context(extra_http_headers={"Authorization": f"Bearer {TOKEN}"}).new_page() for _ in range(BROWSERS)]
            for number, page in enumerate(pages):
                page.request.post(f"{server.url}/v1/session", data={"token": TOKEN})
                page.goto(f"{server.url}/console/{('', 'graph', 'views/sales', 'operations', 'alerts')[number % 5]}", timeout=120_000)
            for number in range(40):
                client.send("orders", orders(100 + 10 * number, 10))
                began = time.monotonic()
                client.rows("sales")
                asked.append(1000 * (time.monotonic() - began))
                time.sleep(0.5)
            began = time.monotonic()
            pages[2].goto(f"{server.url}/console/views/added_7", timeout=120_000)
            pages[2].get_by_text("c0").first.wait_for(timeout=120_000)
            opened_s = time.monotonic() - began
            browser.close()
    finally:
        server.kill()
    asked.sort()
    rows = f"rows in p50 {asked[20]:.0f} ms, p99 {asked[-1]:.0f} ms"
    print(f"\n{2 * COUNT} views, {BROWSERS} browsers: {rows}; a view's page with its rows in {opened_s:.1f} s")
    assert asked[20] < 1000
    assert opened_s < 20
