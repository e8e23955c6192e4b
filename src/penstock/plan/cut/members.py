"""Rows of which it is only asked whether there is one: the right side of a SEMI or ANTI JOIN, and EXISTS and IN. Each needs to be there once."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from penstock.plan.model.nodes import Filter, Join, Node, Scan, rebuild

_ASKED = re.compile(r"\b(?:exists|in)\s*\(\s*__sub_(\d+)__\s*\)", re.IGNORECASE)


def members_once(node: Node, reads: Callable[[Node], bool], once: Callable[[Scan], Scan]) -> Node:
    """The plan with every scan below such a question that `reads` what changes replaced by what `once` makes of it."""

    def swap(part: Node) -> Node:
        if isinstance(part, Scan):
            return once(part) if reads(part) else part
        return rebuild(part, swap)

    node = rebuild(node, lambda child: members_once(child, reads, once))
    match node:
        case Join(kind="semi" | "anti") if reads(node.right):
            return replace(node, right=swap(node.right))
        case Filter():
            asked = {int(found[1]) for found in _ASKED.finditer(node.condition)}
            return replace(node, subs=tuple(swap(plan) if number in asked and reads(plan) else plan for number, plan in enumerate(node.subs)))
        case _:
            return node
