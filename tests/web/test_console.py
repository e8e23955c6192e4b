"""The console in a real Chromium, over `penstock serve` as its user starts it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Response, expect, sync_playwright

WAIT_MS = 120_000
IMAGES = Path(__file__).parents[2] / "docs" / "images"
XSS = "<img src=x onerror=alert(1)>"
APP = """
CREATE STREAM sales (at TIMESTAMP, country STRING, amount DOUBLE, WATERMARK FOR at AS at - INTERVAL 10 MINUTES)
  WITH (connector = 'files', path = 'sales', format = 'json');
CREATE MATERIALIZED VIEW by_country AS SELECT country, count(*) AS sales, sum(amount) AS total FROM sales GROUP BY country EMIT CHANGES;
CREATE MATERIALIZED VIEW turnover AS SELECT count(*) AS sales, sum(amount) AS total FROM sales EMIT CHANGES;
CREATE MATERIALIZED VIEW large WITH (alert = true) AS SELECT country, max(amount) AS largest FROM sales GROUP BY country HAVING max(amount) >= 200;
CREATE MATERIALIZED VIEW hourly AS SELECT window, count(*) AS sales FROM sales GROUP BY window(at, '1 hour') EMIT ON WINDOW CLOSE;
"""


class Served:
    """One app behind `penstock serve`, fed by files."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._fed = folder, 0
        (folder / "sales").mkdir(parents=True)
        (folder / "shop.sql").write_text(APP)

    def feed(self, *lines: object) -> None:
        self._fed += 1
        staged = self.folder / f"{self._fed}.json"
        staged.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
        staged.rename(self.folder / "sales" / staged.name)

    def start(self) -> None:
        command = [sys.executable, "-m", "penstock", "serve", str(self.folder), "--listen", "127.0.0.1:0", "--set", "fast_start=true"]
        self.errors = self.folder / "stderr"
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(command, stderr=errors, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + WAIT_MS / 1000
        while not (found := re.search(r"console at (\S+)", self.errors.read_text())):
            assert self.process.poll() is None, self.errors.read_text()
            assert time.monotonic() < deadline, self.errors.read_text()
            time.sleep(0.1)
        self.login = found[1]
        self.url = self.login.partition("/?")[0]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    found = Served(tmp_path_factory.mktemp("console") / "shop")
    found.feed(sale(8, "PT", 10), sale(9, "DE", 20), sale(9, XSS, 5), "this is no JSON")
    found.start()
    yield found
    found.process.send_signal(signal.SIGTERM)
    found.process.wait(60)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    binary = shutil.which("chromium")
    assert binary is not None, "chromium is missing: make test installs it"
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=binary, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def page(browser: Browser, served: Served) -> Iterator[Page]:
    """Logged in by the address that `serve` has printed; nothing may go wrong in the browser, and nothing come from elsewhere."""
    troubles: list[str] = []
    found = browser.new_page(viewport={"width": 1200, "height": 800})
    found.set_default_timeout(WAIT_MS)
    expect.set_options(timeout=WAIT_MS)
    found.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    found.on("pageerror", lambda error: troubles.append(str(error)))
    found.on("dialog", lambda dialog: troubles.append(f"a dialog: {dialog.message}"))
    found.on("request", lambda asked: None if asked.url.startswith((served.url, "data:", "blob:")) else troubles.append(f"asked for {asked.url}"))
    found.goto(served.login)
    yield found
    assert not troubles


def sale(hour: int, country: str, amount: float) -> dict[str, object]:
    return {"at": f"2026-01-05T{hour:02}:30:00Z", "country": country, "amount": amount}


def shoot(page: Page, name: str) -> None:
    if os.environ.get("PENSTOCK_SCREENSHOTS"):
        page.wait_for_timeout(1000)
        page.screenshot(path=IMAGES / f"console-{name}.png")


def drawn(page: Page) -> dict[str, float]:
    """The bars of the chart as ECharts has them."""
    script = """() => {
      const element = document.querySelector('.nicegui-echart');
      const found = element && getElement(element.id.slice(1))?.chart?.getOption(); if (!found?.series?.length) return {};
      return Object.fromEntries(found.yAxis[0].data.map((name, at) => [name, found.series[0].data[at]]));
    }"""
    return dict(page.evaluate(script))


def until_drawn(page: Page, wanted: dict[str, float]) -> None:
    deadline = time.monotonic() + WAIT_MS / 1000
    while (found := drawn(page)) != wanted:
        assert time.monotonic() < deadline, found
        page.wait_for_timeout(100)


def test_without_a_session_there_is_a_login_and_no_data(browser: Browser, served: Served) -> None:
    other = browser.new_context().new_page()
    answers: list[Response] = []
    other.on("response", lambda answer: answers.append(answer))
    other.goto(f"{served.url}/console/views/by_country")
    assert [(found.status, found.headers["x-content-type-options"]) for found in answers][:2] == [(303, "nosniff"), (200, "nosniff")]
    expect(other.get_by_label("Token")).to_be_visible()
    assert "by_country" not in other.locator("form").inner_text()
    other.get_by_label("Token").fill("not the token")
    other.get_by_role("button", name="Log in").click()
    expect(other.get_by_role("alert")).to_have_text("This is not the token.")
    shoot(other, "login")
    other.context.close()


def test_views_are_listed_with_their_state(page: Page, served: Served) -> None:
    page.goto(f"{served.url}/console/")
    line = page.locator("tr", has_text="by_country")
    expect(line).to_contain_text("● running")
    expect(line.locator("td").nth(3)).to_have_text("3")
    shoot(page, "views")


def test_every_part_of_a_page_is_reached_by_the_keyboard(page: Page, served: Served) -> None:
    page.goto(f"{served.url}/console/views/by_country")
    expect(page.get_by_role("heading", name="by_country")).to_be_visible()
    expect(page.get_by_role("button", name="table")).to_be_visible()
    reached: list[str] = []
    while "table" not in reached:
        assert len(reached) < 20, reached
        page.keyboard.press("Tab")
        reached.append(str(page.evaluate("document.activeElement.innerText || document.activeElement.getAttribute('aria-label')")))
    assert [name for name in reached if name in ("Views", "Graph", "Editor", "Alerts", "Operations", "Change its SQL", "bars", "table")] == [
        "Views", "Graph", "Editor", "Alerts", "Operations", "Change its SQL", "bars", "table",
    ]  # fmt: skip
    page.keyboard.press("Enter")
    expect(page.locator(".nicegui-echart")).to_have_count(0)


def test_a_chart_moves_with_the_data_and_a_reload_keeps_what_was_chosen(page: Page, served: Served) -> None:
    page.goto(f"{served.url}/console/views/by_country")
    until_drawn(page, {"DE": 20, "PT": 10, XSS: 5})
    served.feed(sale(10, "PT", 90))
    until_drawn(page, {"PT": 100, "DE": 20, XSS: 5})
    expect(page.get_by_text(XSS).first).to_be_visible()  # as text, in the table
    shoot(page, "view")
    page.get_by_role("button", name="table").click()
    expect(page.locator(".nicegui-echart")).to_have_count(0)
    page.reload()
    expect(page.get_by_role("button", name="table")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".nicegui-echart")).to_have_count(0)


def test_what_is_typed_is_checked_and_becomes_a_view(page: Page, served: Served) -> None:
    page.goto(f"{served.url}/console/editor")
    verdict = page.get_by_role("status").last
    page.get_by_label("Name of the view").fill("turnover")
    expect(verdict).to_contain_text("turnover")  # which is there: it is not replaced by accident
    page.get_by_label("Name of the view").fill("largest")
    text = page.locator(".cm-content")
    text.fill("SELECT country, max(amountt) AS largest FROM sales GROUP BY country")
    expect(verdict).to_contain_text("amountt")
    text.fill("SELECT country, max(amount) AS largest FROM sales GROUP BY country")
    expect(verdict).to_have_text("✔ this can run")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("tbody tr", has_text="PT")).to_contain_text("90")
    shoot(page, "editor")
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_text("view largest")).to_be_visible()
    page.get_by_role("button", name="Create as a view").click()
    page.get_by_role("link", name="Show largest").click()
    until_drawn(page, {"PT": 90, "DE": 20, XSS: 5})
    served.feed(sale(11, "DE", 95))
    until_drawn(page, {"DE": 95, "PT": 90, XSS: 5})
    page.get_by_role("link", name="Change its SQL").click()
    expect(text).to_contain_text("max(amount) AS largest")
    text.fill("SELECT country, min(amount) AS least FROM sales GROUP BY country")
    expect(verdict).to_have_text("✔ this can run")
    for key in ("Escape", "Escape", "Tab", "Tab", "Tab", "Enter"):  # out of the list of words and of the text, and past Preview and Explain
        page.keyboard.press(key)
    page.get_by_role("link", name="Show largest").click()
    until_drawn(page, {"DE": 20, "PT": 10, XSS: 5})
    page.goto(f"{served.url}/console/")
    expect(page.get_by_role("link", name="largest")).to_be_visible()


def test_the_graph_shows_what_flows_along_its_arrows(page: Page, served: Served) -> None:
    page.goto(f"{served.url}/console/graph")
    rates = page.locator(".picture .rate")
    expect(rates).to_have_text([re.compile("rows/s")] * 5)  # `largest` was created in the editor
    served.feed(*(sale(11, "ES", 1) for _ in range(50)))
    expect(rates.filter(has_text=re.compile(r"^[1-9]")).first).to_contain_text("rows/s")
    shoot(page, "graph")
    page.locator(".picture a", has_text="turnover").click()
    expect(page.get_by_text("55", exact=True).first).to_be_visible()


def test_an_alert_is_new_until_it_is_acknowledged(page: Page, served: Served) -> None:
    page.goto(f"{served.url}/console/alerts")
    expect(page.get_by_text("No alerts.")).to_be_visible()
    served.feed(sale(11, "FR", 250), sale(11, XSS, 300))
    alert = page.get_by_role("listitem").filter(has_text="FR")
    expect(alert).to_contain_text("▲ new")
    expect(page.get_by_role("link", name="2 new alerts")).to_be_visible()
    shoot(page, "alerts")
    alert.get_by_role("button", name="Acknowledge").click()
    expect(alert).to_contain_text("✔ acknowledged")
    expect(page.get_by_role("link", name="1 new alert")).to_be_visible()
    page.reload()
    expect(alert).to_contain_text("✔ acknowledged")
    expect(page.get_by_role("listitem").filter(has_text=XSS)).to_contain_text("▲ new")
    page.get_by_role("button", name="Webhooks").click()
    page.get_by_label("Address").fill("http://10.0.0.1/in")
    page.get_by_label("Secret").fill("s3cret")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("alert").filter(has_text="10.0.0.1")).to_be_visible()


def test_epochs_and_starts_are_on_a_time_line_and_late_rows_beside_the_dead(page: Page, served: Served) -> None:
    served.feed(sale(20, "PT", 1))
    page.goto(f"{served.url}/console/operations?show=Time line")
    expect(page.locator("tbody tr", has_text="by_country")).to_contain_text("start")
    expect(page.locator("tbody tr", has_text="server")).to_contain_text("start")
    page.wait_for_function(
        """() => { const element = document.querySelector('.nicegui-echart');
          return element && getElement(element.id.slice(1))?.chart?.getOption()?.series?.[0]?.data?.length > 1; }"""
    )
    shoot(page, "timeline")
    served.feed(sale(21, "PT", 1), sale(3, "PT", 1))
    page.get_by_role("tab", name="Late rows").click()
    expect(page.locator("tbody tr", has_text="came after the watermark")).to_contain_text("hourly")
    shoot(page, "late")


def test_a_dead_letter_is_found_with_its_reason(page: Page, served: Served) -> None:
    page.goto(f"{served.url}/console/operations")
    expect(page.get_by_role("cell", name="running").first).to_be_visible()
    shoot(page, "operations")
    page.get_by_role("tab", name="Dead letters").click()
    line = page.locator("tbody tr", has_text="this is no JSON")
    expect(line).to_contain_text("1.json line 4")
    shoot(page, "dead")
    page.reload()
    expect(line).to_be_visible()


def test_pages_fit_a_phone(page: Page, served: Served) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    for path in ("", "views/by_country", "graph", "editor", "alerts", "operations"):
        page.goto(f"{served.url}/console/{path}")
        expect(page.get_by_role("link", name="Views", exact=True)).to_be_visible()
        page.wait_for_timeout(500)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
    page.goto(f"{served.url}/console/views/by_country")
    page.emulate_media(color_scheme="dark")
    until_drawn(page, {XSS: 305, "FR": 250, "DE": 115, "PT": 103, "ES": 50})
    shoot(page, "phone")
    page.set_viewport_size({"width": 1200, "height": 800})
