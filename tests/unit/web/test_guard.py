"""What stands before every call, around an app that answers at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from penstock.web.access import Access
from penstock.web.guard import Guard, Rate

TOKEN = {"Authorization": "Bearer 0123456789"}


async def well(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"{}"})


def client(rate: Rate, inner: object = well, strangers: Rate | None = None) -> httpx.AsyncClient:
    strangers = strangers or Rate(100, 100)
    guard = Guard(
        inner,  # type: ignore[arg-type]
        Access("0123456789"),
        body_bytes_max=1000,
        rate=rate,
        strangers=strangers,
        is_open=lambda path: path in ("/health", "/login"),
    )
    return httpx.AsyncClient(transport=httpx.ASGITransport(guard), base_url="http://here", headers=TOKEN)


def test_over_the_rate_is_429_with_the_time_to_wait_and_open_paths_are_free() -> None:
    async def asked() -> None:
        async with client(Rate(0.5, 3)) as found:
            answers = [await found.get("/v1/views") for _ in range(5)]
            assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
            assert answers[-1].headers["Retry-After"] == "2"
            assert set(answers[-1].json()["error"]) == {"code", "message", "where", "hint"}
            assert (await found.get("/health")).status_code == 200

    asyncio.run(asked())


def test_who_guesses_tokens_is_slowed_down_and_takes_nothing_from_others() -> None:
    async def asked() -> None:
        async with client(Rate(0.5, 3), strangers=Rate(0.5, 4)) as found:
            guesses = [await found.get("/v1/views", headers={"Authorization": f"Bearer {n}"}) for n in range(3)]
            guesses += [await found.post("/login", content=b"token=x") for _ in range(2)]
            guesses.append(await found.get("/v1/views", headers={"Authorization": "Bearer 3"}))
            assert [answer.status_code for answer in guesses] == [401, 401, 401, 200, 429, 429]
            assert [(await found.get(path)).status_code for path in ("/v1/views", "/health", "/login")] == [200, 200, 200]

    asyncio.run(asked())


def test_a_rate_fills_again_and_never_above_its_burst(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [10.0]
    monkeypatch.setattr("penstock.web.guard.time.monotonic", lambda: now[0])
    rate = Rate(2, 4)
    assert [rate.wait_s() for _ in range(5)] == [0, 0, 0, 0, 0.5]
    now[0] += 1
    assert [rate.wait_s() for _ in range(3)] == [0, 0, 0.5]
    now[0] += 1000
    assert [rate.wait_s() for _ in range(5)][-1] == 0.5


def test_a_body_that_comes_too_slowly_is_408_and_one_that_is_too_large_413(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.web.guard._BODY_S", 0.05)

    async def slowly() -> AsyncIterator[bytes]:
        for _ in range(10):
            yield b"x"
            await asyncio.sleep(0.02)

    async def at_once() -> AsyncIterator[bytes]:
        for _ in range(11):
            yield b"x" * 100

    async def asked() -> None:
        async with client(Rate(100, 100)) as found:
            assert (await found.post("/v1/query", content=slowly())).status_code == 408
            assert (await found.post("/v1/query", content=at_once())).status_code == 413
            assert (await found.post("/v1/query", content=b"x" * 1001)).status_code == 413
            assert (await found.post("/v1/query", content=b"x" * 1000)).status_code == 200

    asyncio.run(asked())


def test_what_nobody_has_foreseen_is_never_a_500() -> None:
    async def breaks(scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError("a bug with a /secret/path")

    async def asked() -> None:
        async with client(Rate(100, 100), breaks) as found:
            answer = await found.get("/v1/views")
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "internal")
            assert "/secret/path" not in answer.text

    asyncio.run(asked())
