"""Rows from a Kafka topic."""
