from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from penstock.errors import OptionFault
from penstock.web.targets import Target, resolve
from penstock.web.webhooks import post

INSIDE = [
    "127.0.0.1",
    "10.1.2.3",
    "192.168.1.1",
    "172.16.0.1",
    "169.254.169.254",
    "0.0.0.0",
    "100.64.0.1",
    "224.0.0.1",
    "[::1]",
    "[fe80::1]",
    "[fc00::1]",
]
HIDDEN = ["[::ffff:10.0.0.1]", "[64:ff9b::10.0.0.1]", "[2002:0a00:0001::]", "2130706433", "0x7f.1", "localhost"]


@pytest.mark.parametrize("host", [*INSIDE, *HIDDEN])
def test_a_webhook_does_not_go_inside_the_network(host: str) -> None:
    with pytest.raises(OptionFault):
        resolve(f"http://{host}/x", [""])


STRANGE = [
    "ftp://1.1.1.1/",
    "file:///etc",
    "http://",
    "http://u:p@1.1.1.1/",
    "http://1.1.1.1 /",
    "http://1.1.1.1:x/",
    "http://1.1.1.1:0/",
    "x",
]


@pytest.mark.parametrize("url", STRANGE)
def test_what_is_no_url_of_the_web_is_refused(url: str) -> None:
    with pytest.raises(OptionFault):
        resolve(url, [])


def test_public_addresses_and_allowed_hosts_pass() -> None:
    assert resolve("https://1.1.1.1/a?b=c", []).path == "/a?b=c"
    assert resolve("http://127.0.0.1:9/", ["x", " 127.0.0.1 "]).addresses == ("127.0.0.1",)


def test_a_host_with_several_addresses_is_reached_at_the_one_that_answers() -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            return None

    receiver = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=receiver.handle_request, daemon=True).start()
    target = Target("http", "here", receiver.server_port, ("::1", "127.0.0.1"), "/")
    try:
        assert post(target, b"{}", {}) == 204
    finally:
        receiver.server_close()
