"""What should be there against what is there, as multisets: missing, extra and different rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.verify.rows import CLOSE, Reader, Row, Values, close, has_floats


@dataclass(frozen=True)
class Comparison:
    """`rows` are as expected. In a keyed view a key whose row is another is `different`: (expected, found)."""

    rows: int = 0
    missing: tuple[Row, ...] = ()
    extra: tuple[Row, ...] = ()
    different: tuple[tuple[Row, Row], ...] = ()

    @property
    def equal(self) -> bool:
        return not (self.missing or self.extra or self.different)


def compare(reader: Reader, expected: Sequence[Row], found: Sequence[Row], tolerance: float = CLOSE) -> Comparison:
    """Equal text is equal, so only what is left is read; of that, equal values are equal, and floats may differ by the relative `tolerance`."""
    wanted, held = _without_common(expected, found)
    lacking, surplus = _by_value([(reader.values(row.text), row) for row in wanted], [(reader.values(row.text), row) for row in held])
    if reader.key is not None:
        missing, extra, different = _paired_by_key(reader, lacking, surplus, tolerance)
    else:
        missing, extra, different = lacking, surplus, []
    if has_floats(reader.schema):
        missing, extra = _without_close(missing, extra, tolerance)
    unequal = len(missing) + len(different)
    return Comparison(len(expected) - unequal, _rows(missing), _rows(extra), tuple(different))


Read = tuple[Values, Row]


def _rows(read: Iterable[Read]) -> tuple[Row, ...]:
    return tuple(row for _, row in read)


def _without_common(expected: Sequence[Row], found: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    common = Counter(row.text for row in expected) & Counter(row.text for row in found)
    return _less(expected, common), _less(found, common)


def _less(rows: Sequence[Row], common: Counter[str]) -> list[Row]:
    """The rows without as many of each text as are common; of several copies the first ones are taken for the equal ones."""
    left, kept = Counter(common), []
    for row in rows:
        if left[row.text] > 0:
            left[row.text] -= 1
        else:
            kept.append(row)
    return kept


def _by_value(wanted: Sequence[Read], held: Sequence[Read]) -> tuple[list[Read], list[Read]]:
    free: defaultdict[Values, list[Row]] = defaultdict(list)
    for values, row in reversed(held):
        free[values].append(row)
    missing: list[Read] = []
    for values, row in wanted:
        if free.get(values):
            free[values].pop()
        else:
            missing.append((values, row))
    left = {id(row) for rest in free.values() for row in rest}
    return missing, [(values, row) for values, row in held if id(row) in left]


def _paired_by_key(reader: Reader, missing: list[Read], extra: list[Read], tolerance: float) -> tuple[list[Read], list[Read], list[tuple[Row, Row]]]:
    held: defaultdict[Values | None, list[Read]] = defaultdict(list)
    for read in reversed(extra):
        held[reader.key_of(read[0])].append(read)
    rest: list[Read] = []
    different: list[tuple[Row, Row]] = []
    for values, row in missing:
        key = reader.key_of(values)
        same = held.get(key)
        if key is None or not same:
            rest.append((values, row))
            continue
        other = same.pop()
        if not close(values, other[0], tolerance):
            different.append((row, other[1]))
    left = {id(row) for reads in held.values() for _, row in reads}
    return rest, [read for read in extra if id(read[1]) in left], different


def _without_close(missing: list[Read], extra: list[Read], tolerance: float) -> tuple[list[Read], list[Read]]:
    """Pairs off rows that differ only in the last digits of floats; what is alike but for them is looked at together."""
    alike: defaultdict[Values, list[Read]] = defaultdict(list)
    for read in extra:
        alike[_coarse(read[0])].append(read)
    rest: list[Read] = []
    for read in missing:
        candidates = alike.get(_coarse(read[0]), [])
        match = next((other for other in candidates if close(read[0], other[0], tolerance)), None)
        if match is None:
            rest.append(read)
        else:
            candidates.remove(match)
    left = {id(row) for reads in alike.values() for _, row in reads}
    return rest, [read for read in extra if id(read[1]) in left]


def _coarse(values: Values) -> Values:
    """The values without the floats among them."""
    return tuple(_coarse(value) if isinstance(value, tuple) else "float" if isinstance(value, float) else value for value in values)
