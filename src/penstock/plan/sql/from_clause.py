"""The FROM clause: names, subqueries, joins, LATERAL VIEW, table functions."""

from __future__ import annotations

from penstock.errors import PlanFault, TypeFault
from penstock.eventtime import delay, format_interval
from penstock.plan.expression.forbid import relation_fault, table_function
from penstock.plan.expression.grammar import tables
from penstock.plan.expression.passage import Passage
from penstock.plan.expression.words import UNITS, words
from penstock.plan.model.matching import matched
from penstock.plan.model.nodes import Alias, Generate, Join, Node, Opaque, Scan
from penstock.plan.sql import match_recognize, operators, window_functions
from penstock.plan.sql.reading import NotUnderstood, Reading

_KINDS = ("inner", "left", "right", "full", "cross", "semi", "anti", "natural", "outer", "join")
_BEYOND = ("pivot", "unpivot", "tablesample", "for", "version", "timestamp", "with")
NO_ALIAS = words("on using lateral where group having order limit watermark as match_recognize union except intersect minus window qualify") | {
    *_KINDS,
    *_BEYOND,
}


def from_clause(reading: Reading, low: int, high: int, bare: bool = False) -> Node:
    """The relations of a FROM clause as one node. `bare`: a window function in it stands for the relation it reads."""
    passage = reading.passage
    end = next((index for index in passage.top(low, high) if _lateral_view(passage, index, high)), high)
    node: Node | None = None
    for begin, stop in _merged_values(passage, passage.split(low, end)):
        lateral = passage.word(begin, stop, "lateral")
        right = _joins(reading, begin, stop, bare)
        node = right if node is None else Join(node, right, "cross", lateral=lateral, where=passage.where(begin))
    assert node is not None  # split gives at least one range
    while end < high:
        stop = next((index for index in passage.top(end + 2, high) if _lateral_view(passage, index, high)), high)
        beyond = next((index for index in range(end, stop) if passage.word(index, stop, *_BEYOND, "select")), None)
        if beyond is not None:
            raise NotUnderstood(passage.tokens[beyond].text.upper())
        node = Generate(node, passage.slice(end, stop), where=passage.where(end))
        end = stop
    return node


def _merged_values(passage: Passage, parts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """VALUES (1), (2) AS t: the commas between its rows do not separate relations."""
    merged: list[tuple[int, int]] = []
    for begin, stop in parts:
        if merged and passage.word(merged[-1][0], begin, "values") and _values(passage, *merged[-1])[1] == merged[-1][1]:
            merged[-1] = (merged[-1][0], stop)
        else:
            merged.append((begin, stop))
    return merged


def _lateral_view(passage: Passage, index: int, high: int) -> bool:
    return passage.word(index, high, "lateral") and passage.word(index + 1, high, "view")


def _joins(reading: Reading, low: int, high: int, bare: bool) -> Node:
    """relation {[kind] JOIN relation [ON ... | USING (...)]}."""
    passage = reading.passage
    node, at = _relation(reading, low, high, bare)
    while at < high:
        kind, right_low = _join_kind(passage, at, high)
        lateral = passage.word(right_low, high, "lateral")
        right, after = _relation(reading, right_low, high, bare)
        where = passage.where(at)
        on: str | None = None
        using: tuple[str, ...] = ()
        subs: list[Node] = []
        if passage.word(after, high, "on"):
            end = next((index for index in passage.top(after + 1, high) if _begins_join(passage, index, high)), high)
            if end == after + 1:
                raise passage.fault("the condition of this join is missing", after, after + 1)
            on, after = reading.scalar(after + 1, end, subs), end
        elif passage.word(after, high, "using") and passage.is_op(after + 1, high, "("):
            close = passage.close(after + 1, high)
            using, after = tuple(passage.tokens[begin].value for begin, _ in passage.split(after + 2, close)), close + 1
        node = Join(node, right, kind, on, using, tuple(subs), lateral, where=where)
        at = after
    return node


def _begins_join(passage: Passage, index: int, high: int) -> bool:
    """Whether a join begins here; `left(a, 1)` is a function."""
    if not passage.word(index, high, *_KINDS) or passage.is_op(index - 1, high, "."):
        return False
    if passage.word(index, high, "join"):
        return True
    return passage.word(index + 1, high, *_KINDS)


def _join_kind(passage: Passage, low: int, high: int) -> tuple[str, int]:
    """The kind of the join that begins at `low`, and where its right side begins."""
    at = low
    words: list[str] = []
    while passage.word(at, high, *_KINDS):
        words.append(passage.tokens[at].text.lower())
        at += 1
        if words[-1] == "join":
            break
    if not words or words[-1] != "join":
        if passage.word(low, high, *_BEYOND):
            raise NotUnderstood(passage.tokens[low].text.upper())
        hint = "a table takes one alias; joins are written a JOIN b ON ..."
        raise passage.fault(f"`{passage.tokens[low].text}` is not expected in FROM", low, low + 1, hint)
    if "natural" in words:
        raise NotUnderstood("NATURAL JOIN")
    if at >= high:
        raise passage.fault("the table to join with is missing", at - 1, at)
    return next((word for word in ("semi", "anti", "left", "right", "full", "cross") if word in words), "inner"), at


def join_words(passage: Passage, low: int, join: int) -> tuple[str, ...]:
    """The words that say the kind of the join whose word JOIN stands at `join`, and not before `low`."""
    begin = join
    while begin > low and passage.word(begin - 1, join, *_KINDS):
        begin -= 1
    return tuple(passage.tokens[index].text.lower() for index in range(begin, join))


def _relation(reading: Reading, low: int, high: int, bare: bool) -> tuple[Node, int]:
    """One relation with its alias, and the index after it."""
    passage = reading.passage
    node, at = _primary(reading, low + passage.word(low, high, "lateral"), high, bare)
    aliased = at
    name, columns, at = alias(passage, at, high)
    if passage.word(at, high, "watermark"):
        aliased = at
        at = _watermark(reading, node, at, high)
        if name is None:
            name, columns, at = alias(passage, at, high)
    if name is not None and isinstance(node, Join):
        raise NotUnderstood("an alias of a join")
    recognized = match_recognize.read(passage, at, high)
    if recognized is not None:
        _hide(reading, aliased, recognized.next)  # with the alias before it: the matches may have another
        node = matched((node,), recognized.pattern, recognized.keys, recognized.order, where=passage.where(at))
        name, columns, at = alias(passage, recognized.next, high)
    if name is None:
        return node, at
    inner = node.input if isinstance(node, Alias) and not node.columns else node
    return Alias(inner, name, columns, where=passage.where(low)), at


def alias(passage: Passage, low: int, high: int) -> tuple[str | None, tuple[str, ...], int]:
    """The alias of a relation that ends at `low`, its names for columns, and the index after it."""
    at = low + passage.word(low, high, "as")
    if at >= high or not passage.tokens[at].is_name or (passage.tokens[at].kind == "word" and passage.tokens[at].text.lower() in NO_ALIAS):
        return None, (), low
    name = passage.tokens[at].value
    if not passage.is_op(at + 1, high, "("):
        return name, (), at + 1
    close = passage.close(at + 1, high)
    return name, tuple(passage.tokens[begin].value for begin, _ in passage.split(at + 2, close)), close + 1


def _primary(reading: Reading, low: int, high: int, bare: bool) -> tuple[Node, int]:
    passage = reading.passage
    if low >= high:
        raise passage.fault("a table is missing here", low - 1, low)
    windowed = window_functions.read(passage, low, high)
    if windowed is not None:
        _hide(reading, low, windowed.source[0])
        _hide(reading, windowed.source[1], windowed.next)
        if windowed.column == "session_window" and not bare:
            hint = "add GROUP BY window_start, window_end and what it is partitioned by"
            raise passage.fault("a session is known only when it is grouped", low, low + 1, hint, PlanFault)
        source, _ = _relation(reading, *windowed.source, False)
        return (source if bare else windowed.rows(source)), windowed.next
    operator = operators.read(passage, low, high)
    if operator is not None:
        _hide(reading, low, operator.source[0])
        _hide(reading, operator.source[1], operator.next)
        source, after = _relation(reading, *operator.source, False)
        if after != operator.source[1]:
            raise passage.fault("an operator reads one relation", after, operator.source[1], "put a join in brackets: (SELECT ... FROM a JOIN b ...)")
        return operator.node(source, passage.where(low)), operator.next
    if passage.is_op(low, high, "("):
        close = passage.close(low, high)
        if passage.word(low + 1, close, "select", "with", "values", "from") or passage.is_op(low + 1, close, "("):
            return reading.query(reading, low + 1, close), close + 1
        return from_clause(reading, low + 1, close), close + 1
    if passage.word(low, high, "values"):
        return _values(passage, low, high)
    if passage.word(low, high, "stream") and low + 1 < high:
        if passage.is_op(low + 1, high, "("):
            close = passage.close(low + 1, high)
            _hide(reading, low, low + 2)
            _hide(reading, close, close + 1)
            return _primary(reading, low + 2, close, bare)[0], close + 1
        if passage.tokens[low + 1].is_name and not (passage.tokens[low + 1].kind == "word" and passage.tokens[low + 1].text.lower() in NO_ALIAS):
            _hide(reading, low, low + 1)
            return _primary(reading, low + 1, high, bare)
    return _named(reading, low, high)


def _named(reading: Reading, low: int, high: int) -> tuple[Node, int]:
    """A stream, table, view or WITH entry by its name; or a function that gives rows."""
    passage, token = reading.passage, reading.passage.tokens[low]
    if not token.is_name:
        raise passage.fault("the name of a stream, table or view is missing here", low, low + 1)
    if passage.is_op(low + 1, high, "("):
        table_function(passage, low, high)
        close = passage.close(low + 1, high)
        text = f"SELECT * FROM {passage.slice(low, close + 1)}"
        return Opaque(text, _single(tables(text)), where=passage.where(low)), close + 1
    if passage.is_op(low + 1, high, "."):
        end = low + 1
        while passage.is_op(end, high, "."):
            end += 2
        raise relation_fault(passage, low, min(end, high))
    cte = reading.ctes.get(token.value.lower())
    if cte is not None:
        return Alias(cte.node, cte.name, cte.columns, where=passage.where(low)), low + 1
    return Scan(token.value, where=passage.where(low)), low + 1


def _values(passage: Passage, low: int, high: int) -> tuple[Node, int]:
    """VALUES (1, 'a'), (2, 'b'): commas go on while an expression follows, so it must be the whole of its range or end in an alias."""
    at = low + 1
    while (
        at < high and not passage.word(at, high, *NO_ALIAS) and not (at > low + 1 and passage.tokens[at].is_name and passage.is_op(at - 1, high, ")"))
    ):
        at = passage.close(at, high) + 1 if passage.is_op(at, high, "(") else at + 1
    text = passage.slice(low, at)
    return Opaque(text, _single(tables(text)), where=passage.where(low)), at


def _single(names: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    return tuple(parts[0] for parts in names if len(parts) == 1)


def _watermark(reading: Reading, node: Node, low: int, high: int) -> int:
    """WATERMARK c DELAY OF INTERVAL ...: noted for the view, hidden from the syntax check."""
    passage = reading.passage
    at = next((index for index in range(low, high) if passage.word(index, high, "delay") and passage.word(index + 1, high, "of")), -1)
    source = node.input if isinstance(node, Alias) else node
    if at != low + 2 or not isinstance(source, Scan):
        raise passage.fault(
            "a watermark is declared on a column of a stream", low, low + 1, "FROM STREAM t WATERMARK at DELAY OF INTERVAL 10 SECONDS"
        )
    end = min(high, at + 3 + passage.word(at + 2, high, "interval"))
    while passage.word(end, high, "to", *UNITS):
        end += 1
    try:
        late = delay(passage.slice(at + 2, end))
    except TypeFault as fault:
        raise passage.fault(fault.message, at + 2, end + 1, "WATERMARK at DELAY OF INTERVAL 10 SECONDS", TypeFault) from None
    reading.notes.watermarks[source.name] = (passage.tokens[low + 1].value, format_interval(late))
    _hide(reading, low, end)
    return end


def _hide(reading: Reading, low: int, high: int) -> None:
    """Keep tokens from the syntax check, which does not know this form."""
    if low < high:
        found = reading.passage.tokens
        reading.notes.masks.append((found[low].start, found[high - 1].end, ""))
