"""The matcher of row patterns: a function of a bucket of keys. Nothing here knows Spark."""
