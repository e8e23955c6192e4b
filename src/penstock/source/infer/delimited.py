"""Lines of values: between which marks they stand, whether the first line names them, and what the rest are."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.errors import SourceError
from penstock.formats import NO_QUOTE
from penstock.source.infer.sample import Sample
from penstock.source.infer.types import NULL_MARKS, Kind, kind_of_texts, null_mark

_DELIMITERS = (",", ";", "\t", "|")
_AGREEING = 0.95
_ROWS_MAX = 50_000
_HEADLINE = re.compile(r"[^\W\d][^\n]{0,99}")
_EXCEL = re.compile(r"(?i)sep=[,;\t|]?\r?\n")


@dataclass(frozen=True)
class Delimited:
    """What a text of csv holds: options that read it, the names and kinds of its columns in their order."""

    options: dict[str, str]
    columns: tuple[tuple[str, Kind], ...]
    assumed: tuple[str, ...] = ()


def delimited(sample: Sample, *, surely: bool) -> Delimited | None:
    """None where the lines have no common shape; `surely`: it is csv, so one column will do."""
    _require_no_preface(sample.text)
    chosen = _dialect(sample.text, surely)
    if chosen is None:
        return None
    delimiter, quote, escape = chosen
    rows = _rows(sample.text, delimiter, quote, escape)
    if not rows:
        return None
    width = Counter(map(len, rows)).most_common(1)[0][0]
    head = rows[0]
    is_header = _is_header(head, rows[1:])
    if is_header:
        width = max(width, len(head)) if width != len(head) and len(rows) < 3 else width
    tail = _rows(sample.tail, delimiter, quote, escape)[1:-1] if sample.tail else []
    body = [row for row in [*(rows[1:] if is_header else rows), *tail] if len(row) == width]
    names = _names(head, width) if is_header else [f"c{place + 1}" for place in range(width)]
    options = _options(delimiter, quote, escape, sample.encoding) | ({"header": "true"} if is_header else {})
    if any("\n" in value for row in rows for value in row) or sample.encoding.startswith("utf-16"):
        options["multiline"] = "true"
    assumed = [] if is_header else ["the first line names no columns: they are c1, c2, ..."]
    return _typed(options, names, body, assumed)


def _require_no_preface(text: str) -> None:
    """SourceError for lines above the table, which Spark would read as its header and its first records."""
    first = text.partition("\n")[0].rstrip("\r")
    if _EXCEL.match(text):
        raise SourceError(f"its first line `{first}` is no record: only Excel reads it", hint="remove the line, or save the file without it")
    lines = text.split("\n", 50)[:50]
    notes = next((place for place, line in enumerate(lines) if not line.startswith("#")), 0)
    if notes and notes < len(lines) and any(lines[notes].count(mark) > lines[notes - 1].count(mark) for mark in _DELIMITERS):
        raise SourceError(
            f"it begins with {notes} line{'s' * (notes > 1)} of comments (`{first[:40]}`), which are no records", hint="remove them: grep -v '^#'"
        )


def _typed(options: dict[str, str], names: Sequence[str], body: Sequence[Sequence[str]], assumed: list[str]) -> Delimited:
    bare = [[row[place] for row in body] for place in range(len(names))]
    columns = [(name, [value for value in dict.fromkeys(values) if value]) for name, values in zip(names, bare, strict=True)]
    if any(_needs_trim(name, values) for name, values in columns):
        options["trim"] = "true"
        columns = [(name, [stripped for value in values if (stripped := value.strip())]) for name, values in columns]
    mark = null_mark(columns)
    if mark is not None:
        options["null_value"] = mark
        assumed.append(f"`{mark}` stands for NULL")
        columns = [(name, [value for value in values if value != mark]) for name, values in columns]
    kinds = [kind_of_texts(name, values) for name, values in columns]
    if any(kind.comma for kind in kinds):
        options["decimal"] = ","
        kinds = [_beside_commas(kind, name, values) for kind, (name, values) in zip(kinds, columns, strict=True)]
    left = _left_as_text(columns, kinds)
    assumed += [f"`{name}` is text: some of its values are no numbers or times, as others are" for name in left]
    return Delimited(options, tuple(zip(names, kinds, strict=True)), tuple(assumed))


def _left_as_text(columns: Sequence[tuple[str, Sequence[str]]], kinds: Sequence[Kind]) -> list[str]:
    return [name for (name, values), kind in zip(columns, kinds, strict=True) if kind.type == "STRING" and _almost_typed(name, values)]


def _beside_commas(kind: Kind, name: str, values: Sequence[str]) -> Kind:
    """A number with a point is thousands where commas stand before decimals: a DECIMAL would be read so, a DOUBLE is not."""
    if kind.type.startswith("DECIMAL") and not kind.comma:
        return kind_of_texts(name, values, comma=True) if any("," in value for value in values) else Kind("DOUBLE")
    return kind


def _almost_typed(name: str, values: Sequence[str]) -> bool:
    kinds = Counter(kind_of_texts(name, [value]).type for value in values[:200] if value not in NULL_MARKS)
    return bool(kinds) and kinds["STRING"] * 5 < kinds.total() and kinds["STRING"] > 0


def _needs_trim(name: str, values: Sequence[str]) -> bool:
    """Whether blanks around the values keep them from being numbers or times."""
    if not any(value != value.strip() for value in values):
        return False
    stripped = [bare for value in values if (bare := value.strip())]
    return kind_of_texts(name, stripped).type != "STRING" or len(stripped) < len(values)


def _dialect(text: str, surely: bool) -> tuple[str, str, str] | None:
    escape = "\\" if '\\"' in text and '""' not in text.replace(',""', "").replace('"",', "") else '"'
    quote = "'" if '"' not in text and re.search(r"(?m)(?:^|[,;\t|])'[^'\n]*'(?:[,;\t|]|\r?$)", text) else '"'
    best: tuple[float, int, str] | None = None
    for delimiter in _DELIMITERS:
        width, agreement = _agreement(_rows(text[:200_000], delimiter, quote, escape)[:2000])
        if width > 1 and agreement >= (0.5 if surely else _AGREEING) and (best is None or (agreement, width) > best[:2]):
            best = (agreement, width, delimiter)
    if best is None:
        return (",", quote, escape) if surely else None
    return best[2], NO_QUOTE if _are_letters(text, best[2], quote, escape) else quote, escape


def _agreement(rows: Sequence[Sequence[str]]) -> tuple[int, float]:
    """How many values most rows have, and the share of these rows."""
    widths = Counter(map(len, rows))
    if not widths:
        return 0, 0.0
    width, number = widths.most_common(1)[0]
    return width, number / widths.total()


def _are_letters(text: str, delimiter: str, quote: str, escape: str) -> bool:
    """Whether quotes are letters like others: as marks they swallow line breaks and are not closed as marks are, and each line alone is a row."""
    if not any("\n" in value for row in _rows(text, delimiter, quote, escape) for value in row):
        return False
    return not _is_strict(text, delimiter, quote, escape) and _agreement(_rows(text, delimiter, NO_QUOTE, escape))[1] >= _AGREEING


def _is_strict(text: str, delimiter: str, quote: str, escape: str) -> bool:
    try:
        deque(_reader(text, delimiter, quote, escape, strict=True), maxlen=0)
    except csv.Error:
        return False
    return True


def _rows(text: str, delimiter: str, quote: str, escape: str) -> list[list[str]]:
    found: list[list[str]] = []
    try:
        for row in _reader(text, delimiter, quote, escape):
            if row and len(found) < _ROWS_MAX:
                found.append(row)
    except csv.Error:
        return found
    return found


def _reader(text: str, delimiter: str, quote: str, escape: str, *, strict: bool = False) -> Iterator[list[str]]:
    lines = io.StringIO(text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", ""), newline="\n")
    if quote == NO_QUOTE:
        return csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    own = None if escape == quote else escape
    return csv.reader(lines, delimiter=delimiter, quotechar=quote, doublequote=own is None, escapechar=own, strict=strict)


def _is_header(head: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Names: texts that begin with a letter, differ from what stands below them, over at least one column that is more than text."""
    named = [name.strip() for name in head if name.strip()]
    if not named or not all(_HEADLINE.fullmatch(name) for name in named) or len(named) < len(head) - 1:
        return False
    same_width = [row for row in body if len(row) == len(head)]
    if not same_width:
        return True
    columns = [[row[place].strip() for row in same_width if row[place].strip()] for place in range(len(head))]
    if any(name.strip() in column for name, column in zip(head, columns, strict=True) if name.strip()):
        return False
    typed = any(kind_of_texts("", [value for value in column if value not in NULL_MARKS]).type != "STRING" for column in columns)
    return typed or all(re.fullmatch(r"[\w .-]{1,40}", name) for name in named)


def _names(head: Sequence[str], width: int) -> list[str]:
    """One name for each column, none twice, whatever their case."""
    names: list[str] = []
    for place in range(width):
        wanted = head[place].strip() if place < len(head) and head[place].strip() else f"c{place + 1}"
        taken, name, number = {known.lower() for known in names}, wanted, 2
        while name.lower() in taken or name.startswith("__"):
            name, number = f"{wanted.lstrip('_')}_{number}", number + 1
        names.append(name)
    return names


def _options(delimiter: str, quote: str, escape: str, encoding: str) -> dict[str, str]:
    given = {"delimiter": "\\t" if delimiter == "\t" else delimiter, "quote": quote, "escape": escape, "encoding": encoding}
    usual = {"delimiter": ",", "quote": '"', "escape": '"', "encoding": "utf-8"}
    return {name: value for name, value in given.items() if value != usual[name]}
