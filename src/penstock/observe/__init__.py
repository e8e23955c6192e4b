"""What a run says of itself: progress, status, health, metrics and logs. No Spark here."""
