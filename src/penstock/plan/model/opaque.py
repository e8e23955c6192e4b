"""SQL that is not looked into, but whose views must be known where it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.plan.model.nodes import Node, Opaque, names_read, quoted
from penstock.plan.model.text import sql


def with_views(node: Opaque, views: Mapping[str, Node]) -> Opaque:
    """SQL that is not looked into, with the views it names defined in front of it."""
    if not views:
        return node
    definitions = ", ".join(f"{quoted(name)} AS ({sql(plan)})" for name, plan in views.items())
    head, _, rest = node.sql.lstrip().partition(" ")
    text = f"WITH {definitions}, {rest}" if head.lower() == "with" else f"WITH {definitions} {node.sql}"
    names = [name for name in node.names if name not in views] + [name for plan in views.values() for name in names_read(plan)]
    return replace(node, sql=text, names=tuple(dict.fromkeys(names)))
