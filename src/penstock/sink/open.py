"""Opens sinks by their connector; each connector is imported only when an app uses it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from penstock.errors import EngineError
from penstock.schema import columns
from penstock.sink.options import EXACTLY_ONCE, check_sink_options, delivery_of
from penstock.sink.spec import SinkSpec, SinkWriter

__all__ = ["SinkSpec", "SinkWriter", "open_sink"]


def open_sink(
    name: str,
    view: str,
    options: Mapping[str, str],
    ddl: str,
    key: tuple[str, ...] | None,
    *,
    append_only: bool,
    complete: bool,
    folder: Path,
    app: str = "app",
) -> SinkWriter:
    """The sink `name` of `view`; `options` are plain values, with secrets already read. Relative paths are below `folder`.

    `app` is a name that stays: where a sink's ledger is shared with others, it separates theirs from ours.
    """
    check_sink_options(name, options)
    plain = {option.lower(): value for option, value in options.items()}
    spec = SinkSpec(name, view, plain, columns(ddl), key, append_only, complete, folder, app)
    match plain["connector"]:
        case "postgres":
            from penstock.sink.postgres.sink import PostgresSink

            return PostgresSink(spec)
        case "sqlite":
            from penstock.sink.sqlite.sink import SqliteSink

            return SqliteSink(spec)
        case "files":
            from penstock.sink.files.sink import FilesSink

            return FilesSink(spec)
        case "kafka" if delivery_of(plain) == EXACTLY_ONCE:
            from penstock.sink.kafka.exact import TransactionalKafkaSink

            return TransactionalKafkaSink(spec)
        case "kafka":
            from penstock.sink.kafka.sink import KafkaSink

            return KafkaSink(spec)
        case "callback":
            from penstock.sink.callback import CallbackSink

            return CallbackSink(spec)
        case "console":
            from penstock.sink.console import ConsoleSink

            return ConsoleSink(spec)
        case other:
            raise EngineError(f"sink `{name}`: nothing opens the connector {other}")
