"""For development: a real single-node broker, and a producer of records."""
