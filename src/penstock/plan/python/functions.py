"""`@ps.function`: a Python function that expressions of the app may call by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import isfunction
from typing import TypeVar

from penstock.errors import PlanFault, UserError, Where
from penstock.plan.model.declare import Function
from penstock.plan.model.user_code import target_of
from penstock.plan.python.query import check_text, user_place
from penstock.plan.sql.operators import returned_type

Called = TypeVar("Called", bound=Callable[..., object])
_DECLARED = "__penstock_function__"


def function(returns: str, *, name: str | None = None, vectorized: bool = False) -> Callable[[Called], Called]:
    """Declare a function for the expressions of the app: `@ps.function("DOUBLE")` on `def score(amount, country): ...`.

    It is given one value at a time, None for NULL. With `vectorized` it is given whole columns: pandas.Series where its arguments are
    annotated so, else pyarrow.Array; and returns a column of the same length.
    """
    place = user_place()
    if not isinstance(returns, str):
        raise PlanFault("a function needs the type that it returns", where=place, hint='@ps.function("DOUBLE")')
    try:
        kind = returned_type(check_text(returns, "type that is returned", place, "DOUBLE"))
    except UserError as fault:
        raise type(fault)(fault.message, where=place, hint=fault.hint) from None

    def declare(called: Called) -> Called:
        target = target_of(called, place)
        code = getattr(called, "__code__", None)
        where = place if code is None else Where(code.co_filename, code.co_firstlineno)
        setattr(called, _DECLARED, Function(name or target.partition(":")[2], target, kind, vectorized, where))
        return called

    return declare


def functions_in(names: Mapping[str, object]) -> Iterable[Function]:
    """The functions that are declared among some names, also those imported from other files of the app."""
    found = (vars(value).get(_DECLARED) for value in list(names.values()) if isfunction(value))
    return dict.fromkeys(entry for entry in found if isinstance(entry, Function))
