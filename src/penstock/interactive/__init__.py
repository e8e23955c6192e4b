"""The verbs in the process of their user: a script, a test, a notebook; answers are values, and Spark stays warm."""
