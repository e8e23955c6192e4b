"""Penstock: real-time analytics for Python teams on Apache Spark.

    import penstock as ps

    app = ps.App("fraud")
    payments = app.stream("payments", ps.Kafka("localhost:9092", topic="payments"), "card STRING, amount DOUBLE, at TIMESTAMP",
                          event_time="at", lateness="10 seconds")
    app.view("spend", payments.window("1 hour").group_by("card").agg(total="sum(amount)"), emit="on close")
    app.batch("spend").show()

Reading order of the package, from the words to the machine:

    errors, settings, schema     the values that everything speaks of
    change, eventtime            one change of a result; windows and lateness as arithmetic
    source, decode               where rows enter, and how bytes become typed columns
    plan                         SQL or Python as one logical plan, its checks, and where it is cut
    share                        many views, few jobs
    spark                        the only place where a job runs
    store, sink, subscribe       what views hold, where it is delivered, and who watches
    observe                      progress, status, health, metrics
    engine, wiring               the verbs, and the one module that joins them with Spark
    cli, web                     the verbs for people
    verify, chaos                the proofs
    interactive                  the verbs in the process of their user: scripts, tests, notebooks
    testing, dev, bench, models  what is shipped beside it

Nothing here imports Spark, and `import penstock` itself imports nothing: each public name is brought in when it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.errors import (
        AppFault,
        EngineError,
        FencedError,
        ForbiddenFault,
        NameFault,
        OptionFault,
        PenstockError,
        PlanFault,
        PromiseFault,
        SinkError,
        SourceError,
        StateError,
        SyntaxFault,
        ToolError,
        TypeFault,
        UserError,
    )
    from penstock.interactive.app import App, open
    from penstock.interactive.live import Live
    from penstock.interactive.memory import Memory
    from penstock.interactive.result import Result
    from penstock.plan.python.connectors import Callback, Connector, Console, Files, Generator, Http, Kafka, Postgres, Socket, Sqlite, secret
    from penstock.plan.python.functions import function
    from penstock.plan.python.process import ProcessFunction
    from penstock.plan.python.query import Query
    from penstock.plan.python.sequence import seq

__version__ = "0.2.0"

__all__ = [
    "App",
    "AppFault",
    "Callback",
    "Connector",
    "Console",
    "EngineError",
    "FencedError",
    "Files",
    "ForbiddenFault",
    "Generator",
    "Http",
    "Kafka",
    "Live",
    "Memory",
    "NameFault",
    "OptionFault",
    "PenstockError",
    "PlanFault",
    "Postgres",
    "ProcessFunction",
    "PromiseFault",
    "Query",
    "Result",
    "SinkError",
    "Socket",
    "SourceError",
    "Sqlite",
    "StateError",
    "SyntaxFault",
    "ToolError",
    "TypeFault",
    "UserError",
    "__version__",
    "function",
    "open",
    "secret",
    "seq",
]

_HOMES = {
    **dict.fromkeys(("App", "open"), "penstock.interactive.app"),
    "Live": "penstock.interactive.live",
    "Memory": "penstock.interactive.memory",
    "Result": "penstock.interactive.result",
    "Query": "penstock.plan.python.query",
    "ProcessFunction": "penstock.plan.python.process",
    "function": "penstock.plan.python.functions",
    "seq": "penstock.plan.python.sequence",
    **dict.fromkeys(
        ("Callback", "Connector", "Console", "Files", "Generator", "Http", "Kafka", "Postgres", "Socket", "Sqlite", "secret"),
        "penstock.plan.python.connectors",
    ),
}


def __getattr__(name: str) -> object:
    """Public names are brought in when they are first used: a Spark worker that imports one module reads no more."""
    if name not in __all__:
        raise AttributeError(f"module `penstock` has no `{name}`")
    return getattr(import_module(_HOMES.get(name, "penstock.errors")), name)


def __dir__() -> list[str]:
    return sorted(__all__)
