"""What goes wrong outside a job: outages, the parts that have them, how long to wait, and Spark's errors in our words."""
