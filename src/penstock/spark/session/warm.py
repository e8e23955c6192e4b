"""The warm session of a process: the first call starts it, the next ones share it, and it ends with the process.

Only who works in the process of its user keeps one warm: notebooks, scripts, a server. A verb of the command line opens and stops its own.
"""

from __future__ import annotations

import itertools
import threading
import time
from contextlib import suppress
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

from penstock.errors import StateError
from penstock.settings import Settings
from penstock.spark.session.session import jvm_is_gone, open_session, stop_session

_opening = threading.Lock()
_ours = False
_groups: dict[int, str] = {}
"""The group of jobs of the last question that each thread asked."""
_numbers = itertools.count(1)
_LOOK_EVERY_S = 0.1
_LETS_GO_WITHIN_S = 3.0
_TASK = " for task "


def warm_session(settings: Settings, state: Path, *, app_name: str, needs_kafka: bool = True) -> SparkSession:
    """The session of this process, started if there is none or if its JVM has ended. StateError: somebody else's session is in the way."""
    global _ours
    with _opening:
        if jvm_is_gone():
            stop_session()
        if SparkContext._active_spark_context is None:
            session = open_session(settings, state, app_name=app_name, needs_kafka=needs_kafka)
            _ours = True
            return session
        found = SparkSession._instantiatedSession
        if found is None or "penstock.driver" not in str(found.sparkContext.getConf().get("spark.driver.extraJavaOptions")):
            raise StateError("this process has a Spark session of another program", hint="stop it first: spark.stop(); Penstock starts its own")
        return found


def is_warm() -> bool:
    """Whether a session is there, so that a call need not wait for one."""
    return SparkContext._active_spark_context is not None and not jvm_is_gone()


def end_warm_session() -> None:
    """Stop the session that was started here, and its JVM; nothing to do where there is none, or where somebody else opened it."""
    global _ours
    with _opening:
        if _ours:
            _ours = False
            stop_session()


def in_job_group(spark: SparkSession) -> None:
    """Let the jobs that this thread starts for one question be cancelled together, by `cancel_question`."""
    group = _groups[threading.get_ident()] = f"penstock question {next(_numbers)}"
    spark.sparkContext.setJobGroup(group, "a question to Penstock", interruptOnCancel=True)


def cancel_question(thread: int, ended: threading.Event) -> None:
    """End the Spark jobs of the question that a thread asks, and no others, until it has `ended`; the session stays.

    Jobs that the question starts later are refused by Spark. It is looked at again and again all the same: while Spark starts there is
    nothing to cancel yet, and what asks several times has a group of jobs for each.
    """
    done: set[str] = set()
    while not ended.is_set():
        group = _groups.get(thread)
        if ended.is_set():  # the thread may ask the next question by now
            return
        context = SparkContext._active_spark_context
        if group is not None and group not in done and context is not None:
            with suppress(Exception):  # a JVM that is gone has no jobs any more
                context._jsc.sc().cancelJobGroupAndFutureJobs(group)
                done.add(group)
        ended.wait(_LOOK_EVERY_S)


def end_stuck() -> bool:
    """End the JVM of this process where tasks go on though no job is left; whether it was so.

    A task that is asked to stop looks at that when it reads its next record. One that makes rows by itself, as a cross join does, may not read for
    hours, and holds its core meanwhile. The next question starts a new JVM.
    """
    deadline = time.monotonic() + _LETS_GO_WITHIN_S
    while (context := SparkContext._active_spark_context) is not None and _ours:
        with suppress(Exception):  # a JVM that is gone has no tasks any more
            names = [str(thread.getName()) for thread in context._jvm.java.lang.Thread.getAllStackTraces().keySet()]  # type: ignore[union-attr]
            if context.statusTracker().getActiveJobsIds() or not any(_TASK in name for name in names):
                return False
            if time.monotonic() > deadline:
                context._gateway.proc.kill()  # type: ignore[union-attr]
                context._gateway.proc.wait()  # type: ignore[union-attr]
                end_warm_session()
                return True
            time.sleep(_LOOK_EVERY_S)
            continue
        return False
    return False
