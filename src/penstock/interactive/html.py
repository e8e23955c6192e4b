"""Tables and texts as HTML, for notebooks; everything that comes from data or from the user is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def table_html(columns: Sequence[str], rows: Sequence[Sequence[str]], foot: str = "", right: Sequence[bool] = ()) -> str:
    """A table of texts; columns that are `right` stand to the right."""
    sides = ["right" if place < len(right) and right[place] else "left" for place in range(len(columns))]
    head = "".join(f'<th style="text-align:{side}">{escape(name)}</th>' for name, side in zip(columns, sides, strict=True))
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:{side}">{escape(text)}</td>' for text, side in zip(row, sides, strict=True)) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" + (f"<small>{escape(foot)}</small>" if foot else "")


def text_html(text: str) -> str:
    """A text with its line breaks and columns kept."""
    return f'<pre style="white-space:pre-wrap">{escape(text)}</pre>'
