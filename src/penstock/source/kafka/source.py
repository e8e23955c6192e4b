"""A Kafka topic, through Spark's own connector.

Live: from `start` on a new checkpoint, then from where the checkpoint stands. Replayable: as long as the broker keeps the
records. Unit of parallelism: a partition. Position: topic, partition, offset. Of transactions only what was committed is read,
and nothing beyond the first that is still open.
"""

from __future__ import annotations

import json
import socket
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from penstock.errors import OutageError, SourceError
from penstock.option import moment
from penstock.source import Limits, SourceSpec, Span
from penstock.source.kafka.topic import Admin
from penstock.source.options import option_value

_EARLIEST = -2  # Spark's number for "from the first record there is"
_PROBE_SECONDS = 5.0
_LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_RECORDS = ("value AS __value", "to_json(named_struct('topic', topic, 'partition', partition, 'offset', offset)) AS __position")

Offsets = dict[str, dict[str, int]]


class Kafka:
    """The connector `kafka`."""

    def __init__(self, spec: SourceSpec) -> None:
        self._spec = spec
        self._topic = spec.options["topic"]
        self._start = option_value(spec.options, "kafka", "start") or "earliest"

    def live(self, spark: SparkSession, limits: Limits) -> DataFrame:
        self._probe()
        Admin(self._spec).check()
        options = {"subscribe": self._topic, "maxOffsetsPerTrigger": str(limits.rows), "groupIdPrefix": f"penstock-{self._spec.name}"}
        return spark.readStream.format("kafka").options(**self._connection(), **options, **self._beginning()).load().selectExpr(*_RECORDS)

    def history(self, spark: SparkSession, span: Span) -> DataFrame:
        """Without a span: from `start` to now, where 'latest' means the whole topic: nobody knows when it was set."""
        if span.nothing:
            return spark.range(0).selectExpr("CAST(NULL AS BINARY) AS __value", "CAST(NULL AS STRING) AS __position")
        self._probe()
        reader = spark.read.format("kafka").options(**self._connection())
        start = _offsets(span.start) or (None if span.log is None else first_offsets(span.log))
        end = _offsets(span.end)
        known = end or start
        if known is None:
            Admin(self._spec).check()
            return reader.options(subscribe=self._topic, **self._beginning("earliest")).load().selectExpr(*_RECORDS)
        # The partitions are named one by one: one that was added later belongs to no span that ended before.
        partitions = {topic: sorted(int(number) for number in numbers) for topic, numbers in known.items()}
        if start:
            self._still_there(start, end)
        begin = {"startingOffsets": json.dumps(_covering(start, known))} if start else self._beginning("earliest")
        stop = {"endingOffsets": json.dumps(end) if end else "latest"}
        return reader.options(assign=json.dumps(partitions), **begin, **stop).load().selectExpr(*_RECORDS)

    def _still_there(self, start: Offsets, end: Offsets | None) -> None:
        """SourceError with the exact gap where the broker has deleted what is to be read again."""
        held = Admin(self._spec).topic().held
        started, ended = start.get(self._topic, {}), (end or {}).get(self._topic, {})
        ranges = ((int(number), at, held.get(int(number), (at, at))[0], ended.get(number, at + 1)) for number, at in started.items())
        gone = [f"partition {number} [{at}, {min(first, last)})" for number, at, first, last in ranges if at < first and at < last]
        if gone:
            raise SourceError(
                f"stream `{self._spec.name}`: records of topic `{self._topic}` that have to be read again were deleted: {', '.join(gone)}",
                hint="let the broker keep them as long as a view needs them (see `penstock explain`), or start over: --state DIR",
            )

    def close(self) -> None:
        return None

    def _beginning(self, latest: str = "latest") -> dict[str, str]:
        if self._start in ("earliest", "latest"):
            return {"startingOffsets": latest if self._start == "latest" else "earliest"}
        millis = round(moment(self._start).timestamp() * 1000)
        return {"startingTimestamp": str(millis), "startingOffsetsByTimestampStrategy": "latest"}

    def _connection(self) -> dict[str, str]:
        return {f"kafka.{name}": value for name, value in connection(self._spec).items()}

    def _probe(self) -> None:
        """Spark would retry for minutes before it says that nobody answers."""
        servers = [server.strip() for server in self._spec.options["servers"].split(",")]
        trouble = "no server is given"
        for server in servers:
            host, _, port = server.rpartition(":")
            try:
                socket.create_connection((host or server, int(port)), _PROBE_SECONDS).close()
                return
            except (OSError, ValueError) as error:
                trouble = f"{server}: {error}"
        raise OutageError(
            f"stream `{self._spec.name}`: no Kafka broker answers ({trouble})", hint="is it running? `penstock broker start` starts one here"
        )


def connection(spec: SourceSpec) -> dict[str, str]:
    """The client's settings, from the options alone: nothing that a user writes becomes part of a JAAS text unquoted."""
    options = spec.options
    # Java's own default reads aborted transactions too: what an exactly-once app wrote in vain would be rows here.
    settings = {"bootstrap.servers": options["servers"], "isolation.level": "read_committed"}
    authority = options.get("tls_ca")
    if authority:
        settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(spec.folder.absolute() / authority)}
    if "user" in options:
        mechanism = options.get("sasl", "PLAIN")
        user, password = (options[name].replace("\\", "\\\\").replace('"', '\\"') for name in ("user", "password"))
        settings |= {
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f'{_LOGIN_MODULES[mechanism]} required username="{user}" password="{password}";',
        }
    protocol = ("SASL_" if "user" in options else "") + ("SSL" if authority else "PLAINTEXT")
    return settings | {"security.protocol": protocol}


def _offsets(text: str | None) -> Offsets | None:
    return None if text is None else json.loads(text)


def first_offsets(log: Path) -> Offsets | None:
    """Where a live view began: Spark keeps it as the first entry of the source's folder, and begins only Kafka's with a zero byte."""
    first = log / "0"
    noted = first.read_bytes() if first.exists() else b""
    if not noted.startswith(b"\0"):
        return None
    found: Offsets = json.loads(noted.lstrip(b"\0").decode().removeprefix("v1\n"))
    return found


def _covering(start: Offsets, known: Offsets) -> Offsets:
    """Every partition of `known`: one that appeared after `start` is read from its first record."""
    return {topic: {number: start.get(topic, {}).get(number, _EARLIEST) for number in numbers} for topic, numbers in known.items()}
