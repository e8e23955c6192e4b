"""Waiting until running jobs have taken all that their sources hold: Spark itself says when a trigger has found nothing new."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from penstock.spark.run.supervisor import Guard

_LOOK_EVERY_S = 0.05
_AT_REST = ("done", "stopped", "failed")


def wait_until_caught_up(guards: Sequence[Guard], timeout_s: float, running: Callable[[], bool]) -> bool:
    """Whether every job caught up, or came to its end, in time. Raises what a job was given up for."""
    deadline = time.monotonic() + timeout_s
    threads = [threading.Thread(target=_wait, args=(guard, deadline, running), name=f"catching up {guard.job.name}", daemon=True) for guard in guards]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive() and time.monotonic() < deadline and running():
            thread.join(_LOOK_EVERY_S)
    failed = next((guard.error for guard in guards if guard.error is not None), None)
    if failed is not None:
        raise failed
    return not any(thread.is_alive() for thread in threads)


def _wait(guard: Guard, deadline: float, running: Callable[[], bool]) -> None:
    """One job; a query that fails meanwhile is restarted by its guard, and waited for again."""
    while time.monotonic() < deadline and running() and guard.progress.status not in _AT_REST:
        query = guard.query
        if query is not None:
            try:
                query.processAllAvailable()
            except (PySparkException, Py4JError, ConnectionError):
                query = None
            if query is not None and query is guard.query:
                return
        time.sleep(_LOOK_EVERY_S)
