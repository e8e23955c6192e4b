"""The questions about expressions that a check asks again and again of the same text, each answered once."""

from __future__ import annotations

from functools import lru_cache

from penstock.plan import scalar

aggregate_calls = lru_cache(maxsize=8192)(scalar.aggregate_calls)
calls = lru_cache(maxsize=8192)(scalar.calls)
column_refs = lru_cache(maxsize=8192)(scalar.column_refs)
window_call = lru_cache(maxsize=8192)(scalar.window_call)
