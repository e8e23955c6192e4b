"""The fluent Python face, to the same plan as SQL."""
