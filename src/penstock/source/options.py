"""What every source connector can be told: one row per option, checked without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.errors import OptionFault
from penstock.option import STREAM, TABLE, Option, check_present, check_value, unknown

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
    ),
    "files": (
        Option("path", "a file, a folder or a glob, relative to the app", required=True),
        Option("format", "what the files hold", default="json", choices=("json", "csv", "parquet", "text")),
        Option("header", "the first line of a csv file names its columns", default="false", kind="flag"),
        Option("tail", "follow files that grow, line by line", default="false", kind="flag", on=_ONLY_STREAM),
    ),
    "socket": (
        Option("host", "the server to connect to", default="localhost", connection=True),
        Option("port", "its port", required=True, kind="port", connection=True),
        Option("format", "what a line holds", default="json", choices=_LINES),
    ),
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
    STREAM: ("kafka", "files", "socket", "generator"),
    TABLE: ("files", "postgres", "generator"),
}


def options_of(kind: str, connector: str) -> tuple[Option, ...]:
    """The options of a connector when it stands behind a stream or a table, the common ones last."""
    return tuple(option for option in (*SOURCE_OPTIONS[connector], *_ANY_KIND) if kind in option.on)


def meaning_of(options: Mapping[str, object]) -> dict[str, object]:
    """The options of a stream or table that say what is read, without those that only say how it is reached."""
    reached = {option.name for option in SOURCE_OPTIONS.get(str(options.get("connector")), ()) if option.connection}
    return {name: value for name, value in options.items() if name.lower() not in reached}


def option_value(options: Mapping[str, str], connector: str, name: str) -> str | None:
    """What the user gave for an option, or its default."""
    known = next(option for option in (*SOURCE_OPTIONS[connector], *_ANY_KIND) if option.name == name)
    return options.get(name, known.default)


def check_source_options(kind: str, name: str, options: Mapping[str, object], columns: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """OptionFault when the options of stream or table `name` are unknown, missing or malformed; says which, and what would do.

    Gives back the options that are expressions, each with the columns that it may name: whether they are well formed is not asked here.
    The value of an option that is a secret may be a reference: any object with a `name`.
    """
    connector = _connector(kind, name, options)
    known = {option.name: option for option in options_of(kind, connector)}
    free = {column.lower() for column in columns} if connector == "generator" else set()
    for given, value in options.items():
        option = known.get(given.lower())
        if option is not None:
            check_value(f"{kind} `{name}`", option, value)
        elif given.lower() not in free:
            message = f"{kind} `{name}`: the connector {connector} has no option `{given}`"
            raise unknown(message, given, [*known, *(columns if free else ())], "it has")
        else:
            check_value(f"{kind} `{name}`", Option(given, "the expression of a column"), value)
    check_present(f"{kind} `{name}`", known.values(), options)
    _check_together(kind, name, connector, {given.lower(): value for given, value in options.items()}, columns)
    return {given: tuple(GENERATED) for given in options if given.lower() not in known}


def _connector(kind: str, name: str, options: Mapping[str, object]) -> str:
    offered, listing = CONNECTORS_OF[kind], f"a {kind} can come from"
    given = options.get("connector")
    if given is None:
        raise OptionFault(f"{kind} `{name}` lacks the option `connector`", hint=f"{listing}: {', '.join(offered)}")
    if given not in offered:
        raise unknown(f"{kind} `{name}`: there is no connector `{given}` for a {kind}", str(given), offered, listing)
    return str(given)


def _check_together(kind: str, name: str, connector: str, options: Mapping[str, object], columns: Sequence[str]) -> None:
    """What one option alone does not show."""
    what = f"{kind} `{name}`"
    shape = options.get("format", "json")
    if connector in ("kafka", "files", "socket") and kind == STREAM and not columns:
        raise OptionFault(f"{what} declares no columns", hint="name them with their types, e.g. (id STRING, at TIMESTAMP)")
    if shape == "text" and len(columns) != 1 and (kind == STREAM or columns):
        raise OptionFault(f"{what}: format 'text' gives one column, but {len(columns)} are declared", hint="declare one column, e.g. (line STRING)")
    if connector == "files" and options.get("tail") == "true" and shape == "parquet":
        raise OptionFault(f"{what}: a parquet file cannot be followed", hint="leave `tail` out, or use json, csv or text")
    if connector == "files" and options.get("header") == "true" and shape != "csv":
        raise OptionFault(f"{what}: `header` belongs to format 'csv'", hint="leave it out")
    if connector == "files" and options.get("header") == "true" and options.get("tail") == "true":
        raise OptionFault(f"{what}: a followed file cannot have a header", hint="leave `header` or `tail` out")
    if connector == "kafka":
        start = str(options.get("start", "earliest"))
        if start not in ("earliest", "latest"):
            check_value(what, Option("start", "'earliest', 'latest' or a time such as 2024-05-01T00:00:00Z", kind="time"), start)
        if ("user" in options) != ("password" in options):
            raise OptionFault(f"{what}: `user` and `password` go together", hint="give both or neither")
    if connector == "generator" and kind == TABLE and "rows" not in options:
        raise OptionFault(f"{what}: a generated table needs an end", hint="rows = '1000'")
