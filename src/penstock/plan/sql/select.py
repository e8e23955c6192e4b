"""A SELECT as a plan: its structure is read here, its expressions stay the user's own text.

Structure that is well formed but not understood (PIVOT, pipes...) becomes an Opaque of the smallest query around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations

from penstock.errors import PlanFault
from penstock.plan.expression.forbid import forbid_query, relation_fault
from penstock.plan.expression.foreign import refuse_foreign, require_operands
from penstock.plan.expression.grammar import tables, validate_select
from penstock.plan.expression.parsed import substitute
from penstock.plan.expression.passage import Passage
from penstock.plan.model.nodes import Distinct, Node, Opaque, Order, Scan, SetOperation, Union, quoted
from penstock.plan.model.sorting import by_output
from penstock.plan.model.text import sql
from penstock.plan.sql.block import Clauses, block, named_windows, over
from penstock.plan.sql.own_forms import refuse_own_forms
from penstock.plan.sql.reading import SET_WORDS, Cte, Notes, NotUnderstood, Reading


@dataclass(frozen=True)
class Selection:
    """A query's plan, and the watermarks it declares itself: relation -> (column, lateness)."""

    node: Node
    watermarks: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def parse_select(text: str, file: str = "SQL", first_line: int = 1) -> Node:
    """The plan of one SELECT; SyntaxFault, NameFault or ForbiddenFault with its place where it cannot be one."""
    passage = Passage(text, file, first_line)
    high = len(passage.tokens)
    while high and passage.is_op(high - 1, high, ";"):
        high -= 1
    selection = read_select(passage, 0, high)
    if selection.watermarks:
        raise PlanFault("WATERMARK ... DELAY OF belongs into a view", where=passage.where(0), hint="put it into CREATE MATERIALIZED VIEW")
    return selection.node


def read_select(passage: Passage, low: int, high: int) -> Selection:
    """The plan of the SELECT that stands between two tokens of a file."""
    if low >= high:
        raise passage.fault("a SELECT is missing here", low, low + 1)
    forbid_query(passage, low, high)
    require_operands(passage, low, high)
    refuse_foreign(passage, low, high)
    notes = Notes()
    node = _query(Reading(passage, notes, _query), low, high)
    start, end = passage.tokens[low].start, passage.tokens[high - 1].end
    plain = substitute(passage.text, ((begin, stop, new.ljust(stop - begin)) for begin, stop, new in notes.masks))
    hidden = "".join(mark if mark == "\n" else " " for mark in passage.text[:start])
    for parts in validate_select(hidden + plain[start:end], passage.file, passage.first_line, shown=passage.text):
        if len(parts) != 1:
            raise relation_fault(passage, low, high, ".".join(parts))
    return Selection(node, dict(notes.watermarks))


def read_expression(passage: Passage, subs: list[Node]) -> str:
    """A scalar expression as a plan holds it, its SELECTs read and moved to `subs`."""
    notes = Notes()
    text = Reading(passage, notes, _query).scalar(0, len(passage.tokens), subs)
    if notes.watermarks:
        raise PlanFault("WATERMARK ... DELAY OF belongs into a view", where=passage.where(0), hint="put it into CREATE MATERIALIZED VIEW")
    return text


def _query(reading: Reading, low: int, high: int) -> Node:
    """[WITH ...] operand {UNION | INTERSECT | EXCEPT operand} [ORDER BY] [LIMIT] [OFFSET]."""
    passage = reading.passage
    body = low
    if passage.word(low, high, "with"):
        reading, body = _ctes(reading, low, high)
    if body >= high:
        raise passage.fault("a SELECT is missing here", high - 1, high)
    before = len(reading.notes.masks)
    try:
        return _set_expression(reading, body, high)
    except NotUnderstood as fault:
        del reading.notes.masks[before:]
        refuse_own_forms(passage, body, high, fault.what)
        return _opaque(reading, body, high)


def _ctes(reading: Reading, low: int, high: int) -> tuple[Reading, int]:
    passage, at = reading.passage, low + 1
    if passage.word(at, high, "recursive"):
        raise passage.fault("a recursive WITH cannot be a view", at, at + 1, "write the levels out, or keep them as a table")
    while True:
        if at >= high or not passage.tokens[at].is_name:
            raise passage.fault("WITH wants a name here", at, at + 1, "WITH name AS (SELECT ...)")
        name, named = passage.tokens[at].value, at
        at += 1
        columns: tuple[str, ...] = ()
        if passage.is_op(at, high, "("):
            close = passage.close(at, high)
            columns = tuple(passage.tokens[i].value for i, _ in passage.split(at + 1, close))
            at = close + 1
        at += passage.word(at, high, "as")
        if not passage.is_op(at, high, "("):
            raise passage.fault(f"the query of `{name}` is missing", named, named + 1, f"WITH {name} AS (SELECT ...)")
        close = passage.close(at, high)
        reading = replace(reading, ctes={**reading.ctes, name.lower(): Cte(name, reading.query(reading, at + 1, close), columns)})
        at = close + 1
        if not passage.is_op(at, high, ","):
            return reading, at
        at += 1


def _set_expression(reading: Reading, low: int, high: int) -> Node:
    passage = reading.passage
    if any(passage.is_op(index, high, "|>") for index in passage.top(low, high)):
        raise NotUnderstood("|>")
    tail = _tail_start(passage, low, high)
    marks = [
        index
        for index in passage.top(low, tail)
        if passage.word(index, tail, *SET_WORDS) and index > low and not passage.is_op(index - 1, tail, "*") and passage.opens_clause(index)
    ]
    node = _operators(reading, low, tail, marks)
    clauses = Clauses.find(passage, low, tail) if not marks and passage.word(low, tail, "select") else None
    windows = {} if clauses is None else named_windows(passage, clauses)
    if clauses is not None and "qualify" in clauses.parts and passage.word(tail, high, "order"):
        raise NotUnderstood("QUALIFY with ORDER BY")  # which may name what only the SELECT saw
    return _tail(reading, node, tail, high, windows)


def _tail_start(passage: Passage, low: int, high: int) -> int:
    """Where ORDER BY, LIMIT or OFFSET begins, outside brackets; `high` where there is none."""
    for index in passage.top(low + 1, high) if low + 1 < high and passage.depths[low + 1] == passage.depths[low] else passage.top(low, high):
        if passage.word(index, high, "order") and passage.word(index + 1, high, "by"):
            return index
        if _is_bound(passage, index, high):
            return index
        if passage.word(index, high, "sort", "cluster", "distribute") and passage.word(index + 1, high, "by"):
            raise NotUnderstood(f"{passage.tokens[index].text.upper()} BY")
    return high


def _is_bound(passage: Passage, index: int, high: int) -> bool:
    """Whether LIMIT or OFFSET stands here as a clause and not as a column of that name."""
    if not passage.word(index, high, "limit", "offset") or index + 1 >= high or not passage.opens_clause(index):
        return False
    after = passage.tokens[index + 1]
    return after.kind in ("number", "string") or after.text == "(" or after.is_word("all", "cast", "int", "least", "greatest")


def _operators(reading: Reading, low: int, high: int, marks: list[int]) -> Node:
    """Operands joined by set operators; INTERSECT binds tighter than the others, which go from left to right."""
    passage = reading.passage
    if not marks:
        return _operand(reading, low, high)
    loose = [mark for mark in marks if not passage.word(mark, high, "intersect")] or marks
    mark = loose[-1]
    left = _operators(reading, low, mark, [entry for entry in marks if entry < mark])
    kind, begin = passage.tokens[mark].text.upper().replace("MINUS", "EXCEPT"), mark + 1
    every = passage.word(begin, high, "all")
    begin += every or passage.word(begin, high, "distinct")
    if passage.word(begin, high, "by"):
        raise passage.fault(f"Spark's SQL has no {kind} BY NAME", begin, begin + 2, "name the columns of both sides, in one order", PlanFault)
    right = _operators(reading, begin, high, [entry for entry in marks if entry > mark])
    where = passage.where(mark)
    if kind != "UNION":
        return SetOperation(left, right, f"{kind} ALL" if every else kind, where=where)
    inputs = (*left.inputs, right) if isinstance(left, Union) else (left, right)
    union = Union(inputs, where=where)
    return union if every else Distinct(union, where=where)


def _operand(reading: Reading, low: int, high: int) -> Node:
    passage = reading.passage
    if low >= high:
        raise passage.fault("a SELECT is missing here", low - 1, low)
    if passage.is_op(low, high, "("):
        close = passage.close(low, high)
        if close != high - 1:
            raise NotUnderstood(passage.tokens[close + 1].text.upper())
        return reading.query(reading, low + 1, close)
    if passage.word(low, high, "select"):
        return block(reading, Clauses.find(passage, low, high))
    if passage.word(low, high, "table") and high == low + 2:
        reading.notes.masks.append((passage.tokens[low].start, passage.tokens[low].end, "from"))
        return Scan(passage.tokens[low + 1].value, where=passage.where(low + 1))
    if passage.word(low, high, "values", "from"):
        raise NotUnderstood(f"a query that begins with {passage.tokens[low].text.upper()}")
    raise passage.fault("a query begins with SELECT or WITH", low, low + 1)


def _tail(reading: Reading, node: Node, low: int, high: int, windows: Mapping[str, str]) -> Node:
    """ORDER BY keys, LIMIT n, OFFSET n above a node; keys may use the windows that its SELECT names."""
    passage, at = reading.passage, low
    keys: tuple[str, ...] = ()
    bounds: dict[str, str] = {}
    subs: list[Node] = []
    if passage.word(at, high, "order"):
        end = next((index for index in passage.top(at + 2, high) if _is_bound(passage, index, high)), high)
        keys = tuple(over(reading.scalar(begin, stop, subs), windows) for begin, stop in passage.split(at + 2, end))
        if len(keys) == 1 and keys[0].lower() == "all":
            raise NotUnderstood("ORDER BY ALL")
        at = end
    while at < high:
        word = passage.tokens[at].text.lower()
        end = next((index for index in passage.top(at + 1, high) if _is_bound(passage, index, high)), high)
        if not _is_bound(passage, at, high) or word in bounds:
            raise NotUnderstood(word.upper())
        bounds[word] = passage.slice(at + 1, end)
        at = end
    if bounds.get("limit", "").lower() == "all":
        del bounds["limit"]
    if not keys and not bounds:
        return node
    return Order(node, by_output(keys, node), bounds.get("limit"), bounds.get("offset"), tuple(subs), where=passage.where(low))


def _opaque(reading: Reading, low: int, high: int) -> Node:
    """The query as one text; WITH entries that it reads are put in front of it."""
    passage = reading.passage
    text = passage.slice(low, high)
    reads: list[str] = []
    for parts in tables(text):
        if len(parts) != 1:
            raise relation_fault(passage, low, high, ".".join(parts))
        reads.append(parts[0])
    used = [reading.ctes[name] for name in dict.fromkeys(map(str.lower, reads)) if name in reading.ctes]
    names: dict[str, None] = dict.fromkeys(name for name in reads if name.lower() not in reading.ctes)
    for cte in used:
        names.update(dict.fromkeys(cte.reads()))
    heads = _heads(used)
    return Opaque(f"WITH {', '.join(heads)} {text}" if heads else text, tuple(names), where=passage.where(low))


def _heads(ctes: list[Cte]) -> list[str]:
    """The WITH entries as text. One that hides what a later one reads, as `s AS (SELECT ... FROM s)` may, is named after all are defined."""
    hides = any(before.name.lower() in map(str.lower, after.reads()) for before, after in combinations(ctes, 2))
    if not hides:
        return [f"{quoted(cte.name)}{cte.heading} AS ({sql(cte.node)})" for cte in ctes]
    defined = [f"__c{index} AS ({sql(cte.node)})" for index, cte in enumerate(ctes)]
    return defined + [f"{quoted(cte.name)}{cte.heading} AS (SELECT * FROM __c{index})" for index, cte in enumerate(ctes)]
