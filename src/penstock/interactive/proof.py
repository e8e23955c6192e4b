"""`verify` in the process: over the warm session, and its verdicts by the names that programs know them by."""

from __future__ import annotations

from penstock.engine import Engine
from penstock.spark.session.warm import in_job_group, warm_session
from penstock.verify.report import Verdict
from penstock.verify.run import verify


def verdicts(engine: Engine, view: str | None) -> list[Verdict]:
    """A verdict for every view, or for one, in the store and in each of its sinks."""
    kafka = any(str(stream.options.get("connector")) == "kafka" for stream in engine.declared.streams.values())
    session = warm_session(engine.settings, engine.state, app_name=f"penstock verify {engine.declared.name}", needs_kafka=kafka)
    in_job_group(session)
    return list(verify(engine, view, session=session))
