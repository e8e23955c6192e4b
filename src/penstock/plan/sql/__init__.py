"""SQL to a plan."""
