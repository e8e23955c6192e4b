"""Rows from files: what a folder holds, what was read of it, and lines that are still being written."""
