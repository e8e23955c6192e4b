"""Results as Kafka records: plain, or exactly once in a transaction with a record of its progress."""
