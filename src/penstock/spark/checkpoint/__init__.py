"""What Spark logged of every epoch, and whether it agrees with the ledger."""
