"""What is asked of a live run: when it ends, and who hears of its progress."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from penstock.observe.progress import Progress


@dataclass(frozen=True)
class RunRequest:
    """One live run; it ends when it has caught up with its sources (`drain`) or when `stop` is set.

    `report` is given the progress of all jobs, again and again. `take_over` replaces a driver that holds the state folder and cannot
    be stopped; that one is fenced. `accept_gaps` names views that go on without records which were deleted before they read them. With
    `stay` it goes on when no view is left to run: others may come.
    """

    drain: bool = False
    stop: threading.Event = field(default_factory=threading.Event)
    report: Callable[[list[Progress]], None] = lambda progress: None
    take_over: bool = False
    accept_gaps: Collection[str] = ()
    stay: bool = False
