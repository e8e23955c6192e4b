"""The options and promises of every sink connector: one row per option, checked without Spark or a connection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from penstock.elsewhere import CONNECTORS
from penstock.errors import OptionFault, PromiseFault, UserError
from penstock.option import Option, absent, check_value, nearest, raise_all, tried, unknown

AT_LEAST_ONCE = "at-least-once"
EXACTLY_ONCE = "exactly-once"
AT_MOST_ONCE = "at-most-once"


@dataclass(frozen=True)
class Connector:
    """A kind of sink: its options and the deliveries it can promise, the default first."""

    options: tuple[Option, ...]
    promises: tuple[str, ...]
    why_not: str


_ALL = (EXACTLY_ONCE, AT_LEAST_ONCE, AT_MOST_ONCE)
_NO_LEDGER = "it has nowhere to write down which epochs it has"
SINKS: Mapping[str, Connector] = {
    "postgres": Connector(
        (
            Option("host", "the server", default="localhost"),
            Option("port", "its port", default="5432", kind="port"),
            Option("database", "the database", required=True),
            Option("user", "who connects", default="postgres"),
            Option("password", "password of `user`", secret=True),
            Option("sslmode", "as libpq has it", default="prefer", choices=("disable", "allow", "prefer", "require", "verify-ca", "verify-full")),
            Option("table", "the table to write, `schema.table` if need be; made if it is absent", required=True),
        ),
        _ALL,
        "",
    ),
    "sqlite": Connector(
        (
            Option("path", "the file on this machine, relative to the app; made if it is absent", required=True, kind="file"),
            Option("table", "the table to write; made if it is absent", required=True),
        ),
        _ALL,
        "",
    ),
    "files": Connector(
        (
            Option("path", "the folder to write to on this machine, relative to the app; one folder per epoch in it", required=True, kind="folder"),
            Option("format", "what the files hold", default="json", choices=("json", "csv", "parquet")),
            Option("partition_by", "columns with commas whose values become folders, `country=PT/`, in the folder of each epoch; absent: none"),
            Option("file_mb_max", "megabytes that a file may have; the rows of an epoch are split over several", default="128", kind="rate"),
        ),
        _ALL,
        "",
    ),
    "kafka": Connector(
        (
            Option("servers", "brokers as host:port, with commas", required=True),
            Option("topic", "the topic to write", required=True),
            Option("format", "what a record holds", default="json", choices=("json",)),
            Option("key", "the column whose value becomes the record's key; absent: the view's key"),
            Option("user", "name for SASL"),
            Option("password", "password for SASL", secret=True),
            Option("sasl", "SASL mechanism", default="PLAIN", choices=("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")),
            Option("tls_ca", "PEM file of the authority that signed the brokers' certificates; turns TLS on"),
            Option(
                "on_rebuild",
                "exactly-once, a view without a key that is rebuilt while its topic holds its old rows: refuse, or append them all once more",
                default="refuse",
                choices=("refuse", "append"),
            ),
        ),
        # Not exactly-once by default: only readers of committed records have it, and it needs the right to use transactions.
        (AT_LEAST_ONCE, EXACTLY_ONCE, AT_MOST_ONCE),
        "",
    ),
    "console": Connector((), (AT_LEAST_ONCE, AT_MOST_ONCE), _NO_LEDGER),
    "callback": Connector(
        (Option("callback", "`module:function` in the app's own Python files", required=True),),
        (AT_LEAST_ONCE, AT_MOST_ONCE),
        _NO_LEDGER,
    ),
}
_COMMON = (
    Option("connector", "where the changes go", required=True),
    Option("delivery", "what is promised", choices=(EXACTLY_ONCE, AT_LEAST_ONCE, AT_MOST_ONCE)),
)


def sink_options(connector: str) -> tuple[Option, ...]:
    """The options of a sink connector, the common ones last."""
    return (*SINKS[connector].options, *_COMMON)


def delivery_of(options: Mapping[str, object]) -> str:
    """The delivery that was asked for, or the connector's default."""
    return str(options.get("delivery") or SINKS[str(options["connector"])].promises[0])


def check_sink_options(name: str, options: Mapping[str, object]) -> None:
    """OptionFault or PromiseFault when sink `name` is given what its connector does not know or cannot promise.

    A secret's value may be a reference: any object with a `name`.
    """
    given = {option.lower(): value for option, value in options.items()}
    connector, wrong = _connector(name, given)
    raise_all([*wrong, *_faults(name, connector, {**given, "connector": connector})] if connector else wrong)


def _faults(name: str, connector: str, given: Mapping[str, object]) -> Iterator[UserError]:
    what = f"sink `{name}`"
    known = {option.name: option for option in sink_options(connector)}
    for option, value in given.items():
        if option in known:
            yield from tried(partial(check_value, what, known[option], value))
        else:
            yield unknown(f"{what}: the connector {connector} has no option `{option}`", option, tuple(known), "it has", value)
    missing = list(absent(what, known.values(), given))
    yield from missing
    if connector == "kafka" and ("user" in given) != ("password" in given):
        yield OptionFault(f"{what}: `user` and `password` go together", hint="give both or neither")
    if connector == "callback" and not missing and str(given["callback"]).count(":") != 1:
        yield OptionFault(f"{what}: `callback` wants module:function, not '{given['callback']}'", hint="e.g. callback = 'alerts:send'")
    if given.get("delivery") in (None, *_ALL):
        yield from tried(partial(_check_promise, name, connector, delivery_of(given)))


def _connector(name: str, options: Mapping[str, object]) -> tuple[str, list[UserError]]:
    """The connector, or the one that seems to be meant, by which the other options are judged; "" where none is. And what is wrong with it."""
    given = options.get("connector")
    if given is None:
        return "", [OptionFault(f"sink `{name}` lacks the option `connector`", hint=f"a sink can be: {', '.join(SINKS)}")]
    if given in SINKS:
        return str(given), []
    ours = CONNECTORS.get(str(given).lower(), str(given).lower())
    fault = unknown(f"sink `{name}`: there is no connector `{given}` for a sink", str(given), tuple(SINKS), "a sink can be")
    fault.hint = f"use connector = '{ours}'" if ours in SINKS else fault.hint
    return nearest(ours, SINKS), [fault]


def _check_promise(name: str, connector: str, delivery: str) -> None:
    can = SINKS[connector]
    if delivery in can.promises:
        return
    listed = " or ".join(f"'{promise}'" for promise in can.promises)
    able = [other for other, known in SINKS.items() if delivery in known.promises]
    hint = f"ask for {listed}, or deliver to {', '.join(able[:-1])} or {able[-1]}, which promise {delivery}"
    raise PromiseFault(f"sink `{name}`: the connector {connector} cannot promise {delivery}: {can.why_not}", hint=hint)
