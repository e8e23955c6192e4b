"""Window functions in FROM, as Flink and RisingWave write them: TUMBLE, HOP and SESSION in terms of Spark's window().

FROM TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '10' MINUTES)  GROUP BY window_start, window_end
FROM t                                                       GROUP BY window(at, '10 MINUTES')
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.errors import PlanFault, TypeFault
from penstock.eventtime import format_interval, interval
from penstock.plan.expression.columns import ColumnRef
from penstock.plan.expression.parsed import parsed, substitute
from penstock.plan.expression.passage import Passage
from penstock.plan.model.nodes import Aggregate, Item, Node, Project
from penstock.plan.model.terms import is_group

WINDOW_FUNCTIONS = {
    "tumble": ("data", "timecol", "size", "offset"),
    "hop": ("data", "timecol", "slide", "size", "offset"),
    "session": ("data", "timecol", "gap"),
    "cumulate": ("data", "timecol", "step", "size"),
}
# Spark's own window_time() is the same, but does not see that it is made of the group.
INSTANT = "INTERVAL '0.000001' SECOND"
_COLUMNS = ("window_start", "window_end", "window_time")


@dataclass(frozen=True)
class Windowed:
    """A window function in FROM: the relation it reads (a range of tokens), Spark's text for it, and where it begins and ends.

    `name` is the one that its columns may be qualified by; `joined` says that it is not all of its FROM clause.
    """

    source: tuple[int, int]
    text: str
    place: int
    next: int
    partition: tuple[str, ...] = ()
    name: str | None = None
    joined: bool = False

    @property
    def column(self) -> str:
        return self.text.split("(")[0]

    def grouped(self, groups: tuple[str, ...]) -> bool:
        """Whether the window is one of the groups, and so is all that it is partitioned by."""
        return any(map(self._is_column, groups)) and all(any(is_group(part, group) for group in groups) for part in self.partition)

    def is_window(self, text: str) -> bool:
        """Whether an expression is made of the window's columns alone."""
        refs = parsed(text).columns
        return bool(refs) and all(map(self._is_own, refs))

    def _is_own(self, ref: ColumnRef) -> bool:
        qualifier = None if ref.qualifier is None else ref.qualifier.lower()
        return names_window(ref) and (qualifier is None or qualifier == (self.name or "").lower())

    def _is_column(self, text: str) -> bool:
        refs = parsed(text).columns
        return len(refs) == 1 and self._is_own(refs[0]) and (refs[0].start, refs[0].end) == (0, len(text))

    def aggregate(self, node: Aggregate) -> Aggregate:
        """The aggregate with window_start, window_end, window_time and what is made of them in terms of one window of Spark."""
        groups = dict.fromkeys(self.text if self.is_window(group) else group for group in node.groups)
        items = (
            Item(self.rewritten(item.text), item.name or (parsed(item.text).output_name if self._is_column(item.text) else None))
            for item in node.items
        )
        having = None if node.having is None else self.rewritten(node.having)
        return replace(node, groups=tuple(groups), items=tuple(items), having=having, written=None)

    def rewritten(self, text: str) -> str:
        """The text with the window's columns as fields of Spark's window."""
        fields = {"window_start": f"{self.column}.start", "window_end": f"{self.column}.end", "window_time": f"{self.column}.end - {INSTANT}"}
        if self._is_column(text):
            return fields[parsed(text).columns[0].name.lower()]
        fields["window_time"] = f"({fields['window_time']})"
        return substitute(text, ((ref.start, ref.end, fields[ref.name.lower()]) for ref in parsed(text).columns if self._is_own(ref)))

    def rows(self, input: Node) -> Project:
        """The input's rows, each with the window it falls into."""
        start, end = (Item(f"{self.text}.{field}", f"window_{field}") for field in ("start", "end"))
        time = Item(f"{self.text}.end - {INSTANT}", "window_time")
        return Project(input, (Item("*"), start, end, time), where=input.where)


def names_window(ref: ColumnRef) -> bool:
    """Whether a column bears a name that a window function gives."""
    return ref.name.lower() in _COLUMNS and len(ref.parts) <= 2


def read(passage: Passage, low: int, high: int) -> Windowed | None:
    """The window function at `low`, with or without TABLE(...) around it."""
    if passage.word(low, high, "table") and passage.is_op(low + 1, high, "("):
        inner = read(passage, low + 2, high)
        return None if inner is None else replace(inner, place=low, next=passage.close(low + 1, high) + 1)
    if not passage.word(low, high, *WINDOW_FUNCTIONS) or not passage.is_op(low + 1, high, "("):
        return None
    word, close = passage.tokens[low].text.lower(), passage.close(low + 1, high)
    if word == "cumulate":
        raise passage.fault(
            "CUMULATE windows are not available", low, low + 1, "use a tumbling window with EMIT CHANGES: it shows the total so far", PlanFault
        )
    given = _arguments(passage, low, close, WINDOW_FUNCTIONS[word])
    missing = [name for name in WINDOW_FUNCTIONS[word] if name not in given and name != "offset"]
    if missing:
        spans = ", ".join(f"INTERVAL ... /* {name} */" for name in WINDOW_FUNCTIONS[word][2:] if name != "offset")
        hint = f"{word.upper()}(TABLE t, DESCRIPTOR(at), {spans})"
        raise passage.fault(f"{word.upper()} wants {len(WINDOW_FUNCTIONS[word]) - (word != 'session')} arguments", low, close + 1, hint)
    source_low, source_high = given["data"]
    source_low += passage.word(source_low, source_high, "table")
    cut = next((index for index in passage.top(source_low, source_high) if passage.word(index, source_high, "partition")), source_high)
    return Windowed((source_low, cut), _spark_text(passage, word, given), low, close + 1, _partition(passage, cut + 2, source_high))


def _partition(passage: Passage, low: int, high: int) -> tuple[str, ...]:
    """What follows PARTITION BY, with or without brackets around it."""
    if passage.is_op(low, high, "(") and passage.close(low, high) == high - 1:
        low, high = low + 1, high - 1
    return tuple(passage.slice(*part) for part in passage.split(low, high)) if low < high else ()


def _arguments(passage: Passage, low: int, close: int, names: tuple[str, ...]) -> dict[str, tuple[int, int]]:
    given: dict[str, tuple[int, int]] = {}
    parts = passage.split(low + 2, close)
    more = len(parts) - len(names) if any(passage.word(index, close, "partition") for index in range(*parts[0])) else 0
    if more > 0:  # TABLE t PARTITION BY a, b: the commas belong to the first argument
        parts = [(parts[0][0], parts[more][1]), *parts[more + 1 :]]
    for position, (begin, end) in enumerate(parts):
        if passage.is_op(begin + 1, end, "=>"):
            given[passage.tokens[begin].value.lower()] = (begin + 2, end)
        elif position < len(names):
            given[names[position]] = (begin, end)
    return given


def _spark_text(passage: Passage, word: str, given: dict[str, tuple[int, int]]) -> str:
    low, high = given["timecol"]
    described = passage.word(low, high, "descriptor") and passage.is_op(low + 1, high, "(") and passage.close(low + 1, high) == high - 1
    time = passage.slice(low + 2, high - 1) if described else passage.slice(low, high)
    if word == "session":
        return f"session_window({time}, {_duration(passage, *given['gap'])})"
    durations = [_duration(passage, *given["size"])]
    if "slide" in given or "offset" in given:
        durations.append(_duration(passage, *given.get("slide", given["size"])))
    if "offset" in given:
        durations.append(_duration(passage, *given["offset"]))
    return f"window({time}, {', '.join(durations)})"


def _duration(passage: Passage, low: int, high: int) -> str:
    """The duration as Spark's own words: what the user wrote is read and printed again, so that no text of a string becomes SQL."""
    found = passage.tokens[low:high]
    text = found[0].value if len(found) == 1 and found[0].kind == "string" else ""
    if found[0].is_word("interval"):
        text = " ".join(f"'{token.value}'" if token.kind == "string" else token.text for token in found)
    try:
        return f"'{format_interval(interval(text))}'"
    except TypeFault as fault:
        raise passage.fault("this is not a duration", low, high, fault.hint or "write INTERVAL '10' MINUTES") from None
