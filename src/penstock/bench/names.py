"""The benchmarks there are, and what each is about."""

from __future__ import annotations

BENCHES: dict[str, str] = {
    "ysb": "the ad-campaign benchmark: filter, join, count per campaign and window",
    "latency": "one small micro-batch after another: stateless and windowed",
    "delivery": "what each guarantee costs, to Kafka and to Postgres, beside Spark's own Kafka sink",
    "start": "from process start to the first windowed result",
}
