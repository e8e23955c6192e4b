"""The options of every source connector: one row each, checked without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from penstock.elsewhere import CONNECTORS, connector_of
from penstock.errors import OptionFault, UserError
from penstock.option import STREAM, TABLE, Option, absent, check_value, nearest, raise_all, tried, unknown
from penstock.source.format_options import FILE_OPTIONS, RECORD_OPTIONS, check_format

_ONLY_STREAM = (STREAM,)
_LINES = ("json", "csv", "text")
_EVERY_STREAM: tuple[Option, ...] = (
    Option("max_ahead", "a row dated further ahead of now than this is a dead letter", default="1 day", kind="interval", on=_ONLY_STREAM),
    Option("late", "what becomes of rows that come after their window closed", default="drop", choices=("drop",), on=_ONLY_STREAM),
)
_ANY_KIND: tuple[Option, ...] = (Option("connector", "where the rows come from", required=True), *_EVERY_STREAM)

SOURCE_OPTIONS: Mapping[str, tuple[Option, ...]] = {
    "kafka": (
        Option("servers", "brokers as host:port, with commas", required=True, connection=True),
        Option("topic", "the topic to read", required=True),
        Option("format", "what a record holds", default="json", choices=_LINES),
        Option("start", "where a new view begins: 'earliest', 'latest' or a time in ISO 8601", default="earliest"),
        Option("user", "name for SASL", connection=True),
        Option("password", "password for SASL", secret=True, connection=True),
        Option("sasl", "SASL mechanism", choices=("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"), connection=True),
        Option("tls_ca", "PEM file of the authority that signed the brokers' certificates; turns TLS on", connection=True),
        *RECORD_OPTIONS,
    ),
    "files": (
        Option("path", "a file, a folder or a glob, relative to the app", required=True),
        Option("format", "what the files hold", default="json", choices=("json", "csv", "parquet", "text")),
        Option("header", "the first line of a csv file names its columns", default="false", kind="flag"),
        Option("files_per_batch", "how many new files one micro-batch takes at most; absent: by size", kind="whole", on=_ONLY_STREAM),
        Option("tail", "follow files that grow, line by line", default="false", kind="flag", on=_ONLY_STREAM),
        *RECORD_OPTIONS,
        *FILE_OPTIONS,
    ),
    "socket": (
        Option("host", "the server to connect to", default="localhost", connection=True),
        Option("port", "its port", required=True, kind="port", connection=True),
        Option("format", "what a line holds", default="json", choices=_LINES),
        *RECORD_OPTIONS,
    ),
    "http": (Option("format", "what a line holds", default="json", choices=_LINES),),
    "generator": (
        Option("seed", "the same seed gives the same rows", default="0", kind="whole"),
        Option("rows_per_second", "rate; absent: as fast as possible", kind="rate"),
        Option("rows", "how many rows in all; absent: no end", kind="whole"),
        Option("keys", "number of different keys", default="100", kind="whole"),
        Option("skew", "exponent of the keys' Zipf law; 0: all alike", default="0", kind="number"),
        Option("disorder", "how far event time may be out of order", default="0 seconds", kind="interval"),
        Option("start", "event time of the first row; absent: now with a rate, else 2024-01-01", kind="time"),
        Option("step", "event time from row to row; absent: by the rate, else 1 millisecond", kind="interval"),
    ),
    "postgres": (
        Option("host", "the server", default="localhost", connection=True),
        Option("port", "its port", default="5432", kind="port", connection=True),
        Option("database", "the database", required=True),
        Option("user", "who connects", connection=True),
        Option("password", "password of `user`", secret=True, connection=True),
        Option(
            "sslmode",
            "as libpq has it",
            default="prefer",
            choices=("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
            connection=True,
        ),
        Option("table", "the table to read, `schema.table` if need be", required=True),
    ),
}
# What the expression of a generator's column may name, and of which family it is.
GENERATED: Mapping[str, str] = {"n": "number", "key": "number", "at": "time", **{f"r{place}": "number" for place in range(1, 7)}}
CONNECTORS_OF: Mapping[str, tuple[str, ...]] = {
    STREAM: ("kafka", "files", "socket", "http", "generator"),
    TABLE: ("files", "postgres", "generator"),
}


def options_of(kind: str, connector: str) -> tuple[Option, ...]:
    """The options of a connector when it stands behind a stream or a table, the common ones last."""
    return tuple(option for option in (*SOURCE_OPTIONS[connector], *_ANY_KIND) if kind in option.on)


def meaning_of(options: Mapping[str, object]) -> dict[str, object]:
    """The options of a stream or table that say what is read, without those that only say how to connect."""
    connection = {option.name for option in SOURCE_OPTIONS.get(str(options.get("connector")), ()) if option.connection}
    return {name: value for name, value in options.items() if name.lower() not in connection}


def option_value(options: Mapping[str, str], connector: str, name: str) -> str | None:
    """What the user gave for an option, or its default."""
    known = next(option for option in (*SOURCE_OPTIONS[connector], *_ANY_KIND) if option.name == name)
    return options.get(name, known.default)


def check_source_options(kind: str, name: str, options: Mapping[str, object], columns: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """OptionFault when the options of stream or table `name` are unknown, missing or malformed; says which, and what would do.

    Gives back the options that are expressions, each with the columns that it may name: whether they are well formed is not asked here.
    The value of an option that is a secret may be a reference: any object with a `name`.
    """
    connector, wrong = _connector(kind, name, options)
    raise_all([*wrong, *_faults(kind, name, connector, options, columns)] if connector else wrong)
    known = {option.name for option in options_of(kind, connector)}
    free = {column.lower() for column in columns} if connector == "generator" else set()
    return {given: tuple(GENERATED) for given in options if given.lower() not in known and given.lower() in free}


def _faults(kind: str, name: str, connector: str, options: Mapping[str, object], columns: Sequence[str]) -> Iterator[UserError]:
    what = f"{kind} `{name}`"
    known = {option.name: option for option in options_of(kind, connector)}
    free = {column.lower() for column in columns} if connector == "generator" else set()
    if "connector" not in options:
        yield OptionFault(f"{what} lacks the option `connector`", hint=f"connector = '{connector}'")
    for given, value in options.items():
        option = known.get(given.lower())
        if option is None and given.lower() in free:
            option = Option(given, "the expression of a column")
        if option is not None:
            yield from tried(partial(check_value, what, option, value))
        else:
            message = f"{what}: the connector {connector} has no option `{given}`"
            yield unknown(message, given, [*known, *(columns if free else ())], "it has", value)
    yield from absent(what, (option for option in known.values() if option.name != "connector"), options)
    yield from tried(partial(_check_together, kind, name, connector, {given.lower(): value for given, value in options.items()}, columns))


def _connector(kind: str, name: str, options: Mapping[str, object]) -> tuple[str, list[UserError]]:
    """The connector, or the one that seems to be meant, by which the other options are judged; "" where none is. And what is wrong with it."""
    offered, listing = CONNECTORS_OF[kind], f"a {kind} can come from"
    given = options.get("connector", connector_of(options))
    if given is None:
        return "", [OptionFault(f"{kind} `{name}` lacks the option `connector`", hint=f"{listing}: {', '.join(offered)}")]
    if given in offered:
        return str(given), []
    fault = unknown(f"{kind} `{name}`: there is no connector `{given}` for a {kind}", str(given), offered, listing)
    ours = CONNECTORS.get(str(given).lower(), str(given).lower())
    if ours in offered:
        fault.hint = f"use connector = '{ours}'"
    elif kind == TABLE and ours in CONNECTORS_OF[STREAM]:
        fault.hint = f"it is read as a stream, CREATE STREAM {name} (...), and written by CREATE SINK {name}; {listing}: {', '.join(offered)}"
    return nearest(ours, CONNECTORS_OF[STREAM] if ours in CONNECTORS_OF[STREAM] else offered), [fault]


def _check_together(kind: str, name: str, connector: str, options: Mapping[str, object], columns: Sequence[str]) -> None:
    """What one option alone does not show."""
    what = f"{kind} `{name}`"
    shape = options.get("format", "json")
    if connector in ("kafka", "files", "socket", "http") and kind == STREAM and not columns:
        raise OptionFault(f"{what} declares no columns", hint="name them with their types, e.g. (id STRING, at TIMESTAMP)")
    if shape == "text" and len(columns) != 1 and (kind == STREAM or columns):
        raise OptionFault(f"{what}: format 'text' gives one column, but {len(columns)} are declared", hint="declare one column, e.g. (line STRING)")
    if connector == "files" and options.get("tail") == "true" and shape == "parquet":
        raise OptionFault(f"{what}: a parquet file cannot be followed", hint="leave `tail` out, or use json, csv or text")
    if connector == "files" and options.get("header") == "true" and shape != "csv":
        raise OptionFault(f"{what}: `header` belongs to format 'csv'", hint="leave it out")
    if connector == "files" and options.get("header") == "true" and options.get("tail") == "true":
        raise OptionFault(f"{what}: a followed file cannot have a header", hint="leave `header` or `tail` out")
    check_format(what, options)
    if connector == "kafka":
        _check_kafka(what, options)
    if connector == "generator" and kind == TABLE and "rows" not in options:
        raise OptionFault(f"{what}: a generated table needs an end", hint="rows = '1000'")


def _check_kafka(what: str, options: Mapping[str, object]) -> None:
    start = str(options.get("start", "earliest"))
    if start not in ("earliest", "latest"):
        check_value(what, Option("start", "'earliest', 'latest' or a time such as 2024-05-01T00:00:00Z", kind="time"), start)
    if ("user" in options) != ("password" in options):
        raise OptionFault(f"{what}: `user` and `password` go together", hint="give both or neither")
