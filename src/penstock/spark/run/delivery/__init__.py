"""From the store's log to the sinks, each epoch once."""
