"""What Spark maintains of a plan, and what is evaluated above it."""
