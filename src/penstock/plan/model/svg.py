"""An app's picture as one SVG file: no script, no font and no link from outside; it follows the reader's light or dark theme."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from xml.sax.saxutils import escape, quoteattr

from penstock.plan.model.picture import Box, Picture

_BOX_HEIGHT = 46
_ROW_GAP = 18
_COLUMN_GAP = 70
_LIVE_GAP = 130
_MARGIN = 24
_HEADER = 26
_CHAR_WIDTH = 7.6
_NAME_CHARS_MAX = 40

_LIGHT = (
    "--back: #ffffff; --ink: #1c2430; --faint: #5b6675; --line: #8794a5; --stream: #e3f1ff; --stream-line: #3d84c6; --table: #f3ecff; "
    "--table-line: #8a63c9; --view: #e6f6ea; --view-line: #3f9a5b; --sink: #fff1dd; --sink-line: #c98a2b"
)
_DARK = (
    "--back: #12171e; --ink: #e6ebf2; --faint: #9aa7b6; --line: #6b7888; --stream: #14304a; --stream-line: #5aa2e6; --table: #2c2145; "
    "--table-line: #a98be3; --view: #15351f; --view-line: #5cbf7b; --sink: #402d10; --sink-line: #e0a648"
)
# Every rule begins with .picture: the drawing may stand in a page. `body--dark` and `body--light` are what that page has chosen.
_STYLE = f"""
  .picture {{ {_LIGHT} }} @media (prefers-color-scheme: dark) {{ .picture {{ {_DARK} }} }}
  .body--light .picture {{ {_LIGHT} }} .body--dark .picture {{ {_DARK} }}
  .picture .back {{ fill: var(--back) }} .picture text {{ font: 13px ui-sans-serif, system-ui, sans-serif; fill: var(--ink) }}
  .picture .label, .picture .rate {{ font-size: 11px; fill: var(--faint) }} .picture a:hover text {{ text-decoration: underline }}
  .picture .rate {{ paint-order: stroke; stroke: var(--back); stroke-width: 4px; fill: var(--ink) }}
  .picture .arrow {{ fill: none; stroke: var(--line); stroke-width: 1.4 }} .picture .tip {{ fill: var(--line) }}
""" + "\n".join(f"  .picture rect.{kind} {{ fill: var(--{kind}); stroke: var(--{kind}-line) }}" for kind in ("stream", "table", "view", "sink"))


def draw(drawn: Picture, *, live: bool = False, links: Mapping[str, str] = MappingProxyType({})) -> str:
    """The whole file; text is escaped, long names are cut with an ellipsis and kept whole in a tooltip.

    `links` are the addresses behind boxes. `live` puts an empty text on each arrow, for a page that writes rates there: `data-arrow` is the
    arrow's number in the picture.
    """
    gap = _LIVE_GAP if live else _COLUMN_GAP
    widths = [max((_width(box) for box in column), default=0.0) for column in drawn.columns]
    rows = max((len(column) for column in drawn.columns), default=0)
    height = 2 * _MARGIN + _HEADER + rows * (_BOX_HEIGHT + _ROW_GAP)
    places: dict[str, tuple[float, float, float]] = {}
    x = float(_MARGIN)
    for column, width in zip(drawn.columns, widths, strict=True):
        # Short columns stand in the middle: arrows stay short.
        y = _MARGIN + _HEADER + (rows - len(column)) * (_BOX_HEIGHT + _ROW_GAP) / 2
        for box in column:
            places[box.name] = (x, y, width)
            y += _BOX_HEIGHT + _ROW_GAP
        x += width + gap
    total = max(x - gap + _MARGIN, 2 * _MARGIN + _CHAR_WIDTH * min(len(drawn.title), _NAME_CHARS_MAX))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" viewBox="0 0 {total:.0f} {height:.0f}" width="{total:.0f}" '
        f'height="{height:.0f}" role="img">',
        f"<title>{escape(_clean(drawn.title))}</title><style>{_STYLE}\n</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="tip" d="M0 0 L8 4 L0 8 z"/></marker></defs>',
        f'<rect class="back" width="{total:.0f}" height="{height:.0f}"/>',
        f'<text x="{_MARGIN}" y="{_MARGIN + 8}" font-weight="600">{_short(drawn.title)}</text>',
        *(_arrow(places[source], places[target]) for source, target in drawn.arrows),
        *(_rate(number, places[source], places[target]) for number, (source, target) in enumerate(drawn.arrows) if live),
        *(_linked(_drawn_box(box, *places[box.name]), links.get(box.name)) for column in drawn.columns for box in column),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _linked(drawn: str, address: str | None) -> str:
    return drawn if address is None else f"<a href={quoteattr(address)}>{drawn}</a>"


def _drawn_box(box: Box, x: float, y: float, width: float) -> str:
    radius = {"stream": 23, "table": 3, "view": 8, "sink": 3}[box.kind]
    label = f"{box.kind} · {box.label}" if box.label else box.kind
    return (
        f"<g><title>{escape(_clean(box.name))}</title>"
        f'<rect class="{box.kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_BOX_HEIGHT}" rx="{radius}" stroke-width="1.4"/>'
        f'<text x="{x + width / 2:.1f}" y="{y + 20:.1f}" text-anchor="middle">{_short(box.name)}</text>'
        f'<text class="label" x="{x + width / 2:.1f}" y="{y + 36:.1f}" text-anchor="middle">{_short(label)}</text></g>'
    )


def _arrow(source: tuple[float, float, float], target: tuple[float, float, float]) -> str:
    x1, y1 = source[0] + source[2], source[1] + _BOX_HEIGHT / 2
    x2, y2 = target[0] - 2, target[1] + _BOX_HEIGHT / 2
    bend = max(30.0, (x2 - x1) / 2)
    return f'<path class="arrow" marker-end="url(#tip)" d="M{x1:.1f} {y1:.1f} C{x1 + bend:.1f} {y1:.1f} {x2 - bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"/>'


def _rate(number: int, source: tuple[float, float, float], target: tuple[float, float, float]) -> str:
    """On the arrow, towards its tip, where arrows that come from one box have parted."""
    x, y = target[0] - 0.384 * _LIVE_GAP, target[1] + _BOX_HEIGHT / 2 + (source[1] - target[1]) * 0.282
    return f'<text class="rate" data-arrow="{number}" x="{x:.1f}" y="{y - 4:.1f}" text-anchor="middle"></text>'


def _width(box: Box) -> float:
    longest = max(len(box.name), int(0.9 * len(f"{box.kind} · {box.label}")))
    return 36 + _CHAR_WIDTH * min(longest, _NAME_CHARS_MAX)


def _short(text: str) -> str:
    clean = _clean(text)
    return escape(clean if len(clean) <= _NAME_CHARS_MAX else clean[: _NAME_CHARS_MAX - 1] + "…")


def _clean(text: str) -> str:
    """XML allows no control characters, not even escaped."""
    return "".join(c if c.isprintable() else "�" for c in text)
