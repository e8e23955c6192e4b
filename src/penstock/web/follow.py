"""Who follows which view: one look per view and moment for all, and a bell that wakes those who wait."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from penstock.subscribe.shared import SharedReads
from penstock.web.answers import Refused
from penstock.web.events import Writer
from penstock.web.host import Host

log = logging.getLogger("penstock.web")
_LOOK_EVERY_S = 0.05
_READERS, _JUDGES, _AHEAD = 8, 4, 2


class Feed:
    """Looks for news of the views that somebody follows; its own thread, started with the event loop."""

    def __init__(self, host: Host, followers_max: int) -> None:
        self.host = host
        self.reads = SharedReads(host.store)
        self.readers = ThreadPoolExecutor(_READERS, "penstock follow")
        self.judges = ThreadPoolExecutor(_JUDGES, "penstock judge")  # for conditions that Spark judges: who has a plain one never waits for them
        self._ahead = ThreadPoolExecutor(_AHEAD, "penstock read ahead")
        self.writer = Writer()
        self._followers_max = followers_max
        self._following: Counter[str] = Counter()
        self._bells: dict[str, asyncio.Event] = {}
        self._stop = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.is_over = False

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        threading.Thread(target=self._run, name="penstock feed", daemon=True).start()

    def stop(self) -> None:
        """Ends every subscription."""
        self.is_over = True
        self._stop.set()
        for view in list(self._bells):
            self._ring(view)

    @property
    def followers(self) -> int:
        return self._following.total()

    def check_room(self) -> None:
        """429 where too many follow views already."""
        if self.followers >= self._followers_max:
            raise Refused(429, "subscribers", f"{self.followers} follow views already", "setting subscribers_max", {"Retry-After": "5"})

    @contextmanager
    def following(self, view: str) -> Iterator[None]:
        """Counted as one who follows the view."""
        self._following[view] += 1
        try:
            yield
        finally:
            self._following[view] -= 1
            if not self._following[view]:
                del self._following[view]
                self._bells.pop(view, None)
                self.reads.forget(view)

    def bell(self, view: str) -> asyncio.Event:
        """Set at the next news; to be taken before one looks."""
        return self._bells.setdefault(view, asyncio.Event())

    def ring(self, *views: str) -> None:
        """Wake who follows these views, or all; from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            for view in views or list(self._following):
                self._loop.call_soon_threadsafe(self._ring, view)

    def _ring(self, view: str) -> None:
        bell = self._bells.pop(view, None)
        if bell is not None:
            bell.set()

    def _run(self) -> None:
        while not self._stop.wait(_LOOK_EVERY_S):
            for view in list(self._following):
                before = self.reads.reported(view)
                try:
                    if self.reads.look(view):
                        self._ahead.submit(self._read_ahead, view, before)
                except Exception as error:  # a store that is out of reach for a while
                    log.warning("cannot look at view `%s`: %s", view, error)
                    self._stop.wait(1.0)

    def _read_ahead(self, view: str, before: tuple[str, int] | None) -> None:
        """Once for all who wait: they find the news at hand, and need no thread to read them."""
        try:
            self.reads.read_ahead(view, before)
        except Exception as error:
            log.warning("cannot read the changes of view `%s`: %s", view, error)
        finally:
            self.ring(view)
