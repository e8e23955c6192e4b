from __future__ import annotations

from penstock.bench.ysb import digest


def test_the_digest_tells_counts_apart_whose_sum_and_number_are_the_same() -> None:
    counts = {("c1", 10.0): 3, ("c2", 10.0): 5}
    assert digest(counts) == digest(dict(reversed(counts.items())))
    assert digest(counts) != digest({("c1", 10.0): 5, ("c2", 10.0): 3})
    assert digest(counts) != digest({("c1", 20.0): 3, ("c2", 10.0): 5})
