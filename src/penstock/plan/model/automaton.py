"""A pattern as a small program: take a row, choose, jump. Compiled once; it is what `explain` shows and what the matcher runs.

The first branch of a choice is the preferred one, so that the first way through the program that fits the rows is the preferred match.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import assert_never

from penstock.errors import PlanFault
from penstock.plan.model.pattern import Absent, Anchor, Choice, Exclude, Pattern, Permute, Repeat, Sequence, Term, Variable, is_nullable

STEPS_MAX = 20_000
TAKE, CHOOSE, JUMP, MARK, MOVED, FIRST, LAST, ABSENT, NOT_NEXT, DONE = (
    "take",
    "choose",
    "jump",
    "mark",
    "moved",
    "first",
    "last",
    "absent",
    "not next",
    "done",
)


@dataclass(frozen=True)
class Step:
    """One instruction: `variable` is an index into the program's variables, `to` the places that it may go to."""

    kind: str
    variable: int = -1
    to: tuple[int, ...] = ()
    excluded: bool = False
    register: int = -1


@dataclass(frozen=True)
class Program:
    """The steps of a pattern, from place 0; `registers` are those that loops note their place in."""

    variables: tuple[str, ...]
    steps: tuple[Step, ...]
    registers: int = 0

    def __str__(self) -> str:
        """One line for each step, for people."""
        lines = []
        for place, step in enumerate(self.steps):
            name = f" {self.variables[step.variable]}" if step.variable >= 0 else ""
            then = f" -> {', then '.join(map(str, step.to))}" if step.to else ""
            lines.append(f"{place:>3}: {step.kind}{name}{' (left out)' if step.excluded else ''}{then}")
        return "\n".join(lines)


def compiled(pattern: Pattern) -> Program:
    """The program of a pattern; PlanFault where it grows too large."""
    builder = _Builder(pattern.variables)
    builder.add(pattern.term, False)
    builder.step(Step(DONE))
    return Program(pattern.variables, tuple(builder.steps), builder.registers)


class _Builder:
    def __init__(self, variables: tuple[str, ...]) -> None:
        self._index = {name.lower(): index for index, name in enumerate(variables)}
        self.steps: list[Step] = []
        self.registers = 0

    def step(self, step: Step) -> int:
        if len(self.steps) >= STEPS_MAX:
            raise PlanFault(f"the pattern has more than {STEPS_MAX:,} steps", hint="repeat fewer times, or permute fewer variables")
        self.steps.append(step)
        return len(self.steps) - 1

    def add(self, term: Term, excluded: bool) -> None:
        here = len(self.steps)
        match term:
            case Variable():
                self.step(Step(TAKE, self._index[term.name.lower()], (here + 1,), excluded))
            case Sequence():
                for part in term.parts:
                    self.add(part, excluded)
            case Choice():
                self._choice(term.parts, excluded)
            case Permute():
                self._choice(tuple(Sequence(order) for order in permutations(term.parts)), excluded)
            case Exclude():
                self.add(term.part, True)
            case Anchor():
                self.step(Step(FIRST if term.mark == "^" else LAST, to=(here + 1,)))
            case Absent():
                self.step(Step(NOT_NEXT if term.next_only else ABSENT, self._index[term.name.lower()], (here + 1,)))
            case Repeat():
                self._repeat(term, excluded)
            case _:
                assert_never(term)

    def _choice(self, parts: tuple[Term, ...], excluded: bool) -> None:
        ends: list[int] = []
        for part in parts[:-1]:
            choose = self.step(Step(CHOOSE))
            self.add(part, excluded)
            ends.append(self.step(Step(JUMP)))
            self.steps[choose] = Step(CHOOSE, to=(choose + 1, len(self.steps)))
        self.add(parts[-1], excluded)
        for end in ends:
            self.steps[end] = Step(JUMP, to=(len(self.steps),))

    def _repeat(self, term: Repeat, excluded: bool) -> None:
        for _ in range(term.low):
            self.add(term.part, excluded)
        chooses: list[int] = []
        if term.high is None:
            loop = self.step(Step(CHOOSE))
            chooses.append(loop)
            self._round(term.part, excluded)
            self.step(Step(JUMP, to=(loop,)))
        else:
            for _ in range(term.high - term.low):
                chooses.append(self.step(Step(CHOOSE)))
                self._round(term.part, excluded)
        for choose in chooses:
            ways = (choose + 1, len(self.steps))
            self.steps[choose] = Step(CHOOSE, to=ways if term.greedy else ways[::-1])

    def _round(self, part: Term, excluded: bool) -> None:
        """One round beyond the ones that must be: it has to take a row."""
        if not is_nullable(part):
            self.add(part, excluded)
            return
        register = self.registers
        self.registers += 1
        here = self.step(Step(MARK, register=register))
        self.steps[here] = Step(MARK, to=(here + 1,), register=register)
        self.add(part, excluded)
        self.step(Step(MOVED, to=(len(self.steps) + 1,), register=register))
