"""Keys by a Zipf law, as one Spark expression: key k of 0..keys-1 has a chance in proportion to (k + 1) ** -skew."""

from __future__ import annotations

import math

_HEAD = 24  # keys whose chance is exact; from there on the curve is so flat that its midpoint integral is as good


def zipf_key(uniform: str, keys: int, skew: float) -> str:
    """Spark SQL that maps `uniform`, a DOUBLE in [0, 1), to a BIGINT key."""
    if keys <= 1:
        return "0L"
    if skew == 0:
        return f"CAST({uniform} * {keys} AS BIGINT)"
    head = [place**-skew for place in range(1, min(keys, _HEAD) + 1)]
    tail = _area(len(head) + 0.5, keys + 0.5, skew)
    total = sum(head) + tail
    branches, below = [], 0.0
    for key, weight in enumerate(head):
        below += weight
        branches.append(f"WHEN {uniform} < {below / total!r}D THEN {key}L")
    if keys <= _HEAD:
        return f"CASE {' '.join(branches[:-1])} ELSE {keys - 1}L END"
    share = f"(({uniform} - {below / total!r}D) * {total / tail!r}D)"
    return f"CASE {' '.join(branches)} ELSE {_beyond(share, len(head) + 0.5, keys, skew)} END"


def _area(left: float, right: float, skew: float) -> float:
    if right <= left:
        return 0.0
    if skew == 1:
        return math.log(right / left)
    return float((right ** (1 - skew) - left ** (1 - skew)) / (1 - skew))


def _beyond(share: str, left: float, keys: int, skew: float) -> str:
    """The inverse of `_area`: the place at which `share` of the tail's chance is used up, as a key."""
    right = keys + 0.5
    if skew == 1:
        place = f"{left!r}D * pow({right / left!r}D, {share})"
    else:
        low, high = left ** (1 - skew), right ** (1 - skew)
        place = f"pow({low!r}D + {share} * {high - low!r}D, {1 / (1 - skew)!r}D)"
    return f"least(CAST({place} + 0.5D AS BIGINT) - 1L, {keys - 1}L)"
