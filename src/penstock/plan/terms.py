"""Questions about scalar texts that the cut asks: parts of a condition, group expressions, sort keys."""

from __future__ import annotations

from penstock.plan import scalar
from penstock.plan.grammar import Token, matching, tokens
from penstock.plan.nodes import Aggregate, Item, quoted

_SETS = ("rollup", "cube", "sets")


def conjuncts(text: str) -> list[str]:
    """The parts of a condition that must all hold: split at top-level AND (not the AND of BETWEEN)."""
    found, parts, depth, start, between, cases = tokens(text), [], 0, 0, 0, 0
    for token in found:
        depth += (token.text in "([") - (token.text in ")]") if token.kind == "op" else 0
        if depth:
            continue
        cases += token.is_word("case") - token.is_word("end")
        if token.is_word("or") and not cases:
            return [text.strip()]
        if token.is_word("between"):
            between += 1
        elif token.is_word("and") and between:
            between -= 1
        elif token.is_word("and") and not cases:
            parts.append(text[start : token.start].strip())
            start = token.end
    return [*parts, text[start:].strip()]


def equality(text: str) -> tuple[str, str] | None:
    """The two sides of `a = b`; None where the text is anything else."""
    marks = [token for token in tokens(text) if token.kind == "op" and token.text in ("=", "==", "<=>")]
    compared = any(token.kind == "op" and token.text in ("<", ">", "<=", ">=", "!=", "<>") for token in tokens(text))
    if len(marks) != 1 or compared:
        return None
    return text[: marks[0].start].strip(), text[marks[0].end :].strip()


def _words(text: str) -> list[str]:
    return [_word(token) for token in tokens(text)]


def _word(token: Token) -> str:
    return token.value.lower() if token.is_name else token.text


def occurrences(text: str, expression: str) -> list[tuple[int, int]]:
    """Where `expression` stands in `text`, word for word; a column is also found with or without its qualifier.

    A time window is found by its call and by the column name that Spark gives it.
    """
    found = tokens(text)
    window = scalar.window_call(expression)
    forms = [_words(expression)]
    plain = scalar.output_name(expression)
    if window is not None:
        forms.append(["session_window" if window.kind == "session" else "window"])
    elif plain is not None:
        forms.append([plain.lower()])
    spans: list[tuple[int, int]] = []
    for form in sorted(forms, key=len, reverse=True):
        for at in range(len(found) - len(form) + 1):
            window_tokens = found[at : at + len(form)]
            start, end = window_tokens[0].start, window_tokens[-1].end
            if [_word(token) for token in window_tokens] != form or any(start < done[1] and done[0] < end for done in spans):
                continue
            called = at + len(form) < len(found) and found[at + len(form)].text == "("
            field = at > 0 and found[at - 1].text == "."
            if len(form) == 1 and plain is not None and field and at > 1 and found[at - 2].is_name:
                start, field = found[at - 2].start, False
            if not called and not field:
                spans.append((start, end))
    return spans


def distinct_arguments(call: str) -> list[str]:
    """The arguments of `f(DISTINCT a, b)`."""
    found = tokens(call)
    opening = next(index for index, token in enumerate(found) if token.text == "(")
    closing = matching(found, opening)
    return list(scalar.split_top(call[found[opening + 1].end : found[closing].start], ","))


def is_group_by_all(node: Aggregate) -> bool:
    return node.grouping is not None and node.grouping.strip().lower() == "all"


def grouping_expressions(node: Aggregate) -> tuple[str, ...]:
    """Every expression that the aggregate groups by, also those inside ROLLUP, CUBE and GROUPING SETS."""
    if node.grouping is None:
        return node.groups
    if is_group_by_all(node):
        return tuple(item.text for item in node.items if not scalar.aggregate_calls(item.text))
    return tuple(dict.fromkeys(_inside_sets(node.grouping)))


def _inside_sets(text: str) -> list[str]:
    """The plain expressions of a grouping text, brackets of sets taken off."""
    result: list[str] = []
    for part in scalar.split_top(text, ","):
        found = tokens(part)
        heads = [index for index, token in enumerate(found) if token.text == "("]
        wraps = bool(heads) and matching(found, heads[0]) == len(found) - 1 and (heads[0] == 0 or found[heads[0] - 1].is_word(*_SETS))
        if wraps:
            result += _inside_sets(part[found[heads[0]].end : found[-1].start])
        elif part.strip():
            result.append(part.strip())
    return result


def item_name(item: Item) -> str:
    """The output name of an item; empty where only Spark knows it."""
    return item.name or scalar.output_name(item.text) or ""


def is_group(text: str, group: str) -> bool:
    """True where an item's text is the group itself."""
    if scalar.same(text, group):
        return True
    window = scalar.window_call(group)
    if window is not None:
        return text.strip().lower() == ("session_window" if window.kind == "session" else "window")
    left, right = scalar.output_name(text), scalar.output_name(group)
    return left is not None and right is not None and left.lower() == right.lower()


def unaliased(text: str, items: tuple[Item, ...]) -> str:
    """`text` with the aliases of a select list replaced by what they stand for, as HAVING and ORDER BY see them.

    An alias hides a column of the same name; inside an aggregate function there are only columns.
    """
    named = {item.name.lower(): item.text for item in items if item.name is not None and not is_group(item.text, item.name)}
    inside = [(call.start, call.end) for call in scalar.aggregate_calls(text)]
    spans = [
        (ref.start, ref.start + len(quoted(ref.parts[0]) if text[ref.start] == "`" else ref.parts[0]), f"({named[ref.parts[0].lower()]})")
        for ref in scalar.column_refs(text)
        if ref.parts[0].lower() in named and not any(low <= ref.start < high for low, high in inside)
    ]
    return scalar.substitute(text, spans)


def sort_direction(key: str) -> tuple[str, str]:
    """A sort key apart: the expression, and `DESC NULLS LAST` or whatever follows it."""
    found = tokens(key)
    for index, token in enumerate(found):
        tail = found[index:]
        if token.is_word("asc", "desc", "nulls") and all(part.is_word("asc", "desc", "nulls", "first", "last") for part in tail):
            return key[: token.start].strip(), key[token.start :].strip()
    return key.strip(), ""
