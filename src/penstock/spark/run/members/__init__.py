"""The views that a job hosts: who they are, what they were before, how they come and go."""
