"""Matches of a whole bucket as flat arrays: what the kernels and the general matcher both give, and what measures are computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from penstock.plan.model.pattern_shape import Shape
from penstock.spark.keyed.pattern.search import Taken

Ints: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Matches:
    """Match m begins at row `start[m]` of partition `key[m]`; its rows are rows[offsets[m]:offsets[m + 1]], taken as labels of the same places."""

    key: Ints
    start: Ints
    offsets: Ints
    rows: Ints
    labels: Ints
    excluded: Flags

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True)
class Scanned:
    """What came of the partitions of a step.

    `resume` is for each partition the row at which the search goes on: the end of its rows, or a start that waits for more of them.
    """

    matches: Matches
    partial: Matches
    resume: Ints


def gathered(keys: Sequence[int], taken: Sequence[Taken]) -> Matches:
    """Matches found one by one."""
    lengths = np.fromiter((len(match.labels) for match in taken), np.int64, len(taken))
    start = np.fromiter((match.start for match in taken), np.int64, len(taken))
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    total = int(offsets[-1])
    labels = np.fromiter((label for match in taken for label in match.labels), np.int64, total)
    excluded = np.fromiter((mark for match in taken for mark in match.excluded), np.bool_, total)
    rows = np.repeat(start - offsets[:-1], lengths) + np.arange(total, dtype=np.int64)
    return Matches(np.asarray(keys, np.int64), start, offsets, rows, labels, excluded)


def of_columns(key: Ints, rows: Sequence[Ints], labels: Sequence[int]) -> Matches:
    """Matches of equal length, their rows given as one array for each place."""
    count, width = len(key), len(rows)
    flat = np.stack(rows, axis=1).reshape(-1) if width else np.empty(0, np.int64)
    offsets = np.arange(count + 1, dtype=np.int64) * width
    names = np.tile(np.asarray(labels, np.int64), count)
    start = rows[0] if width else np.empty(0, np.int64)
    return Matches(key, start, offsets, flat, names, np.zeros(count * width, np.bool_))


def stretches(key: Ints, start: Ints, lengths: Ints) -> Matches:
    """Matches of so many rows in a row, all of them taken as variable 0."""
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    total = int(offsets[-1])
    rows = np.repeat(start - offsets[:-1], lengths) + np.arange(total, dtype=np.int64)
    return Matches(key, start, offsets, rows, np.zeros(total, np.int64), np.zeros(total, np.bool_))


def chains(key: Ints, places: Sequence[Ints], stop: Ints, shape: Shape) -> Matches:
    """Matches of a chain: the rows from its first place up to `stop`, of which some places may lie beyond."""
    inside = [np.minimum(place, stop) for place in places]
    counts = [(inside[0] < stop).astype(np.int64)]
    for before, after in pairwise(inside):
        counts += [np.maximum(0, after - before - 1), (after < stop).astype(np.int64)]
    names = [label for pair in zip(shape.labels, (*shape.gaps, -1), strict=True) for label in pair][:-1]
    labels = np.repeat(np.tile(np.asarray(names, np.int64), len(key)), np.stack(counts, axis=1).reshape(-1))
    return replace(stretches(key, places[0], stop - places[0]), labels=labels)


def none() -> Matches:
    """No match."""
    return of_columns(np.empty(0, np.int64), (), ())
