"""A row pattern checked and taken apart: what Spark computes of each row, what the matcher asks of rows, what Spark makes of the answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial

from penstock.errors import PlanFault, UserError, Where
from penstock.eventtime import interval
from penstock.plan.expression.condition import Asked, Condition, Operation, Own, condition
from penstock.plan.expression.navigation import LABEL, ROWS, MatchNumber, Navigation, Primitive, primitives
from penstock.plan.expression.parsed import substitute
from penstock.plan.model.automaton import Program, compiled
from penstock.plan.model.nodes import MATCH, Item, Node, Operate, Project
from penstock.plan.model.pattern import Absent, Exclude, Pattern, Variable, parts_of
from penstock.schema import Column, Schema

VALUE, ANSWER, MATCHED, ALL = "__v", "__p", "__matched", "__all"
"""Columns of the engine's own: what is asked of a row by place, what is asked of a match, whether there is one, and the key of all rows."""
_UNKNOWN = "unknown"


@dataclass(frozen=True)
class Matching:
    """A pattern ready to run. `values` are the expressions over one row, by place; `conditions` belong to the program's variables (None: always).

    `answers` are what the measures ask, by place; `measures` are names with Spark's expressions over those answers.
    """

    pattern: Pattern
    program: Program
    values: tuple[str, ...]
    conditions: tuple[Condition | None, ...]
    answers: tuple[Primitive, ...]
    measures: tuple[tuple[str, str], ...]

    @property
    def within(self) -> int | None:
        """The longest time from the first to the last row of a match, in microseconds."""
        return None if self.pattern.within is None else interval(self.pattern.within)

    def value(self, text: str) -> int:
        """The place of an expression over one row."""
        return self.values.index(text)

    def members(self, name: str | None) -> frozenset[int]:
        """The program's variables that a name stands for; None stands for all."""
        every = self.program.variables
        if name is None:
            return frozenset(range(len(every)))
        lowered = [variable.lower() for variable in every]
        return frozenset(lowered.index(member.lower()) for member in self.pattern.members(name))


def matched(inputs: tuple[Node, ...], pattern: Pattern, keys: tuple[str, ...], order: tuple[str, ...], where: Where | None) -> Operate:
    """The node of a row pattern; an error with its place where the pattern is none."""
    try:
        taken_apart(pattern)
    except UserError as fault:
        raise type(fault)(fault.message, where=fault.where or where, excerpt=fault.excerpt, hint=fault.hint) from None
    if not keys:
        inputs, keys = (Project(inputs[0], (Item("*"), Item("0", ALL)), where=where),), (ALL,)
    shown = [key for key in keys if key != ALL]
    names = [*shown, *(name for name, _ in pattern.measures)]
    twice = next((name for index, name in enumerate(names) if name.lower() in map(str.lower, names[:index])), None)
    if twice is not None:
        raise PlanFault(
            f"two columns of the pattern are called `{twice}`", where=where, hint="a match shows what it is partitioned by, and its measures"
        )
    if not names and not pattern.all_rows:
        raise PlanFault("the pattern shows no column", where=where, hint="add MEASURES, or ALL ROWS PER MATCH")
    returns = Schema(tuple(Column(name, _UNKNOWN) for name in names))
    return Operate(inputs, MATCH, returns, keys, order, pattern=pattern, where=where)


@lru_cache(maxsize=256)
def taken_apart(pattern: Pattern) -> Matching:
    """What a pattern asks of whom; PlanFault where it names what it does not have."""
    known = _names(pattern)
    _check(pattern, known)
    program = compiled(pattern)
    texts = (pattern.condition(name) for name in program.variables)
    conditions = tuple(
        None if text is None else condition(text, known, partial(_is_own, pattern, name)) for name, text in zip(program.variables, texts, strict=True)
    )
    answers: dict[Primitive, int] = {}
    measures: list[tuple[str, str]] = []
    for name, text in pattern.measures:
        found = primitives(text, known)
        changes = [(entry.start, entry.end, f"{ANSWER}{answers.setdefault(entry.primitive, len(answers))}") for entry in found]
        measures.append((name, substitute(text, changes)))
    values: dict[str, None] = {}
    for entry in conditions:
        for leaf in leaves(entry):
            value = leaf.text if isinstance(leaf, Own) else _value(leaf.primitive)
            values.update({} if value is None else {value: None})
    values.update({text: None for text in map(_value, answers) if text is not None})
    return Matching(pattern, program, tuple(values), conditions, tuple(answers), tuple(measures))


def leaves(entry: Condition | None) -> list[Own | Asked]:
    """What a condition is made of, without the operators that join it."""
    match entry:
        case None:
            return []
        case Own() | Asked():
            return [entry]
        case Operation():
            return [leaf for part in entry.parts for leaf in leaves(part)]


def _value(primitive: Primitive) -> str | None:
    if isinstance(primitive, MatchNumber) or primitive.value in (LABEL, ROWS):
        return None
    return primitive.value


def _names(pattern: Pattern) -> dict[str, str]:
    """The names of variables and subsets, by their lower case."""
    found = {name.lower(): name for name in pattern.variables}
    for name, _ in pattern.subsets:
        if name.lower() in found:
            raise PlanFault(f"the subset `{name}` has the name of a variable", hint="name it otherwise")
        found[name.lower()] = name
    return found


def _check(pattern: Pattern, known: dict[str, str]) -> None:
    variables = {name.lower() for name in pattern.variables}
    hint = f"its variables are {', '.join(pattern.variables)}"
    named = [*((name, "DEFINE") for name, _ in pattern.define), *((member, "SUBSET") for _, members in pattern.subsets for member in members)]
    for name, clause in named:
        if name.lower() not in variables:
            raise PlanFault(f"{clause} names `{name}`, which is not in the pattern", hint=hint)
    if pattern.skip.variable is not None and pattern.skip.variable.lower() not in known:
        raise PlanFault(f"AFTER MATCH names `{pattern.skip.variable}`, which is not in the pattern", hint=hint)
    for name, text in pattern.define:
        if any(not isinstance(entry.primitive, MatchNumber) and entry.primitive.final for entry in primitives(text, known)):
            raise PlanFault(f"the condition of `{name}` asks for FINAL: no row is the last while rows are still matched", hint="leave FINAL out")
    _check_absent(pattern)
    if pattern.unmatched and any(isinstance(part, Exclude) for part in parts_of(pattern.term)):
        raise PlanFault("WITH UNMATCHED ROWS and an exclusion {- -} do not go together", hint="leave one of them out")
    if pattern.timed_out and pattern.within is None:
        raise PlanFault("no match is timed out without WITHIN", hint="PATTERN (...) WITHIN INTERVAL '10' MINUTE")
    if pattern.every and pattern.unmatched:
        raise PlanFault("EVERY MATCH and WITH UNMATCHED ROWS do not go together", hint="leave one of them out")


def _check_absent(pattern: Pattern) -> None:
    """What must not come is no row of a match, and is waited for so long only."""
    parts = tuple(parts_of(pattern.term))
    taken = {part.name.lower() for part in parts if isinstance(part, Variable)}
    absent = [part for part in parts if isinstance(part, Absent)]
    both = next((part.name for part in absent if part.name.lower() in taken), None)
    if both is not None:
        raise PlanFault(f"`{both}` is asked for and asked to be absent", hint="give the absent row a variable of its own")
    if any(not part.next_only for part in absent) and pattern.within is None:
        name = next(part.name for part in absent if not part.next_only)
        raise PlanFault(f"NOT {name} waits for ever without WITHIN", hint=f"PATTERN (... NOT {name}) WITHIN INTERVAL '30' MINUTE")


def _is_own(pattern: Pattern, defined: str, asked: Navigation) -> bool:
    """Whether a navigation in the condition of `defined` means the row that is tried."""
    covers = asked.variable is None or defined.lower() in (member.lower() for member in pattern.members(asked.variable))
    return covers and not asked.first and not asked.offset and not asked.shift


def lookback(matching: Matching) -> int:
    """How many rows before a match its conditions and measures look at."""
    return max((-asked.shift for asked in navigations(matching)), default=0)


def lookahead(matching: Matching) -> int:
    """How many rows after a match its measures look at."""
    return max((asked.shift for asked in matching.answers if isinstance(asked, Navigation)), default=0)


def navigations(matching: Matching) -> list[Navigation]:
    """Everything that conditions and measures ask of one row."""
    asked = [leaf.primitive for entry in matching.conditions for leaf in leaves(entry) if isinstance(leaf, Asked)]
    return [entry for entry in (*asked, *matching.answers) if isinstance(entry, Navigation)]


def numbered(matching: Matching) -> bool:
    """Whether the number of the match is asked for."""
    asked = [leaf.primitive for entry in matching.conditions for leaf in leaves(entry) if isinstance(leaf, Asked)]
    return any(isinstance(entry, MatchNumber) for entry in (*asked, *matching.answers))


def shown_first(node: Operate, pattern: Pattern) -> tuple[str, ...]:
    """The columns that stand before the measures: what the rows are partitioned by, and with ALL ROWS PER MATCH what they are ordered by."""
    names = (*node.keys, *(node.order if pattern.all_rows else ()))
    return tuple(dict.fromkeys(name for name in names if name != ALL))


def kept_for(pattern: Pattern) -> str:
    """What is kept of each key for a pattern, and for how long."""
    matching = taken_apart(pattern)
    more = [f"the last {lookback(matching)} rows of each key" if lookback(matching) else "", "one number for each key" if numbered(matching) else ""]
    noted = "".join(f"; {text}, never dropped" for text in more if text)
    if pattern.within is None:
        return f"rows of matches that may still be completed, for as long as that is: no WITHIN bounds it{noted}"
    return f"bounded: rows of matches that may still be completed, for {pattern.within} from their first row{noted}"
