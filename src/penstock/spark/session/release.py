"""Lets the JVM drop what Python has finished with."""

from __future__ import annotations

import gc
import time

_PAUSE_S = 20.0
_last = time.monotonic()


def release_frames() -> None:
    """Free the JVM objects of DataFrames and queries that are out of use; at most every 20 seconds, as it takes about 0.1.

    py4j's objects refer to themselves, so each keeps its plan and its broadcast tables in the JVM until Python looks for cycles, which it does
    ever more rarely the longer a process runs.
    """
    global _last
    if time.monotonic() - _last < _PAUSE_S:
        return
    _last = time.monotonic()
    gc.collect()
