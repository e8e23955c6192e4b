"""Results in a Postgres table, its ledger in the same transaction."""
