"""Penstock: real-time analytics for Python teams on Apache Spark.

    import penstock as ps

    app = ps.App("fraud")
    payments = app.stream("payments", ps.Kafka("localhost:9092", topic="payments"), "card STRING, amount DOUBLE, at TIMESTAMP",
                          event_time="at", lateness="10 seconds")
    app.view("spend", payments.window("1 hour").group_by("card").agg(total="sum(amount)"), emit="on close")

Reading order of the package, from the words to the machine:

    errors, settings, schema     the values that everything speaks of
    change, eventtime            one change of a result; windows and lateness as arithmetic
    source, decode               where rows enter, and how bytes become typed columns
    plan                         SQL or Python as one logical plan, and its checks
    share                        what of a plan is kept, and how it runs
    spark                        the only place where a job runs
    sink, subscribe              where results leave, and who watches them
    engine, wiring               the verbs, and the one module that joins them with Spark
    cli, web                     the verbs for people
    testing, bench, models       the kit that is shipped beside it

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
    from penstock.plan.app import App
    from penstock.plan.connectors import Callback, Connector, Console, Files, Generator, Kafka, Postgres, Socket, secret
    from penstock.plan.fluent import Query

__version__ = "0.1.0"

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
    "Kafka",
    "NameFault",
    "OptionFault",
    "PenstockError",
    "PlanFault",
    "Postgres",
    "PromiseFault",
    "Query",
    "SinkError",
    "Socket",
    "SourceError",
    "StateError",
    "SyntaxFault",
    "ToolError",
    "TypeFault",
    "UserError",
    "__version__",
    "secret",
]

_HOMES = {
    "App": "penstock.plan.app",
    "Query": "penstock.plan.fluent",
    **dict.fromkeys(("Callback", "Connector", "Console", "Files", "Generator", "Kafka", "Postgres", "Socket", "secret"), "penstock.plan.connectors"),
}


def __getattr__(name: str) -> object:
    """Public names are brought in when they are first used: a Spark worker that imports one module reads no more."""
    if name not in __all__:
        raise AttributeError(f"module `penstock` has no `{name}`")
    return getattr(import_module(_HOMES.get(name, "penstock.errors")), name)


def __dir__() -> list[str]:
    return sorted(__all__)
