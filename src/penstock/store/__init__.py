"""The results store: what every view holds, its change log, and the ledger of epochs; in SQLite or Postgres."""
