"""A plan as a DataFrame: sources registered by name, SQL text on top."""
