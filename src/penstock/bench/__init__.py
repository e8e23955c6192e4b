"""Benchmarks, side by side in one run: Penstock beside hand-written PySpark, with the results compared.

Every figure is a ratio of two systems measured in turn on the same machine; `ratio` above 1 means that Penstock is better.
"""
