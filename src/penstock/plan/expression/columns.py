"""Which columns an expression names: the words that are left when functions, types, units and keywords are taken out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.plan.expression.tokens import Token, matching
from penstock.plan.expression.words import CLAUSES, FRAME, NILADIC, NOT_COLUMNS, NOT_FUNCTIONS, TIME_UNIT_FIRST, TYPED_LITERALS, UNITS

_COMPARISONS = ("=", "==", "<", ">", "<=", ">=", "<>", "!=", "<=>")


@dataclass(frozen=True)
class ColumnRef:
    """A column named at text[start:end].

    `a.b` may be column b of relation a, or field b of column a: `parts` holds all of it, `qualifier` is all but the last.
    """

    qualifier: str | None
    name: str
    start: int
    end: int
    parts: tuple[str, ...]


def is_call(found: tuple[Token, ...], index: int) -> bool:
    """Whether the name at `index` calls a function: a bracket follows, and it is no keyword there."""
    token = found[index]
    if not token.is_name or index + 1 >= len(found) or found[index + 1].text != "(":
        return False
    if token.kind == "quoted" or (index and found[index - 1].text == "."):
        return True
    word = token.text.lower()
    following = found[index + 2] if index + 2 < len(found) else None
    if word == "filter":
        return following is None or not following.is_word("where")
    if word == "exists":
        return following is None or not (following.is_word("select", "with", "from") or following.text.startswith(("__sub_", "(")))
    if word in ("any", "some", "all"):
        before = found[index - 1] if index else None
        return before is None or not (before.is_word("like", "ilike", "rlike", "group") or before.text in _COMPARISONS)
    return word not in NOT_FUNCTIONS


def read_columns(found: tuple[Token, ...], skipped: frozenset[int]) -> tuple[ColumnRef, ...]:
    """The columns an expression names, without functions, types, units, lambda parameters, keywords and literals."""
    scopes = tuple(_lambdas(found))
    refs: list[ColumnRef] = []
    index = 0
    while index < len(found):
        if not found[index].is_name or index in skipped or (index and found[index - 1].text == "."):
            index += 1
            continue
        last = index
        while last + 2 < len(found) and found[last + 1].text == "." and found[last + 2].is_name:
            last += 2
        parts = tuple(token.value for token in found[index : last + 1 : 2])
        starred = [token.text for token in found[last + 1 : last + 3]] == [".", "*"]
        called = is_call(found, last)
        bound = any(index in body and parts[0].lower() in names for names, body in scopes)
        keyword = last == index and is_keyword(found, index)
        if not (starred or called or bound or keyword):
            qualifier = ".".join(parts[:-1]) or None
            refs.append(ColumnRef(qualifier, parts[-1], found[index].start, found[last].end, parts))
        index = last + 1
    return tuple(refs)


def is_keyword(found: tuple[Token, ...], index: int) -> bool:
    """Whether the name at `index`, which calls nothing, is a word of the language there and not a column."""
    token = found[index]
    if token.kind == "quoted":
        return False
    word = token.text.lower()
    before = found[index - 1] if index else None
    after = found[index + 1] if index + 1 < len(found) else None
    if word in NOT_COLUMNS or word in NILADIC or word.startswith("__sub_"):
        return True
    if before is not None and ((word in ("first", "last") and before.is_word("nulls")) or (word == "nulls" and before.is_word("ignore", "respect"))):
        return True
    if word == "unknown" and before is not None and (before.is_word("is") or (before.is_word("not") and found[index - 2].is_word("is"))):
        return True
    if after is None:
        return False
    if after.kind == "string":
        return word in TYPED_LITERALS
    return after.text in ("=>", "(") or after.is_word(*CLAUSES.get(word, ()))


def not_expression(found: tuple[Token, ...]) -> frozenset[int]:
    """The indexes of tokens that neither name a column nor call a function: types, units, aliases, variant paths, frames."""
    skipped: set[int] = set()
    for index, token in enumerate(found):
        after = found[index + 1] if index + 1 < len(found) else None
        if token.text == "::":
            skipped.update(range(index + 1, _end_of_type(found, index + 1)))
        elif token.text == ":":
            skipped.add(index + 1)
        elif token.is_word("as") and index:
            skipped.update(range(index, _end_of_type(found, index + 1)))
        elif token.is_word("interval") and after is not None:
            skipped.update(interval_words(found, index))
        elif token.is_word("over") and after is not None and after.text != "(":
            skipped.update((index, index + 1))
        elif token.is_word("over") and after is not None:
            skipped.update(_frame(found, index + 1))
        elif token.is_word("collate"):
            skipped.update((index, index + 1))
        elif token.is_word("extract", "trim", *TIME_UNIT_FIRST) and after is not None and after.text == "(":
            skipped.update(_special_first(found, index))
    return frozenset(skipped)


def _end_of_type(found: tuple[Token, ...], index: int) -> int:
    """The index after the type (or plain alias) that begins at `index`."""
    if index < len(found) and found[index].is_word("interval"):
        index += 1
        while index < len(found) and found[index].is_word("to", *UNITS):
            index += 1
        return index
    index += 1
    if index < len(found) and found[index].text == "(" and found[index - 1].kind == "word":
        close = matching(found, index)
        return close + 1 if close >= 0 else len(found)
    depth = 0
    while (index < len(found) and found[index].text in ("<", ">", ">>>", "<>")) or (depth > 0 and index < len(found)):
        text = found[index].text
        depth += text.count("<") - text.count(">")
        index += 1
        if depth <= 0:
            break
    return index


def interval_words(found: tuple[Token, ...], index: int) -> set[int]:
    """INTERVAL '1' DAY, INTERVAL 1 DAY 2 HOURS, INTERVAL n DAY, INTERVAL '1-2' YEAR TO MONTH: the word and its units."""
    skipped: set[int] = set()
    at = index + 1
    while at < len(found):
        start = at
        while at < len(found) and found[at].text in ("+", "-"):
            at += 1
        if at < len(found) and found[at].text == "(":
            at = matching(found, at)
            if at < 0:
                break
        elif at >= len(found) or found[at].kind not in ("number", "string", "word", "quoted"):
            break
        if at + 1 < len(found) and found[at + 1].is_word(*UNITS):
            skipped.update((index, at + 1))
            at += 2
            if at + 1 < len(found) and found[at].is_word("to") and found[at + 1].is_word(*UNITS):
                skipped.update((at, at + 1))
                at += 2
            if at >= len(found) or found[at].kind not in ("number", "string"):
                break
        else:
            if start == index + 1 and found[at].kind == "string":
                skipped.add(index)
            break
    return skipped


def _frame(found: tuple[Token, ...], opening: int) -> set[int]:
    close = matching(found, opening)
    frame = next((i for i in range(opening, close) if found[i].is_word("rows", "range") and i + 1 < close and found[i - 1].text != ","), None)
    if frame is None:
        return set()
    return {i for i in range(frame, close) if found[i].is_word(*FRAME)}


def _special_first(found: tuple[Token, ...], index: int) -> set[int]:
    """`extract(YEAR FROM x)`, `trim(BOTH FROM x)`, `timestampadd(HOUR, 1, x)`: the word that is not a column."""
    first = index + 2
    if first + 1 >= len(found) or found[first].kind != "word":
        return set()
    name, after = found[index].text.lower(), found[first + 1]
    if name == "extract":
        return {first} if after.is_word("from") else set()
    if name == "trim":
        return {first} if found[first].is_word("both", "leading", "trailing") and after.text not in (")", ",", ".") else set()
    return {first} if after.text == "," and found[first].is_word(*UNITS) else set()


def _lambdas(found: tuple[Token, ...]) -> Iterator[tuple[frozenset[str], range]]:
    """Each lambda's parameters, and the tokens where they hide columns of the same name: itself and its body."""
    for arrow, token in enumerate(found):
        if token.text != "->" or arrow == 0:
            continue
        start = arrow - 1
        if found[start].text == ")":
            while start > 0 and found[start].text != "(":
                start -= 1
        names = frozenset(part.value.lower() for part in found[start:arrow] if part.is_name)
        depth, end = 0, arrow + 1
        while end < len(found):
            text = found[end].text
            if depth == 0 and text in (",", ")", "]"):
                break
            depth += (text in ("(", "[")) - (text in (")", "]"))
            end += 1
        yield names, range(start, end)
