"""Nexmark: an auction house, its events and its 23 queries, and the race of Penstock with others over them."""

from penstock.bench.nexmark.race import ROUNDS, measure

__all__ = ["ROUNDS", "measure"]
