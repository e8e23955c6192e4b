"""Jobs at work: epochs, delivery, the supervisor that restarts them, and the runner behind the verbs."""
