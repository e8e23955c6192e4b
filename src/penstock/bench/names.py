"""The benchmarks there are, and what each is about."""

from __future__ import annotations

BENCHES: dict[str, str] = {
    "ysb": "the ad-campaign benchmark: filter, join, count per campaign and window",
    "latency": "one small micro-batch after another: stateless and windowed",
    "delivery": "what each guarantee costs, to Kafka and to Postgres, beside Spark's own Kafka sink",
    "growth": "what an epoch costs as history grows: eight shapes that need more than an aggregate",
    "nexmark": "the 23 queries of the auction house, beside PySpark and Flink SQL",
    "state": "a function with state for 200,000 keys, beside PySpark's transformWithState and Bytewax",
    "pattern": "A, then B within ten minutes, beside an interval join on Spark and Flink's MATCH_RECOGNIZE",
    "start": "from process start to the first windowed result",
}
