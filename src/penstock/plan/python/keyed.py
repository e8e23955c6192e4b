"""Rows by key in the Python face: `payments.key_by("card").map_with_state(update, returns="...")`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from penstock.errors import PlanFault, UserError
from penstock.eventtime import format_interval, interval
from penstock.plan.model.matching import matched
from penstock.plan.model.nodes import Operate
from penstock.plan.model.user_code import is_target, target_of
from penstock.plan.python.query import Query, check_text, operand, text, user_place
from penstock.plan.python.sequence import Seq, pattern_of
from penstock.plan.sql.operators import check_option, returned, state_of
from penstock.schema import quote

ARRIVAL = "arrival"


@dataclass(frozen=True)
class Keyed:
    """A query whose rows are taken key by key, in the order of their event time unless another is asked for."""

    query: Query
    keys: tuple[str, ...]
    order: tuple[str, ...] = ()

    def order_by(self, *columns: str) -> Keyed:
        """The order of a key's rows: the event time first, then columns that tell rows of one time apart; or `"arrival"`."""
        place = user_place()
        return replace(self, order=tuple(check_text(column, "column", place, "at") for column in columns))

    def map_with_state(
        self,
        function: str | Callable[..., object],
        returns: str,
        state: str | None = None,
        *,
        vectorized: bool = False,
        ttl: str | None = None,
        output: str | None = None,
    ) -> Query:
        """Rows made by a Python function of the app, `fn(row, state) -> (outputs, state)`, or by a ps.ProcessFunction.

        `state` declares what is kept of each key: columns ("n INT, total DOUBLE", a dict), one type ("BIGINT", a value), or nothing: any value,
        pickled. It is None before the first row. `vectorized`: the function gets and gives tables of all keys of a bucket. `ttl` ("1 hour") is how
        long a state lasts after the last row of its key. `output` asks for a side output of a process function.
        """
        place = user_place()
        target = function if isinstance(function, str) else target_of(function, place, classes=True)
        if not is_target(target):
            raise PlanFault(f"`{target}` is not the name of a function", where=place, hint='write "module:function", for module.py of the app')
        arrival = self.order == (ARRIVAL,)
        given = {"vectorized": "" if vectorized else None, ARRIVAL: "" if arrival else None, "ttl": ttl, "output": output}
        try:
            columns = returned(check_text(returns, "list of returned columns", place, "card STRING, score DOUBLE"))
            kept = None if state is None else state_of(check_text(state, "state", place, "n INT, total DOUBLE"))
            options = tuple((name, value) for name, value in given.items() if value is not None)
            for name, value in options:
                check_option(name, value)
        except UserError as fault:
            raise type(fault)(fault.message, where=place, hint=fault.hint) from None
        below = (operand(self.query._whole()),)
        node = Operate(below, target, columns, self.keys, () if arrival else self.order, kept, options, where=place)
        return replace(self.query, node=node, time=None)

    def pattern(self, asked: Seq, within: str | None = None, *, timed_out: bool = False, **measures: str) -> Query:
        """Matches of a row pattern, one row each: the keys and the measures, e.g. `since="first(small.at)", amount="big.amount"`.

        Without measures the times of the first and the last row, `match_start` and `match_end`. `within` ("10 minutes") bounds the time of a
        match. `timed_out` gives what had matched so far when that time was over, instead of the matches.
        """
        place = user_place()
        if not isinstance(asked, Seq):
            raise PlanFault(f".pattern() needs a pattern, not {type(asked).__name__}", where=place, hint='ps.seq("small", "amount < 2").then(...)')
        order = self.order or (() if self.query.time is None else (self.query.time,))
        if not order or order == (ARRIVAL,):
            hint = 'declare the stream with event_time="..." or name the columns: .order_by("at")'
            raise PlanFault("a pattern is one of rows in order, and this query has no event time", where=place, hint=hint)
        time = quote(order[0])
        shown = measures or {"match_start": f"first({time})", "match_end": f"last({time})"}
        given = tuple((name, text(measure, "measure", place)) for name, measure in shown.items())
        try:
            bound = None if within is None else format_interval(interval(check_text(within, "time of a pattern", place, "10 minutes")))
            pattern = replace(pattern_of(asked, bound, given), timed_out=timed_out)
            node = matched((operand(self.query._whole()),), pattern, self.keys, order, where=place)
        except UserError as fault:
            raise type(fault)(fault.message, where=fault.where or place, hint=fault.hint) from None
        return replace(self.query, node=node, time=None)

    orderBy = order_by
