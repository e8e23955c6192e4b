"""The server beside a run: what it answers, where it listens, how it ends."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from types import TracebackType
from typing import Self

import pytest

from penstock.cli.run.metrics import Metrics, address
from penstock.errors import OptionFault
from penstock.observe.progress import Progress


class Silent:
    """A watch that keeps the messages it gets."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.shown: list[list[Progress]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def say(self, message: str) -> None:
        self.messages.append(message)

    def show(self, progress: list[Progress], elapsed_s: float) -> None:
        self.shown.append(progress)


def get(url: str) -> tuple[int, str, str]:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.headers["Content-Type"], refused.read().decode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("9100", ("127.0.0.1", 9100)),
        (":9100", ("127.0.0.1", 9100)),
        ("0.0.0.0:9100", ("0.0.0.0", 9100)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:9100", ("::1", 9100)),
    ],
)
def test_a_port_alone_is_on_loopback(text: str, expected: tuple[str, int]) -> None:
    assert address(text) == expected


@pytest.mark.parametrize("text", ["", "nowhere", "host:", "host:port", "9100x", "127.0.0.1:99999", "::1:9100", "-1", "²"])
def test_what_is_no_address_is_reported(text: str) -> None:
    with pytest.raises(OptionFault, match="--metrics wants HOST:PORT or a port"):
        address(text)


def test_it_answers_while_the_run_goes_on_and_is_gone_with_it() -> None:
    below = Silent()
    with Metrics("0", below, 120) as metrics:
        assert below.messages == [f"metrics at {metrics.url}/metrics, health at {metrics.url}/health"]
        status, kind, body = get(f"{metrics.url}/health")
        assert (status, kind, json.loads(body)["status"]) == (503, "application/json", "starting")
        metrics.show([Progress("spend", ("spend",), "running", epoch=2, rows=10)], 1.0)
        assert [job.rows for job in below.shown[0]] == [10]
        status, _, body = get(f"{metrics.url}/health?verbose")
        assert (status, json.loads(body)["jobs"][0]["epoch"]) == (200, 2)
        status, kind, body = get(f"{metrics.url}/metrics")
        assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
        assert 'penstock_rows_total{job="spend"} 10.0\n' in body
        metrics.show([Progress("spend", ("spend",), "failed", detail="no broker")], 2.0)
        status, _, body = get(f"{metrics.url}/health")
        assert (status, json.loads(body)["reasons"]) == (503, ["job spend has failed: no broker"])
        assert get(f"{metrics.url}/elsewhere")[0] == 404
    with pytest.raises(urllib.error.URLError):
        get(f"{metrics.url}/health")


def test_a_port_in_use_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OptionFault, match="the port is in use"):
        Metrics(str(taken.getsockname()[1]), Silent(), 120)


def test_a_client_that_hangs_up_does_not_matter(capfd: pytest.CaptureFixture[str]) -> None:
    with Metrics("0", Silent(), 120) as metrics:
        host, port = metrics.url.removeprefix("http://").split(":")
        for _ in range(3):
            socket.create_connection((host, int(port))).close()
        assert get(f"{metrics.url}/metrics")[0] == 200
    assert capfd.readouterr().err == ""
