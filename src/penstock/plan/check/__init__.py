"""Findings about an app, one file per kind."""
