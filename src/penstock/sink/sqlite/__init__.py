"""Results in a SQLite file of their own, its ledger in the same transaction."""
