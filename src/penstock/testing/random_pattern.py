"""Random row patterns over random rows: the matcher beside the brute force, in one step and in many, with kernels and without.

python -m penstock.testing.random_pattern --count 500 --seed 1
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.eventtime import format_interval
from penstock.plan.model.matching import ANSWER, MATCHED, VALUE, Matching, lookahead, taken_apart
from penstock.plan.model.pattern import Absent, Anchor, Choice, Exclude, Pattern, Permute, Repeat, Skip, Term, Variable
from penstock.plan.model.pattern import Sequence as InOrder
from penstock.plan.model.pattern_shape import Needed, needed_rows
from penstock.plan.model.pattern_text import clause
from penstock.spark.keyed.bucket import Clock
from penstock.spark.keyed.pattern.function import TIMED_OUT, MatchFunction
from penstock.testing.brute import Brute, Found, Rows
from penstock.testing.pattern_words import CONDITIONS, MEASURES

MINUTE = 60_000_000
NAMES = ("A", "B", "C", "D")
BRIEF = ("FIRST(x)", "A.x", "CLASSIFIER()", "MATCH_NUMBER()")


@dataclass(frozen=True)
class Case:
    """A pattern, the functions that mean the same as its conditions and measures, and rows by key."""

    pattern: Pattern
    conditions: Mapping[str, str]
    measures: tuple[str, ...]
    rows: Mapping[str, Rows]

    def __str__(self) -> str:
        rows = "\n".join(f"  {key}: {[(row['at'] // MINUTE, row['x']) for row in rows]}" for key, rows in self.rows.items())
        return f"{clause(self.pattern, ('k',), ('at',))}\n{rows}"


def random_case(seed: int) -> Case:
    """The case of a seed, always the same."""
    chance = random.Random(seed)
    served = chance.random() < 0.4  # by a kernel
    pattern = _pattern(chance, served)
    names = pattern.variables
    plain = served or chance.random() < 0.4
    pool = [text for text, word in CONDITIONS.items() if word.needs <= set(names) and not (plain and word.crosses)]
    conditions = {name: chance.choice(pool) for name in names if chance.random() < 0.85 or name == "D"}
    subsets = (("U", ("A", "B")),) if {"A", "B"} <= set(names) else ()
    brief = chance.random() < 0.4  # asks so little that rows between the steps of a chain need not travel
    measures = _measures(chance, {*names, *("U" for _ in subsets)}, BRIEF if brief else tuple(MEASURES))
    pattern = replace(
        pattern,
        define=tuple(conditions.items()),
        subsets=subsets,
        measures=tuple((f"m{place}", text) for place, text in enumerate(measures)),
        all_rows=chance.random() < (0.1 if brief else 0.4),
        skip=_skip(chance, () if served else names),
        every=not served and chance.random() < 0.1,
    )
    if pattern.all_rows:
        excludes = "{-" in clause(pattern, (), ())
        pattern = replace(pattern, show_empty=chance.random() < 0.7, unmatched=not excludes and not pattern.every and chance.random() < 0.3)
    rows = {key: _rows(chance) for key in ("a", "b", "c")[: chance.randint(1, 3)]}
    pattern = replace(pattern, timed_out=pattern.within is not None and chance.random() < 0.3)
    return Case(pattern, conditions, measures, rows)


def _measures(chance: random.Random, names: set[str], words: Sequence[str]) -> tuple[str, ...]:
    return tuple(text for text in words if MEASURES[text].needs <= names and chance.random() < 0.7)


def _pattern(chance: random.Random, served: bool) -> Pattern:
    """A term and its time."""
    within = chance.choice((None, 3, 6, 10))
    term = _shape(chance) if served else _term(chance, 3)
    if within is not None and chance.random() < 0.2:
        term = InOrder((*(term.parts if isinstance(term, InOrder) else (term,)), Absent("D")))
    elif not served and chance.random() < 0.1:
        term = InOrder((term, Absent("D", next_only=True)))
    return Pattern(term, within=None if within is None else format_interval(within * MINUTE))


def _shape(chance: random.Random) -> Term:
    """One of the shapes that kernels serve."""
    gap, other = Repeat(Variable("C"), 0, None, greedy=False), Repeat(Variable(chance.choice(("C", "B", "A"))), 0, None, greedy=False)
    return chance.choice(
        (
            InOrder((Variable("A"), Variable("B"))),
            Repeat(Variable("A"), 3, 3),
            InOrder((Variable("A"), Repeat(Variable("B"), 2, 2))),
            InOrder((Variable("A"), gap, Variable("B"))),
            InOrder((Repeat(Variable("A"), chance.randint(1, 3), None, chance.random() < 0.7), Variable("B"))),
            InOrder((Variable("A"), Exclude(gap), Variable("B"))),
            InOrder((Variable("A"), gap, Variable("B"), Exclude(other), Variable(chance.choice(("A", "B", "C"))))),
            InOrder((Variable("A"), Repeat(InOrder((Exclude(gap), Variable("A"))), 2, 2), other, Variable("B"))),
            Variable("A"),
        )
    )


def _term(chance: random.Random, depth: int) -> Term:
    kind = chance.random()
    if depth == 0 or kind < 0.3:
        return Variable(chance.choice(NAMES[:3]))
    if kind < 0.6:
        return InOrder(tuple(_term(chance, depth - 1) for _ in range(chance.randint(2, 3))))
    if kind < 0.72:
        return Choice(tuple(_term(chance, depth - 1) for _ in range(2)))
    if kind < 0.92:
        low = chance.choice((0, 0, 1, 2))
        return Repeat(_term(chance, depth - 1), low, chance.choice((None, low + 1, max(low, 1))), chance.random() < 0.7)
    if kind < 0.95:
        return Permute(tuple(Variable(name) for name in NAMES[: chance.randint(2, 3)]))
    if kind < 0.98:
        return Exclude(_term(chance, depth - 1))
    return InOrder((Anchor("^"), _term(chance, depth - 1)) if chance.random() < 0.5 else (_term(chance, depth - 1), Anchor("$")))


def _skip(chance: random.Random, names: Sequence[str]) -> Skip:
    to = chance.choice(("past", "past", "next", "first", "last") if names else ("past", "next"))
    return Skip(to, chance.choice(names) if to in ("first", "last") else None)


def _rows(chance: random.Random) -> Rows:
    at, rows = 0, []
    for _ in range(chance.randint(1, 8)):
        at += chance.choice((1, 1, 2, 4)) * MINUTE
        rows.append({"at": at, "x": chance.choice((0, 1, 2, 3, 4, None) if chance.random() < 0.3 else (0, 1, 2, 3, 4))})
    return rows


Answer = tuple[Any, ...]


def expected(case: Case, watermark: int, final: bool) -> tuple[list[Answer], list[Answer]]:
    """What the brute force finds, as sorted rows: of matches, and of partial matches that time ended."""
    shown: list[Answer] = []
    partial: list[Answer] = []
    matching = taken_apart(case.pattern)
    for key, every in case.rows.items():
        rows = [row for row in every if final or row["at"] <= watermark]
        functions = {name: CONDITIONS[text].call for name, text in case.conditions.items()}
        result = Brute(case.pattern, functions, rows, watermark, final, matching.within, lookahead(matching)).run()
        shown += _outputs(case, key, rows, result.matches)
        shown += [(key, row, rows[row]["x"], *(None for _ in case.measures), False) for row in result.unmatched if case.pattern.unmatched]
        partial += [(key, *entry[1:]) for entry in _outputs(case, key, rows, result.partial)] if case.pattern.timed_out else []
    return sorted(shown, key=repr), sorted(partial, key=repr)


def _outputs(case: Case, key: str, rows: Rows, matches: Sequence[Found]) -> Iterator[Answer]:
    pattern = case.pattern
    for match in matches:
        number = match.number or None
        labels = [label for label, _ in match.mapped]

        def measured(upto: int, labels: list[str] = labels, match: Found = match, number: int | None = number) -> list[Any]:
            return [MEASURES[text].call(rows, match.start, labels, upto, number) for text in case.measures]

        if not pattern.all_rows:
            yield (key, *measured(len(labels)), True)
            continue
        for upto, (_, left_out) in enumerate(match.mapped, 1):
            row = match.start + upto - 1
            if not left_out:
                yield (key, row, rows[row]["x"], *measured(upto), True)
        if not labels and pattern.show_empty:
            yield (key, match.start, rows[match.start]["x"], *measured(0), True)


@dataclass
class Steps:
    """The matcher fed by hand: rows up to each watermark, the state passed on."""

    case: Case
    kernels: bool = True

    def run(self, watermarks: Sequence[int], final: bool) -> tuple[list[Answer], list[Answer]]:
        matching = taken_apart(self.case.pattern)
        needed = needed_rows(matching) if self.kernels else None
        schema = schema_of(matching)
        function = MatchFunction(matching, schema, ("k",), "at", self.kernels)
        state, before = function.state.empty_table(), -1
        shown: list[Answer] = []
        partial: list[Answer] = []
        for place, watermark in enumerate(watermarks):
            last = final and place == len(watermarks) - 1
            ready = counting(self.ready(matching, schema, before, None if last else watermark), needed)
            step = function.step(ready, state, Clock(watermark, 0, last))
            assert step.output.schema == function.output
            assert step.state.schema == function.state
            assert last or step.next_timer is None or step.next_timer > watermark, "a timer in the past"
            shown += self._answers(step.output)
            partial += self._answers(step.sides.get(TIMED_OUT, function.output.empty_table()))
            state, before = step.state, watermark
        return sorted(shown, key=repr), sorted(partial, key=repr)

    def ready(self, matching: Matching, schema: pa.Schema, after: int, upto: int | None) -> pa.Table:
        rows = [
            {
                **row,
                "k": key,
                "at": datetime.fromtimestamp(row["at"] / 1_000_000, UTC),
                **{f"{VALUE}{n}": _own(text, row) for n, text in enumerate(matching.values)},
            }
            for key, every in self.case.rows.items()
            for row in every
            if row["at"] > after and (upto is None or row["at"] <= upto)
        ]
        return pa.Table.from_pylist(rows, schema=schema)

    def _answers(self, table: pa.Table) -> Iterator[Answer]:
        asked = [name for name in table.column_names if name.startswith(ANSWER)]
        measures = dict(taken_apart(self.case.pattern).measures)
        for row in table.to_pylist():
            matched = row[MATCHED]
            answers = [row[text] if matched else None for text in measures.values()]
            assert len(asked) <= len(answers)
            if not self.case.pattern.all_rows:
                yield (row["k"], *answers, matched)
            else:
                at = int(row["at"].timestamp() * 1_000_000)
                index = next(place for place, each in enumerate(self.case.rows[row["k"]]) if each["at"] == at)
                yield (row["k"], index, row["x"], *answers, matched)


def counting(rows: pa.Table, needed: Needed | None) -> pa.Table:
    """The rows that travel to the matcher."""
    if needed is None:
        return rows
    steps, gaps = ([pc.fill_null(rows[f"{VALUE}{place}"].cast(pa.bool_()), False) for place in places] for places in (needed.steps, needed.gaps))
    return rows.filter(reduce(pc.or_, [*steps, *map(pc.invert, gaps)]))


def schema_of(matching: Matching) -> pa.Schema:
    values = [
        (f"{VALUE}{place}", pa.bool_() if set(text) & set("<>=") else pa.string() if "'" in text else pa.int64())
        for place, text in enumerate(matching.values)
    ]
    return pa.schema([("k", pa.string()), ("at", pa.timestamp("us", "UTC")), ("x", pa.int64()), *values])


def _own(text: str, row: Mapping[str, Any]) -> Any:
    """What Spark computes of a row: null where a null is compared."""
    try:
        return eval(text, {}, {"x": row["x"]})
    except TypeError:
        return None


def differences(seed: int, case: Case | None = None) -> list[str]:
    """What is wrong with a case, that of the seed unless one is given: nothing, if all is well."""
    case = case or random_case(seed)
    chance = random.Random(seed + 1)
    end = max(row["at"] for rows in case.rows.values() for row in rows)
    wrong: list[str] = []
    for final in (True, False):
        upto = end if final else chance.randint(0, end // MINUTE + 12) * MINUTE
        try:
            wanted = expected(case, upto, final)
        except ValueError:  # it skips to a row that a match does not have: both must say so
            wrong += [] if _refuses(case, [upto], final) else [f"seed {seed}: no error for a skip to nowhere\n{case}"]
            continue
        splits = [upto], sorted({*(chance.randint(0, upto // MINUTE) * MINUTE for _ in range(4)), upto}), [*range(0, upto, MINUTE), upto]
        for split in splits:
            for kernels in (True, False):
                got = Steps(case, kernels).run(split, final)
                for what, one, other in zip(("matches", "timed out"), wanted, got, strict=True):
                    if one != other:
                        wrong.append(
                            f"seed {seed}, {what}, final={final}, kernels={kernels}, steps {[at // MINUTE for at in split]}\n"
                            f"{case}\nwanted {one}\ngot    {other}"
                        )
    return wrong


def _refuses(case: Case, split: list[int], final: bool) -> bool:
    try:
        Steps(case).run(split, final)
    except Exception as error:
        return "skip" in str(error)
    return False


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="random row patterns beside a brute force")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    failed = 0
    for seed in range(given.seed, given.seed + given.count):
        wrong = differences(seed)
        failed += bool(wrong)
        if wrong:
            sys.stderr.write(f"{wrong[0]}\n\n")
    sys.stdout.write(f"{given.count} patterns, {failed} differ\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
