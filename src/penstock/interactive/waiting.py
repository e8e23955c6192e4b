"""Work that may take long: done on another thread, so that its user sees that it goes on, and Ctrl-C ends the work and not the notebook.

A Ctrl-C in the middle of a call to the JVM would leave that connection in disorder; so the thread that takes it never makes such a call.
Nor does it wait by `Thread.join`, which takes a thread for ended when a Ctrl-C comes in between.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from penstock.interactive.process import is_running

T = TypeVar("T")
_TICK_S = 0.1
_SAY_AFTER_S = 3.0
_SAY_EVERY_S = 30.0


def waited_for(work: Callable[[], T], what: str) -> T:
    """What `work` gives, or raises; a Ctrl-C cancels its Spark jobs, waits until it has ended, and is raised."""
    done: list[T] = []
    raised: list[BaseException] = []
    ended = threading.Event()

    def attempt() -> None:
        try:
            done.append(work())
        except BaseException as error:  # it is raised again on the thread that waits
            raised.append(error)
        finally:
            ended.set()

    worker = threading.Thread(target=attempt, name=f"penstock {what}", daemon=True)
    worker.start()
    try:
        with _progress(what) as show:
            while not ended.wait(_TICK_S):
                show()
    except KeyboardInterrupt:
        free = threading.Event()
        threading.Thread(target=_cancel, args=(worker.ident or 0, ended, free), name="penstock cancel", daemon=True).start()
        ended.wait()
        free.wait()
        raise
    if raised:
        raise raised[0]
    return done[0]


def _cancel(thread: int, ended: threading.Event, free: threading.Event) -> None:
    """End the work, and see to it that the next question finds free cores; a run in the background is not disturbed for that."""
    from penstock.spark.session.warm import cancel_question, end_stuck

    try:
        cancel_question(thread, ended)
        if not is_running() and end_stuck():
            sys.stderr.write("penstock: Spark could not let go of its rows, so its process was ended; the next question starts a new one\n")
    finally:
        free.set()


@contextmanager
def _progress(what: str) -> Iterator[Callable[[], None]]:
    """A spinner on a terminal; elsewhere a line on stderr, for what takes longer than a moment."""
    began = time.monotonic()
    if sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status(what) as status:
            yield lambda: status.update(f"{what}: {_phase()}{time.monotonic() - began:.0f} s")
        return
    next_line = _SAY_AFTER_S

    def show() -> None:
        nonlocal next_line
        taken = time.monotonic() - began
        if taken >= next_line:
            next_line += _SAY_EVERY_S
            sys.stderr.write(f"penstock: {what}: {_phase()}{taken:.0f} s\n")
            sys.stderr.flush()

    yield show


def _phase() -> str:
    session = sys.modules.get("penstock.spark.session.warm")
    return "" if session is None or session.is_warm() else "starting Spark, once for this process, "
