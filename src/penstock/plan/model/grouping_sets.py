"""The sets that ROLLUP, CUBE and GROUPING SETS stand for, one by one."""

from __future__ import annotations

from itertools import chain, combinations, product
from typing import TypeAlias

from penstock.plan.expression.tokens import Token, tokens
from penstock.plan.model import terms
from penstock.plan.model.nodes import Aggregate

Set: TypeAlias = tuple[str, ...]


def repeats_a_set(node: Aggregate) -> bool:
    """True where two of the aggregate's sets group by the same: Spark gives each of their rows twice, with nothing to distinguish them."""
    if node.grouping is None or terms.is_group_by_all(node):
        return False
    groups = terms.grouping_expressions(node)
    sets: list[frozenset[int | str]] = [
        frozenset(next((index for index, group in enumerate(groups) if terms.is_group(text, group)), text) for text in entry)
        for entry in grouping_sets(node.grouping)
    ]
    return len(set(sets)) < len(sets)


def grouping_sets(text: str) -> list[Set]:
    """Every set of a grouping text: those of its entries, each with each."""
    found = tokens(text)
    entries = terms.entries(found, 0, len(found))
    opening = terms.set_bracket(found, *entries[-1])
    if opening is not None and found[opening - 1].is_word("sets") and opening - 2 > entries[-1][0]:
        return _sets(text, found, opening - 2, len(found))  # `a, b GROUPING SETS (...)`: what stands before says nothing more
    return _each_with_each([_sets(text, found, low, high) for low, high in entries])


def _sets(text: str, found: tuple[Token, ...], low: int, high: int) -> list[Set]:
    """The sets of one entry."""
    opening = terms.set_bracket(found, low, high)
    if opening is None:
        return [(text[found[low].start : found[high - 1].end],)]
    inner = [_sets(text, found, *entry) for entry in terms.entries(found, opening + 1, high - 1)]
    if opening == low:
        return _each_with_each(inner)
    if found[opening - 1].is_word("sets"):
        return list(chain.from_iterable(inner))
    sizes = range(len(inner) + 1)
    if found[opening - 1].is_word("rollup"):
        chosen = [inner[:size] for size in sizes]
    else:
        chosen = [list(some) for size in sizes for some in combinations(inner, size)]
    return list(chain.from_iterable(map(_each_with_each, chosen)))


def _each_with_each(entries: list[list[Set]]) -> list[Set]:
    return [tuple(chain.from_iterable(parts)) for parts in product(*entries)]
