"""Many who follow many views, some slow, while rows come, views come and go, and the server is killed: what each has replayed is what the view holds.

Short in `make test`. `make soak` runs it for minutes, with 1,000 followers of 50 views, and prints how long a push takes after its epoch's commit.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from penstock.client import AsyncClient, ServerError
from penstock.store.sqlite import SqliteStore
from penstock.subscribe.token import decode
from penstock.testing.server import TOKEN, Server

MINUTES = float(os.environ.get("PENSTOCK_SOAK_MINUTES", "0"))
FOLLOWERS = int(os.environ.get("PENSTOCK_SOAK_FOLLOWERS") or (1000 if MINUTES else 100))
VIEWS, SECONDS, KILLS = (50, 60 * MINUTES, max(1, round(MINUTES / 4))) if MINUTES else (10, 12.0, 1)
TIMED = ("v0", "v1", "v2")
STEP_S = 0.5
VIEW = "CREATE MATERIALIZED VIEW {} AS SELECT country, max(n) AS n, max(total) AS total FROM v0 WHERE country <> 'c{}' GROUP BY country"
APP = "\n".join(
    [
        "CREATE STREAM orders (id BIGINT, country STRING, amount BIGINT) WITH (connector = 'http');",
        "CREATE MATERIALIZED VIEW v0 AS SELECT country, count(*) AS n, sum(amount) AS total FROM orders GROUP BY country;",
        *(f"{VIEW.format(f'v{n}', n)};" for n in range(1, VIEWS)),
    ]
)


@dataclass
class Replay:
    """What a follower holds: the snapshot, and every change after it."""

    view: str
    slow: bool = False
    rows: Counter[str] = field(default_factory=Counter)
    came: dict[tuple[str, int], float] = field(default_factory=dict)
    snapshots: int = 0
    ended: bool = False

    async def run(self, client: AsyncClient) -> None:
        fresh = False
        async for change in client.follow(self.view):
            if change.reason is not None and not fresh:
                self.rows.clear()
                self.snapshots += 1
            fresh = change.reason is not None and change.token is None
            self.rows[json.dumps(change.row, sort_keys=True)] += 1 if change.op == "+" else -1
            if self.slow:
                await asyncio.sleep(0.05)
            elif self.view in TIMED and change.reason is None and change.token is not None:
                place = decode(change.token, self.view)
                self.came.setdefault((place.generation, place.epoch), time.monotonic())
        self.ended = True

    @property
    def held(self) -> Counter[str]:
        return +self.rows


class Commits(threading.Thread):
    """When the epochs of some views were committed, as another process sees it in the store."""

    def __init__(self, file: Path) -> None:
        super().__init__(daemon=True)
        self._file, self._over = file, threading.Event()
        self.at: dict[tuple[str, str, int], float] = {}

    def run(self) -> None:
        store = SqliteStore(self._file)
        while not self._over.wait(0.004):
            for view in TIMED:
                if (found := store.latest(view)) is not None:
                    self.at.setdefault((view, *found), time.monotonic())
        store.close()

    def stop(self) -> None:
        self._over.set()
        self.join(10)


def resident_mb(process: int) -> float:
    text = Path(f"/proc/{process}/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("VmRSS"))


async def fed(client: AsyncClient, number: int) -> None:
    """Rows for a few countries, sent until they are taken, once."""
    sent = [json.dumps({"id": number + n, "country": f"c{(number // 10 + n) % 7}", "amount": n}) for n in range(3)]
    while True:
        try:
            await client.send("orders", "\n".join(sent), key=f"soak-{number}")
            return
        except ServerError as error:
            if not error.is_temporary:
                raise
            await asyncio.sleep(0.3)


@dataclass
class Soak:
    """One soak of one server."""

    server: Server
    replays: list[Replay] = field(default_factory=list)
    resident: list[float] = field(default_factory=list)
    rows: int = 0
    dropped: list[Replay] = field(default_factory=list)

    async def run(self) -> None:
        self.replays = [Replay(f"v{n % VIEWS}", slow=n % 10 == 9) for n in range(FOLLOWERS)]
        async with AsyncClient(self.server.url, TOKEN) as client:
            tasks = [asyncio.create_task(replay.run(client)) for replay in self.replays]
            began = time.monotonic()
            kills = [SECONDS * (kill + 1) / (KILLS + 1) for kill in range(KILLS)]
            number, step = 0, 0
            while (elapsed := time.monotonic() - began) < SECONDS:
                await fed(client, number)
                number, step = number + 10, step + 1
                if kills and elapsed > kills[0]:
                    kills.pop(0)
                    self.server.kill()
                    self.resident.clear()
                    down_at = time.monotonic()
                    await asyncio.to_thread(self.server.start)
                    began += time.monotonic() - down_at
                if step % 20 == 4:
                    await self._come_and_go(client, step)
                self.resident.append(resident_mb(self.server.process.pid))
                await asyncio.sleep(STEP_S)
            self.rows = number // 10 * 3
            deadline = time.monotonic() + 240
            while time.monotonic() < deadline and (await self.behind(client)):
                await asyncio.sleep(1)
            broken = [task for task in tasks if task.done() and task.exception() is not None]
            assert not broken, broken[0].exception()
            assert not (behind := await self.behind(client)), behind
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _come_and_go(self, client: AsyncClient, step: int) -> None:
        """A view is added, followed and dropped again; its followers are told."""
        name = f"passing_{step}"
        await client.statements(VIEW.format(name, random.Random(step).randrange(7)))
        followers = [Replay(name) for _ in range(3)]
        tasks = [asyncio.create_task(one.run(client)) for one in followers]
        await asyncio.sleep(2 * STEP_S)
        await client.statements(f"DROP VIEW {name}")
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*tasks), 60)
        self.dropped += followers

    async def behind(self, client: AsyncClient) -> dict[str, int]:
        """Views of which some follower holds something else than the server gives; and rows that were sent and are not counted."""
        found: dict[str, int] = {}
        for view in {replay.view for replay in self.replays}:
            held = Counter(json.dumps(row, sort_keys=True) for row in await client.rows(view))
            other = sum(replay.held != held for replay in self.replays if replay.view == view)
            if other:
                found[view] = other
        taken = sum(row["n"] for row in await client.rows("v0"))
        if taken != self.rows:
            found[f"of {self.rows} rows that were sent, v0 counts"] = taken
        return found


@pytest.mark.timeout(max(300, 60 * MINUTES * 3))
def test_every_follower_replays_the_view(tmp_path: Path) -> None:
    server = Server(tmp_path / "soak", APP, "requests_per_s_max=2000")
    commits = Commits(server.folder / "state" / "results.db")
    try:
        commits.start()
        soak = Soak(server)
        asyncio.run(soak.run())
        commits.stop()
    finally:
        server.kill()
    assert soak.dropped, "no view came and went"
    assert all(one.ended for one in soak.dropped)
    assert max(replay.snapshots for replay in soak.replays) <= 1, "a kill cost somebody the place in the log"
    early, late = statistics.median(soak.resident[: max(1, len(soak.resident) // 2)]), soak.resident[-1]
    assert late < 1.25 * early + 30, (early, late)
    waits = sorted(at - commits.at[key] for one in soak.replays for place, at in one.came.items() if (key := (one.view, *place)) in commits.at)
    assert waits
    half, most = 1000 * waits[len(waits) // 2], 1000 * waits[int(len(waits) * 0.99)]
    print(
        f"\n{FOLLOWERS} followers of {VIEWS} views for {SECONDS:.0f} s, {KILLS} kills, {len(soak.dropped) // 3} views came and went: all equal; "
        f"commit to push p50 {half:.0f} ms, p99 {most:.0f} ms over {len(waits):,} pushes; server {early:.0f} MB, at the end {late:.0f} MB"
    )
