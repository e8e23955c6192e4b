"""Row patterns in the Python face: `ps.seq("small", "amount < 2").times(3).then("big", "amount > 500")`, the same value as SQL gives.

`then` leaves out the rows between that are not what it waits for, `next_` allows none. Such rows are variables of the pattern too, with the
names `gap_1`, `gap_2`..., left out of what is shown.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.errors import PlanFault
from penstock.eventtime import format_interval, interval
from penstock.plan.expression.navigation import Navigation, primitives
from penstock.plan.expression.parsed import parsed, substitute
from penstock.plan.expression.tokens import tokens
from penstock.plan.model.pattern import Absent, Exclude, Pattern, Repeat, Skip, Term, Variable
from penstock.plan.model.pattern import Sequence as InOrder
from penstock.plan.python.query import check_text, text, user_place


@dataclass(frozen=True)
class Stage:
    """One step: how it follows the one before (next, then, any, not_next, then_not), its rows, and how many of them."""

    follows: str
    name: str
    condition: str | None
    low: int = 1
    high: int | None = 1
    greedy: bool = False
    optional: bool = False
    consecutive: bool = False
    until: str | None = None

    @property
    def taken(self) -> str | None:
        """The condition of a row that it takes."""
        if self.until is None:
            return self.condition
        return f"({self.condition or 'true'}) AND NOT coalesce({self.until}, false)"


@dataclass(frozen=True)
class Seq:
    """A pattern in the making; every method gives a new one."""

    stages: tuple[Stage, ...]
    time: str | None = None
    skip: Skip | None = None

    def next_(self, name: str, condition: str | None = None) -> Seq:
        """The very next row."""
        return self._stage("next", name, condition)

    def then(self, name: str, condition: str | None = None) -> Seq:
        """The next row for which the condition holds; others in between are left out."""
        return self._stage("then", name, condition)

    def then_any(self, name: str, condition: str | None = None) -> Seq:
        """Any later row for which the condition holds, each in a match of its own."""
        return self._stage("any", name, condition)

    def not_next(self, name: str, condition: str | None = None) -> Seq:
        """The very next row is not this."""
        return self._stage("not_next", name, condition)

    def then_not(self, name: str, condition: str | None = None) -> Seq:
        """No such row before what follows; at the end of a pattern: none until the time of `within` has passed."""
        return self._stage("then_not", name, condition)

    def times(self, low: int, high: int | None = None) -> Seq:
        """The last step so many times, or `low` to `high` times."""
        top = low if high is None else high
        if not all(isinstance(each, int) and not isinstance(each, bool) for each in (low, top)) or low < 0 or top < max(1, low):
            raise PlanFault(f".times({low}, {top}) is not a number of times", where=user_place(), hint="e.g. .times(3) or .times(2, 5)")
        return self._last(low=low, high=top)

    def one_or_more(self) -> Seq:
        """The last step once or more often."""
        return self._last(low=1, high=None)

    def times_or_more(self, low: int) -> Seq:
        """The last step so many times or more often."""
        return replace(self.times(low), stages=(*self.stages[:-1], replace(self.times(low).stages[-1], high=None)))

    def optional(self) -> Seq:
        """The last step may be missing."""
        return self._last(optional=True)

    def greedy(self) -> Seq:
        """The last step takes a row that the following one could take as well."""
        return self._last(greedy=True)

    def consecutive(self) -> Seq:
        """No other rows between those of the last step."""
        return self._last(consecutive=True)

    def until(self, condition: str) -> Seq:
        """The last step takes no more rows from the first one on for which this holds."""
        return self._last(until=text(condition, "condition", user_place()))

    def within(self, time: str) -> Seq:
        """The longest time from the first to the last row."""
        return replace(self, time=check_text(time, "time of a pattern", user_place(), "10 minutes"))

    def skip_past_last(self) -> Seq:
        """The next match begins after the last row of this one: what is done unless something else is asked for."""
        return replace(self, skip=Skip("past"))

    def skip_to_next(self) -> Seq:
        """The next match may begin at the row after the first one."""
        return replace(self, skip=Skip("next"))

    def skip_to_first(self, name: str) -> Seq:
        """The next match may begin at the first row of a step."""
        return replace(self, skip=Skip("first", name))

    def skip_to_last(self, name: str) -> Seq:
        """The next match may begin at the last row of a step."""
        return replace(self, skip=Skip("last", name))

    # Flink's words for it.
    no_skip = skip_to_next

    def _stage(self, follows: str, name: str, condition: str | None) -> Seq:
        place = user_place()
        check_text(name, "name of a step", place, "big")
        if name.lower() in (stage.name.lower() for stage in self.stages):
            raise PlanFault(f"the pattern has a step `{name}` already", where=place, hint="give each step a name of its own")
        given = None if condition is None else text(condition, "condition", place)
        return replace(self, stages=(*self.stages, Stage(follows, name, given)))

    def _last(self, **changes: object) -> Seq:
        last = self.stages[-1]
        if last.follows in ("not_next", "then_not"):
            raise PlanFault(f"`{last.name}` is a row that is not there", where=user_place(), hint="repeat the step before it")
        return replace(self, stages=(*self.stages[:-1], replace(last, **changes)))  # type: ignore[arg-type]


def seq(name: str, condition: str | None = None) -> Seq:
    """A pattern that begins with a row for which the condition holds; without one, with any row."""
    return Seq(())._stage("first", name, condition)


def pattern_of(asked: Seq, within: str | None, measures: tuple[tuple[str, str], ...]) -> Pattern:
    """The pattern as SQL would give it."""
    every = any(stage.follows == "any" for stage in asked.stages)
    builder = _Builder()
    for before, stage in zip((None, *asked.stages), asked.stages, strict=False):
        builder.add(before, stage)
    term = InOrder((*builder.terms, *builder.absent()))
    bound = None if asked.time is None else format_interval(interval(asked.time))
    skip = asked.skip or Skip("next" if every else "past")
    flat = term.parts[0] if len(term.parts) == 1 else term
    return Pattern(flat, tuple(builder.define), measures, skip=skip, within=within or bound, every=every)


class _Builder:
    def __init__(self) -> None:
        self.terms: list[Term] = []
        self.define: list[tuple[str, str]] = []
        self._unwanted: list[Stage] = []
        self._gaps = 0

    def absent(self) -> list[Term]:
        """What must not come at the end."""
        return [Absent(stage.name) for stage in self._unwanted]

    def add(self, before: Stage | None, stage: Stage) -> None:
        taken = stage.taken
        if taken is not None:
            self.define.append((stage.name, taken))
        if stage.follows == "then_not":
            self._unwanted.append(stage)
            return
        if stage.follows == "not_next":
            self.terms.append(Absent(stage.name, next_only=True))
            return
        parts = [*self._between(before, stage), *self._rows(stage)]
        self.terms += [Repeat(_one(parts), 0, 1)] if stage.optional else parts

    def _between(self, before: Stage | None, stage: Stage) -> list[Term]:
        """The rows that may lie before a step."""
        unwanted, self._unwanted = self._unwanted, []
        if stage.follows in ("first", "next"):
            if unwanted:
                raise PlanFault(f"nothing lies between the steps around `{unwanted[0].name}`", hint="use .then(...) after .then_not(...)")
            return []
        barred = [(entry.name, entry.taken) for entry in unwanted]
        for entry in unwanted:
            left = parsed(asked_of(entry.taken or "true", entry.name, "")).columns
            if any(len(ref.parts) > 1 and ref.parts[0].lower() == entry.name.lower() for ref in left):
                hint = "compare it with rows of the steps before it, or with PREV"
                raise PlanFault(f"`{entry.name}` must not come, so that it has no other rows to be compared with", hint=hint)
            self.define = [pair for pair in self.define if pair[0] != entry.name]
        if stage.follows == "then":
            loops = before is not None and before.high is None and before.follows not in ("not_next", "then_not")
            barred += [(each.name, each.taken) for each in (stage, before if loops else None) if each is not None]
        return [self._gap(barred)]

    def _rows(self, stage: Stage) -> list[Term]:
        """The rows of a step, as often as it is wanted."""
        one = Variable(stage.name)
        if stage.high == stage.low == 1:
            return [one]
        if stage.consecutive:
            return [Repeat(one, stage.low, stage.high, stage.greedy or stage.low == stage.high)]
        barred = [(stage.name, stage.condition), *([(stage.name, stage.until)] if stage.until is not None else [])]
        again = InOrder((self._gap(barred), one))
        high = None if stage.high is None else stage.high - 1
        more: list[Term] = [one]
        if high is None or high > 0:
            more.append(Repeat(again, max(0, stage.low - 1), high, stage.greedy or stage.low == stage.high))
        return more if stage.low else [Repeat(_one(more), 0, 1, stage.greedy)]

    def _gap(self, barred: list[tuple[str, str | None]]) -> Term:
        """Rows that are left out: as few as there may be, none for which the condition of one of these steps (None: any row) holds."""
        self._gaps += 1
        name = f"gap_{self._gaps}"
        texts = dict.fromkeys("true" if condition is None else asked_of(condition, step, name) for step, condition in barred)
        if texts:
            self.define.append((name, " AND ".join(f"NOT coalesce({each}, false)" for each in texts)))
        return Exclude(Repeat(Variable(name), 0, None, greedy=False))


def asked_of(condition: str, step: str, name: str) -> str:
    """The condition of a step as a question about a row that is tried as `name`: what it asks of its own row is asked of that one."""
    ends = {token.start: token.end for token in tokens(condition)}
    changes = [
        (ref.start, ends[ref.start], name)
        for found in primitives(condition, {step.lower(): step})
        if isinstance(found.primitive, Navigation) and found.primitive.variable == step and not (found.primitive.first or found.primitive.offset)
        for ref in parsed(condition).columns
        if found.start <= ref.start < found.end and len(ref.parts) > 1 and ref.parts[0].lower() == step.lower()
    ]
    return substitute(condition, changes)


def _one(parts: list[Term]) -> Term:
    return parts[0] if len(parts) == 1 else InOrder(tuple(parts))
