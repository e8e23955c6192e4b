"""What other systems call the options and connectors that Penstock has: Flink, ksqlDB, RisingWave, Spark.

The value of an option begins with Penstock's own name for it, or with `-` where there is none; then comes why, if it needs saying.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping

_TIME = (
    '- the event time is declared in the column list: WATERMARK FOR at AS at - INTERVAL 10 SECONDS; in Python: event_time="at", lateness="10 seconds"'
)
_OFFSETS = "- leave it out: Penstock keeps the offsets of each view itself, in the state folder"
_BAD_ROWS = "- leave it out: a record that does not decode is a dead letter, in NAME__dead, and never stops a view"
_NOT_OURS = "- leave it out: a topic is made with the broker's own tools"
OPTIONS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "properties.bootstrap.servers", "properties.bootstrap.server", "bootstrap.servers", "kafka.bootstrap.servers", "bootstrap_servers",
            "brokers", "kafka_brokers",
        ),
        "servers",
    ),
    **dict.fromkeys(("kafka_topic", "subscribe", "topics", "topic-pattern"), "topic"),
    **dict.fromkeys(
        (
            "scan.startup.mode", "auto.offset.reset", "properties.auto.offset.reset", "startingoffsets", "scan.startup.timestamp.millis",
            "scan.startup.timestamp-millis",
        ),
        "start",
    ),
    **dict.fromkeys(("value.format", "value_format", "data_format", "data_encode"), "format"),
    **dict.fromkeys(("key.format", "key_format"), "- leave it out: the key of a record is not read; of a sink it is the view's key, as JSON"),
    **dict.fromkeys(("key.fields", "key_fields", "primary_key"), "key for a sink; the key of a view is what it groups by"),
    **dict.fromkeys(("group.id", "properties.group.id", "group_id", "checkpointlocation"), _OFFSETS),
    **dict.fromkeys(("partitions", "replicas", "retention_ms"), _NOT_OURS),
    **dict.fromkeys(("json.ignore-parse-errors", "json.fail-on-missing-field", "csv.ignore-parse-errors", "mode"), _BAD_ROWS),
    **dict.fromkeys(("lateness", "event_time", "watermark", "timestamp", "rowtime"), _TIME),
    **dict.fromkeys(("rows-per-second", "rowspersecond"), "rows_per_second"),
    "number-of-rows": "rows",
    "table-name": "table",
    "username": "user",
    "sink.delivery-guarantee": "delivery",
    "maxfilespertrigger": "- the settings batch_rows_max and batch_mb_max bound an epoch",
    **dict.fromkeys(("url", "jdbc.url"), "- write its parts: host = '...', port = '5432', database = '...'"),
    **dict.fromkeys(("csv.field-delimiter", "csv.delimiter", "sep", "field_delimiter"), "delimiter"),
    **dict.fromkeys(("csv.quote-character", "quotechar"), "quote"),
    **dict.fromkeys(("csv.null-literal", "nullvalue", "na_values"), "null_value"),
    **dict.fromkeys(
        ("type", "force_append_only", "snapshot", "connector.class"), "- leave it out: a view with a key upserts, one without appends"
    ),
    "hostname": "host",
}  # fmt: skip
CONNECTORS: Mapping[str, str] = {
    **dict.fromkeys(("filesystem", "file", "s3", "posix_fs"), "files"),
    **dict.fromkeys(("datagen", "faker", "rate", "nexmark"), "generator"),
    **dict.fromkeys(("jdbc", "postgres-cdc", "postgresql"), "postgres"),
    **dict.fromkeys(("upsert-kafka", "confluent"), "kafka"),
    **dict.fromkeys(("print", "stdout"), "console"),
}
_VALUES = {"earliest-offset": "earliest", "latest-offset": "latest", "group-offsets": "earliest"}


def option_hint(given: str, value: object = None) -> str | None:
    """What to write instead of an option of another system, with the user's own value; None where none is called like it."""
    name = given if given in OPTIONS else next(iter(difflib.get_close_matches(given, OPTIONS, n=1, cutoff=0.85)), None)
    if name is None:
        return "leave it out: Penstock sets what its consumers and producers need" if given.startswith("properties.") else None
    ours, _, why = OPTIONS[name].partition(" ")
    suggestion = "" if name == given else f"did you mean `{name}`? "
    if ours == "-":
        return suggestion + why
    shown = f": {ours} = '{_VALUES.get(value, value.lower() if ours == 'format' else value)}'" if isinstance(value, str) and not why else ""
    return f"{suggestion}use `{ours}`{f' {why}' if why else ''}{shown}"


def connector_of(options: Mapping[str, object]) -> str | None:
    """The connector that options without one seem to mean: ksqlDB, which names a topic alone, has Kafka."""
    return "kafka" if any(OPTIONS.get(name.lower()) in ("topic", "servers") or name.lower() == "topic" for name in options) else None
