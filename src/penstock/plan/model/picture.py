"""The picture of an app as values: boxes in columns from sources to sinks, and arrows. Drawn as SVG (`svg.py`) or as Mermaid text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from penstock.plan.model.declare import Declared, Function, Sink, Stream, Table, View
from penstock.plan.model.nodes import Operate, names_read, walk
from penstock.plan.model.pattern_text import term_text

Drawn: TypeAlias = Stream | Table | View | Sink


@dataclass(frozen=True)
class Box:
    """One declaration: its kind (stream, table, view, sink), its name, and a word on how it is read, kept or delivered."""

    kind: str
    name: str
    label: str


@dataclass(frozen=True)
class Picture:
    """`columns` hold the boxes from left to right; an arrow goes from a name to a name."""

    title: str
    columns: tuple[tuple[Box, ...], ...]
    arrows: tuple[tuple[str, str], ...]


def picture(declared: Declared, strategies: Mapping[str, str]) -> Picture:
    """The app's declarations laid out: each one column to the right of everything it reads."""
    shown = {name: entry for name, entry in declared.declarations.items() if not isinstance(entry, Function)}
    known = {name.lower(): name for name in shown}
    arrows: list[tuple[str, str]] = []
    for name, declaration in shown.items():
        arrows += [(known[read.lower()], name) for read in _reads(declaration) if read.lower() in known]
    depth = _depths(tuple(shown), arrows)
    last = max(depth.values(), default=0)
    columns: list[list[Box]] = [[] for _ in range(last + 1)]
    for name, declaration in shown.items():
        columns[depth[name]].append(_box(name, declaration, strategies))
    return Picture(declared.name, tuple(tuple(column) for column in _untangled(columns, arrows)), tuple(dict.fromkeys(arrows)))


def _reads(declaration: Drawn) -> tuple[str, ...]:
    if isinstance(declaration, View):
        return names_read(declaration.query)
    return (declaration.view,) if isinstance(declaration, Sink) else ()


def _box(name: str, declaration: Drawn, strategies: Mapping[str, str]) -> Box:
    if isinstance(declaration, View):
        said = (strategies.get(name, ""), *map(_operation, (part for part in walk(declaration.query) if isinstance(part, Operate))))
        return Box("view", name, ", ".join(filter(None, said)))
    connector = str(declaration.options.get("connector", ""))
    kind = "stream" if isinstance(declaration, Stream) else "table" if isinstance(declaration, Table) else "sink"
    return Box(kind, name, connector)


def _operation(node: Operate) -> str:
    """A pattern as it is written, or the name of a function."""
    if node.pattern is None:
        return node.function
    return term_text(node.pattern.term) + ("" if node.pattern.within is None else f" within {node.pattern.within}")


def _depths(names: tuple[str, ...], arrows: list[tuple[str, str]]) -> dict[str, int]:
    depth = dict.fromkeys(names, 0)
    for _ in names:  # longest way to each; one round per name is enough for a graph without a circle
        before = dict(depth)
        for source, target in arrows:
            depth[target] = max(depth[target], depth[source] + 1)
        if depth == before:
            break
    return depth


def _untangled(columns: list[list[Box]], arrows: list[tuple[str, str]]) -> list[list[Box]]:
    """Each column in the order of the mean place of what its boxes read: few arrows cross."""
    place = {box.name: float(row) for column in columns for row, box in enumerate(column)}
    ordered = [columns[0]] if columns else []
    for column in columns[1:]:
        reads = {box.name: [place[source] for source, target in arrows if target == box.name] for box in column}
        column = sorted(column, key=lambda box: sum(reads[box.name]) / max(1, len(reads[box.name])))
        place |= {box.name: float(row) for row, box in enumerate(column)}
        ordered.append(column)
    return ordered


_SHAPES = {"stream": ("([", "])"), "table": ("[(", ")]"), "view": ("[", "]"), "sink": ("[/", "/]")}


def mermaid(drawn: Picture) -> str:
    """Mermaid's flowchart text; names are quoted and escaped, ids are ours."""
    ids = {box.name: f"n{number}" for number, box in enumerate(box for column in drawn.columns for box in column)}
    lines = ["flowchart LR"]
    for column in drawn.columns:
        for box in column:
            begin, end = _SHAPES[box.kind]
            label = _entities(box.name) + (f"<br/><small>{_entities(box.label)}</small>" if box.label else "")
            lines.append(f'  {ids[box.name]}{begin}"{label}"{end}:::{box.kind}')
    lines += [f"  {ids[source]} --> {ids[target]}" for source, target in drawn.arrows]
    return "\n".join(lines) + "\n"


def _entities(text: str) -> str:
    """Mermaid has no backslash escapes: what could end a label or start markup becomes a numbered entity."""
    return "".join(c if c.isalnum() or c in " _-.,:" else f"#{ord(c)};" for c in text)
