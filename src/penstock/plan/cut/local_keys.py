"""The columns to whose values a plan over several inputs is local: for each value its rows come from the input rows with that value alone.

`OVER (PARTITION BY k)`, GROUP BY k, DISTINCT, a join or a correlated subquery on k are local to k; a LIMIT over everything is local to
nothing. A key names an expression of *every* input that the plan reads, for all of them are grouped by it.

Where a select list drops a key that is wanted, the key travels on as a hidden column, so that every row of the result says its group.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from penstock.plan.expression.parsed import parsed
from penstock.plan.model import terms
from penstock.plan.model.nodes import (
    Aggregate,
    Alias,
    Distinct,
    Filter,
    Generate,
    Item,
    Join,
    Node,
    Opaque,
    Operate,
    Order,
    Project,
    Scan,
    SetOperation,
    Union,
    names_read,
)
from penstock.schema import quote

Sources = frozenset[tuple[str, str]]
HIDDEN = "__p_"
# Sides whose columns hold their own values in the result of a join, not NULL for want of a partner.
_PRESERVED = {
    "inner": (True, True),
    "cross": (True, True),
    "left": (True, False),
    "right": (False, True),
    "semi": (True, False),
    "anti": (True, False),
}
_IN_SUBQUERY = re.compile(r"^(?P<column>[\w.`]+)\s+in\s*\(\s*__sub_(?P<sub>\d+)__\s*\)$", re.IGNORECASE)


@dataclass(frozen=True)
class Key:
    """A local column: the expression of each input that it is (`sources`), and how it is named here; no `name`: only by its `text`."""

    sources: Sources
    text: str
    name: str | None = None
    qualifier: str | None = None


def joined(one: Sources, other: Sources) -> Sources | None:
    """Both at once; None where they want one input grouped by two different things."""
    both = one | other
    return both if len({name for name, _ in both}) == len(both) else None


@dataclass(frozen=True)
class LocalKeys:
    """Finds local keys in a plan over `inputs` (name and columns of each); `wanted`: those that are to travel to the result."""

    inputs: Mapping[str, Sequence[str]]
    wanted: frozenset[Sources] = frozenset()

    def of(self, node: Node, *, hide: bool = True) -> tuple[Node, tuple[Key, ...] | None]:
        """The plan, carrying what is wanted, and its keys: None where it reads none of the inputs. Without `hide` only visible keys count."""
        if not self._reads(node):
            return node, None
        match node:
            case Scan():
                return node, tuple(Key(frozenset({(node.name, name)}), quote(name), name, node.name) for name in self.inputs[node.name])
            case Alias():
                below, keys = self.of(node.input, hide=hide)
                return replace(node, input=below), () if node.columns else tuple(_called(key, node.name) for key in keys or ())
            case Filter():
                return self._filter(node, hide)
            case Generate() | Distinct():  # distinct rows of two groups would be one row, if their key were not a part of it
                below, keys = self.of(node.input, hide=hide and isinstance(node, Generate))
                return replace(node, input=below), keys or ()
            case Project():
                return self._project(node, hide)
            case Aggregate():
                return self._aggregate(node, hide)
            case Join():
                return self._join(node)
            case Union():
                return node, self._by_position(node.inputs)
            case SetOperation():
                return node, self._by_position((node.left, node.right))
            case Order():
                return self._order(node, hide)
            case Opaque() | Operate():
                return node, ()
            case _:
                assert_never(node)

    def _reads(self, node: Node) -> bool:
        return any(name in self.inputs for name in names_read(node))

    def _filter(self, node: Filter, hide: bool) -> tuple[Node, tuple[Key, ...]]:
        conjuncts = tuple(parsed(node.condition).conjuncts)
        # `FROM a, b WHERE a.k = b.k` is a join on k
        below, keys = self._join(node.input, conjuncts) if isinstance(node.input, Join) else self.of(node.input, hide=hide)
        return replace(node, input=below), self._with_subqueries(node.subs, conjuncts, keys or ())

    def _order(self, node: Order, hide: bool) -> tuple[Node, tuple[Key, ...]]:
        below, keys = self.of(node.input, hide=hide)
        whole = node.limit is None and node.offset is None and not any(map(self._reads, node.subs))
        return replace(node, input=below), (keys or ()) if whole else ()

    def _project(self, node: Project, hide: bool) -> tuple[Node, tuple[Key, ...]]:
        assert node.input is not None
        below, found = self.of(node.input)
        keys = self._with_subqueries(node.subs, (), found or ())
        return self._selected(replace(node, input=below), _partitioned(node, keys), hide)

    def _aggregate(self, node: Aggregate, hide: bool) -> tuple[Node, tuple[Key, ...]]:
        if any(map(self._reads, node.subs)) or (node.grouping is not None and not terms.is_group_by_all(node)):
            return node, ()
        below, found = self.of(node.input)
        groups = terms.grouping_expressions(node)
        keys = tuple(key for key in found or () if any(find(group, (key,)) for group in groups))
        hidden = hide and not terms.is_group_by_all(node)
        return self._selected(replace(node, input=below), _partitioned(node, keys), hidden)

    def _selected(self, node: Project | Aggregate, keys: tuple[Key, ...], hide: bool) -> tuple[Node, tuple[Key, ...]]:
        """What a select list passes on of the keys below; with `hide`, the others as hidden columns."""
        passed = _passed(node.items, keys)
        rest = {key.sources: key for key in keys if hide and key.sources not in {entry.sources for entry in passed}}
        hidden = tuple(Key(sources, _hidden(sources), _hidden(sources)) for sources in rest)
        carried = tuple(Item(rest[key.sources].text, key.name) for key in hidden if any(key.sources <= whole for whole in self.wanted))
        return replace(node, items=(*node.items, *carried)), (*passed, *hidden)

    def _join(self, node: Join, above: tuple[str, ...] = ()) -> tuple[Node, tuple[Key, ...]]:
        """`above`: conditions in a WHERE over the join; for an inner one they say as much as its own."""
        if (node.lateral and self._reads(node.right)) or any(map(self._reads, node.subs)):
            return node, ()
        above = above if node.kind in ("inner", "cross") else ()
        (left, left_keys), (right, right_keys) = self._side(node.left, above), self._side(node.right, above)
        rebuilt = replace(node, left=left, right=right)
        of_left, of_right = _PRESERVED.get(node.kind, (False, False))
        if left_keys is None or right_keys is None:
            alone = (right_keys or ()) if left_keys is None else left_keys
            return rebuilt, alone if (of_right if left_keys is None else of_left) else ()
        pairs = [(one, other, both) for one in left_keys for other in right_keys if (both := self._equated(node, one, other, above)) is not None]
        return rebuilt, tuple(key for pair in pairs for key in _sides(node, *pair, of_left, of_right))

    def _side(self, node: Node, above: tuple[str, ...]) -> tuple[Node, tuple[Key, ...] | None]:
        return self._join(node, above) if isinstance(node, Join) and self._reads(node) else self.of(node)

    def _equated(self, node: Join, left: Key, right: Key, above: tuple[str, ...]) -> Sources | None:
        both = joined(left.sources, right.sources)
        if both is None:
            return None
        if any(name.lower() == (left.name or "").lower() == (right.name or "").lower() for name in node.using):
            return both
        for conjunct in (*above, *(parsed(node.on).conjuncts if node.on else ())):
            sides = parsed(conjunct).equality
            if sides is not None and any(find(one, (left,)) and find(other, (right,)) for one, other in (sides, sides[::-1])):
                return both
        return None

    def _by_position(self, plans: Sequence[Node]) -> tuple[Key, ...]:
        """Rows of several plans, one below the other: local to a column that is a key of each of them at the same place."""
        if any(not self._reads(plan) for plan in plans):
            return ()
        places = [self._places(plan, self.of(plan, hide=False)[1] or ()) for plan in plans]
        found: list[Key] = []
        for at in set.intersection(*(set(place) for place in places)):
            sources: Sources | None = frozenset()
            for place in places:
                sources = None if sources is None else joined(sources, place[at].sources)
            if sources is not None:
                found.append(replace(places[0][at], sources=sources, qualifier=None))
        return tuple(found)

    def _places(self, plan: Node, keys: Sequence[Key]) -> dict[int, Key]:
        """The keys of a plan's result by their place in it; none where a star hides the places."""
        while isinstance(plan, Filter | Distinct | Order | Alias):
            plan = plan.input
        if isinstance(plan, Union | SetOperation):
            return self._places(plan.inputs[0] if isinstance(plan, Union) else plan.left, keys)
        if isinstance(plan, Scan):
            names = [name.lower() for name in self.inputs[plan.name]]
        elif isinstance(plan, Project | Aggregate) and all(parsed(item.text).star is None for item in plan.items):
            names = [terms.item_name(item).lower() for item in plan.items]
        else:
            return {}
        return {names.index(key.name.lower()): key for key in keys if key.name is not None and key.name.lower() in names}

    def _with_subqueries(self, subs: tuple[Node, ...], conjuncts: Sequence[str], keys: tuple[Key, ...]) -> tuple[Key, ...]:
        """The keys that also hold what the subqueries read: those by which each of them is correlated."""
        for number, plan in enumerate(subs):
            if self._reads(plan):
                pairs = [*self._correlated(plan, keys), *self._member_of(number, plan, conjuncts, keys)]
                keys = tuple(replace(key, sources=both) for key, other in pairs if (both := joined(key.sources, other.sources)) is not None)
        return keys

    def _correlated(self, plan: Node, outer: tuple[Key, ...]) -> list[tuple[Key, Key]]:
        """Pairs of a key around a subquery and one inside that its own WHERE equates with it."""
        match plan:
            case Project() | Aggregate() | Distinct() | Order() | Alias() if plan.input is not None:
                return self._correlated(plan.input, outer)
            case Filter():
                inner = self.of(plan.input)[1] or ()
                found = []
                for one, other in filter(None, (parsed(part).equality for part in parsed(plan.condition).conjuncts)):
                    for inside, around in ((one, other), (other, one)):
                        key, match_ = find(inside, inner), find(around, outer)
                        if key is not None and match_ is not None and find(around, inner) is None:
                            found.append((match_, key))
                return found or self._correlated(plan.input, outer)
            case Project() | Aggregate() | Distinct() | Order() | Alias() | Scan() | Join() | Generate() | Union() | SetOperation():
                return []
            case Opaque() | Operate():
                return []
            case _:
                assert_never(plan)

    def _member_of(self, number: int, plan: Node, conjuncts: Sequence[str], outer: tuple[Key, ...]) -> list[tuple[Key, Key]]:
        """The same of `k IN (SELECT k ...)` in WHERE. NOT IN is local to nothing: one NULL anywhere decides all of it."""
        for conjunct in conjuncts:
            found = _IN_SUBQUERY.match(parsed(conjunct).unwrapped.text)
            if found is not None and int(found["sub"]) == number:
                key, inner = find(found["column"], outer), self._places(plan, self.of(plan, hide=False)[1] or ()).get(0)
                return [(key, inner)] if key is not None and inner is not None else []
        return []


def _partitioned(node: Project | Aggregate, keys: tuple[Key, ...]) -> tuple[Key, ...]:
    """The keys by which every window function of a select list is partitioned."""
    for partition in (partition for item in node.items for partition in parsed(item.text).partitions):
        keys = tuple(key for key in keys if any(find(text, (key,)) for text in partition))
    return keys


def _passed(items: Sequence[Item], keys: tuple[Key, ...]) -> list[Key]:
    """The keys that a select list names."""
    passed: list[Key] = []
    for item in items:
        star = parsed(item.text).star
        if star is not None:
            all_ = [key for key in keys if key.name is not None and star.qualifier in (None, (key.qualifier or "").lower())]
            passed += [replace(key, text=quote(key.name or ""), qualifier=None) for key in all_ if (key.name or "").lower() not in star.left_out]
            continue
        key, name = find(item.text, keys), terms.item_name(item)
        passed = [entry for entry in passed if (entry.name or "").lower() != name.lower()]
        if key is not None and name:
            passed.append(Key(key.sources, quote(name), name))
    return passed


def _sides(node: Join, left: Key, right: Key, both: Sources, of_left: bool, of_right: bool) -> list[Key]:
    shared = next((name for name in node.using if name.lower() == (left.name or "").lower()), None)
    if node.kind == "full":
        return [Key(both, quote(shared), shared) if shared else Key(both, f"coalesce({left.text}, {right.text})")]
    one = [replace(left, sources=both)] if of_left else []
    other = [replace(right, sources=both)] if of_right else []
    plain = [Key(both, (one or other)[0].text, shared)] if shared else []
    return [*one, *other, *plain]


def _called(key: Key, name: str) -> Key:
    return replace(key, text=f"{quote(name)}.{quote(key.name)}", qualifier=name) if key.name is not None else key


def _hidden(sources: Sources) -> str:
    """A plain name, and another one for other sources: `a b` and `a_b` are two columns."""
    said = "_".join(f"{name}_{text}" for name, text in sorted(sources))
    plain = re.sub(r"\W+", "_", said)
    return HIDDEN + (plain if plain == said else f"{plain}_{hashlib.sha256(said.encode()).hexdigest()[:8]}")


def find(text: str, keys: Sequence[Key]) -> Key | None:
    """The key that `text` names, where it names just one."""
    parts = [part.lower() for part in parsed(text).unwrapped.column]
    if not parts or len(parts) > 2:
        return None
    qualifier = parts[0] if len(parts) == 2 else None
    named: Callable[[Key], bool] = lambda key: (key.name or "").lower() == parts[-1] and qualifier in (None, (key.qualifier or "").lower())  # noqa: E731
    found = [key for key in keys if named(key)]
    return found[0] if len({key.sources for key in found}) == 1 else None
