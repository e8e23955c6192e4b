"""Python functions of the app in SQL, by `module:name`.

FROM map_batches(payments, 'module:function', 'returns card STRING, score DOUBLE')     an operator, which makes rows
FROM map_with_state(payments PARTITION BY card ORDER BY at, 'module:function', 'returns ...', 'state n INT')    one that keeps state
CREATE FUNCTION score AS 'module:score' RETURNS DOUBLE                                 a function of expressions
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import PlanFault, UserError, Where
from penstock.eventtime import interval
from penstock.plan.expression.passage import Passage
from penstock.plan.model.declare import Function
from penstock.plan.model.nodes import Node, Operate
from penstock.plan.model.user_code import is_target
from penstock.plan.sql.definition import parse_columns
from penstock.schema import Schema

MAP_BATCHES = "map_batches"
UNNAMED = "__value"
MAP_WITH_STATE = "map_with_state"
_FORM = "map_batches(payments, 'module:function', 'card STRING, score DOUBLE')"
_KEYED_FORM = "map_with_state(payments PARTITION BY card ORDER BY at, 'module:function', 'returns card STRING, score DOUBLE')"
_OPTIONS = ("vectorized", "arrival", "ttl", "output")


@dataclass(frozen=True)
class OperatorCall:
    """The relation that an operator reads (a range of tokens), its function, its columns, and the index after it."""

    source: tuple[int, int]
    function: str
    returns: Schema
    next: int
    keys: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    state: Schema | None = None
    options: tuple[tuple[str, str], ...] = ()

    def node(self, source: Node, where: Where) -> Operate:
        """The operator over the relation that it reads."""
        return Operate((source,), self.function, self.returns, self.keys, self.order, self.state, self.options, where=where)


def read(passage: Passage, low: int, high: int) -> OperatorCall | None:
    """The operator that stands at `low`, if one does."""
    if passage.word(low, high, MAP_WITH_STATE) and passage.is_op(low + 1, high, "("):
        return _read_keyed(passage, low, high)
    if not passage.word(low, high, MAP_BATCHES) or not passage.is_op(low + 1, high, "("):
        return None
    close = passage.close(low + 1, high)
    parts = passage.split(low + 2, close) if close > low + 2 else []
    if len(parts) != 3 or any(end - begin != 1 or passage.tokens[begin].kind != "string" for begin, end in parts[1:]):
        raise passage.fault(f"{MAP_BATCHES} wants a relation, a function and the columns it returns", low, close + 1, f"FROM {_FORM}")
    function, columns = (passage.tokens[begin].value for begin, _ in parts[1:])
    if not is_target(function):
        begin, end = parts[1]
        raise passage.fault(f"`{function}` is not the name of a function", begin, end, "write 'module:function', for module.py of the app")
    try:
        returns = returned(columns)
    except UserError as fault:
        raise passage.fault(fault.message, *parts[2], fault.hint, type(fault)) from None
    return OperatorCall(parts[0], function, returns, close + 1)


def _read_keyed(passage: Passage, low: int, high: int) -> OperatorCall:
    close = passage.close(low + 1, high)
    parts = passage.split(low + 2, close) if close > low + 2 else []
    texts = [part for part in parts if part[1] - part[0] == 1 and passage.tokens[part[0]].kind == "string"]
    relation = parts[: len(parts) - len(texts)]
    if len(texts) < 2 or not relation or texts != parts[len(relation) :]:
        raise passage.fault(f"{MAP_WITH_STATE} wants a relation by key, a function and what it returns", low, close + 1, f"FROM {_KEYED_FORM}")
    source, keys, order = _by_key(passage, relation[0][0], relation[-1][1])
    function = passage.tokens[texts[0][0]].value
    if not is_target(function):
        raise passage.fault(f"`{function}` is not the name of a function", *texts[0], "write 'module:function', for module.py of the app")
    given: dict[str, str] = {}
    for place, (begin, end) in enumerate(texts[1:]):
        word, _, rest = passage.tokens[begin].value.strip().partition(" ")
        word, rest = (word.lower(), rest) if word.lower() in ("returns", "state", *_OPTIONS) else ("returns", f"{word} {rest}")
        if word in given or (word == "returns" and place):
            hint = "after what it returns: 'state n INT', 'ttl 1 hour', 'output late', 'vectorized', 'arrival'"
            raise passage.fault(f"`{passage.tokens[begin].value}` is not expected here", begin, end, hint)
        given[word] = rest.strip()
        try:
            check_option(word, given[word])
        except UserError as fault:
            raise passage.fault(fault.message, begin, end, fault.hint, type(fault)) from None
    if "returns" not in given:
        raise passage.fault("the columns that the function returns are missing", *texts[1], f"FROM {_KEYED_FORM}")
    state = state_of(given["state"]) if "state" in given else None
    options = tuple((name, given[name]) for name in _OPTIONS if name in given)
    return OperatorCall(source, function, returned(given["returns"]), close + 1, keys, order, state, options)


def _by_key(passage: Passage, low: int, high: int) -> tuple[tuple[int, int], tuple[str, ...], tuple[str, ...]]:
    """`payments PARTITION BY card ORDER BY at`: the range of the relation, the keys and the order."""
    top = list(passage.top(low, high))
    part = next((at for at in top if passage.word(at, high, "partition") and passage.word(at + 1, high, "by")), None)
    if part is None:
        raise passage.fault(f"{MAP_WITH_STATE} keeps its state by key", low, high, f"FROM {_KEYED_FORM}")
    order = next((at for at in top if at > part and passage.word(at, high, "order") and passage.word(at + 1, high, "by")), high)
    keys = _names(passage, part + 2, order, "PARTITION BY")
    return (low, part), keys, _names(passage, order + 2, high, "ORDER BY") if order < high else ()


def _names(passage: Passage, low: int, high: int, clause: str) -> tuple[str, ...]:
    found: list[str] = []
    for begin, end in passage.split(low, high) if low < high else [(low - 1, low)]:
        end -= clause == "ORDER BY" and end - begin == 2 and passage.word(end - 1, end, "asc")
        if end - begin != 1 or not passage.tokens[begin].is_name or low >= high:
            hint = "name columns; compute others in a SELECT below: map_with_state((SELECT ... FROM s) PARTITION BY ...)"
            raise passage.fault(f"{clause} of {MAP_WITH_STATE} takes columns", begin, end, hint)
        found.append(passage.tokens[begin].value)
    return tuple(found)


def check_option(word: str, value: str) -> None:
    """Whether what stands after a word will do; UserError says why not."""
    if word == "returns":
        returned(value)
    elif word == "state":
        state_of(value)
    elif word == "ttl":
        if interval(value) <= 0:
            raise PlanFault("state cannot last for no time", hint="e.g. 'ttl 1 hour'")
    elif word == "output" and not value.isidentifier():
        raise PlanFault(f"`{value}` is not the name of an output", hint="e.g. 'output alerts', for what ctx.side(\"alerts\", ...) gives")


def state_of(text: str) -> Schema:
    """The columns of a key's state; a single type is one value without a name: `BIGINT`."""
    try:
        found = returned(text)
    except UserError:
        try:
            return returned(f"{UNNAMED} {text}")
        except UserError:
            pass
        raise
    return found


def returned(columns: str) -> Schema:
    """The columns that a function declares to return; a leading RETURNS is a word of the sentence."""
    words = columns.split(None, 1)
    schema = parse_columns(words[1] if len(words) == 2 and words[0].lower() == "returns" else columns)
    computed = next((column for column in schema if column.computed is not None), None)
    if computed is not None:
        raise PlanFault(f"the column `{computed.name}` is computed", hint="a function returns its columns itself; compute more in a SELECT over it")
    return schema


def read_function(passage: Passage, name: str, at: int, high: int) -> Function:
    """`... AS 'module:score' RETURNS DOUBLE [VECTORIZED]`, after the name at `at`."""
    hint = f"CREATE FUNCTION {name} AS 'module:{name}' RETURNS DOUBLE"
    if not passage.word(at + 1, high, "as") or at + 2 >= high or passage.tokens[at + 2].kind != "string":
        raise passage.fault(f"the Python function that `{name}` calls is missing", at, at + 1, hint)
    target = passage.tokens[at + 2].value
    if not is_target(target):
        raise passage.fault(f"`{target}` is not the name of a function", at + 2, at + 3, hint)
    end = high - passage.word(high - 1, high, "vectorized")
    if not passage.word(at + 3, high, "returns") or at + 4 >= end:
        raise passage.fault(f"the type that `{name}` returns is missing", min(at + 3, high - 1), high, hint)
    try:
        returns = returned_type(passage.slice(at + 4, end))
    except UserError as fault:
        raise passage.fault(fault.message, at + 4, end, hint, type(fault)) from None
    return Function(name, target, returns, end < high, where=passage.where(at))


def returned_type(text: str) -> str:
    """The one type that a function of expressions returns, in its normal form."""
    schema = returned(f"value {text}")
    if len(schema) != 1:
        raise PlanFault(f"`{text}` is not one type", hint="a function returns one value: RETURNS DOUBLE, RETURNS STRUCT<a: INT, b: STRING>")
    return schema.columns[0].type
