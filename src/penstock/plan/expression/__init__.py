"""What an expression says: its tokens, calls, columns and types. The SQL parser is imported here alone."""
