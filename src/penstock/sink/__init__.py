"""Where results leave: the results store of every view, and the sinks that deliver its change log.

`store` says what a results store promises, `sqlite` and `postgres_store` are the two; `delivery` opens a sink; `options`
holds what can be known about sinks without Spark or a database.
"""
