"""Draws the curves of `make bench-scale`: a panel per database, a line per operation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

WIDTH, HEIGHT = 400, 300
LEFT, RIGHT, TOP, BOTTOM = 58, 124, 44, 44
# The logarithmic scale ranges from 0.1 to 100 milliseconds.
MIN_EXPONENT, DECADES = -1, 3
LABEL_DISTANCE = 15
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #57606a; }
.title { font-weight: 600; font-size: 14px; fill: #24292f; }
.grid { stroke: #d0d7de; }
.line { fill: none; stroke-width: 2; }
.c0 { stroke: #0969da; } .c1 { stroke: #bc4c00; }
.c2 { stroke: #1a7f37; } .c3 { stroke: #8250df; }
@media (prefers-color-scheme: dark) {
  text { fill: #9198a1; } .title { fill: #f0f6fc; } .grid { stroke: #3d444d; }
  .c0 { stroke: #58a6ff; } .c1 { stroke: #f0883e; }
  .c2 { stroke: #3fb950; } .c3 { stroke: #bc8cff; }
}
"""

Panel = Mapping[str, Sequence[float]]


def draw(sizes: Sequence[int], panels: Mapping[str, Panel]) -> str:
    """Returns an SVG of milliseconds by table size, for light and dark backgrounds."""
    width = WIDTH * len(panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}"'
        f' width="{width}" height="{HEIGHT}" role="img">',
        "<title>Milliseconds by the number of subscribers in an account</title>",
        f"<style>{STYLE}</style>",
    ]
    for number, (title, panel) in enumerate(panels.items()):
        parts.append(f'<g transform="translate({number * WIDTH} 0)">')
        parts += [*_frame(title, sizes), *_curves(panel), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def _x(index: int, count: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * index / (count - 1)


def _y(milliseconds: float) -> float:
    share = (math.log10(milliseconds) - MIN_EXPONENT) / DECADES
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share


def _frame(title: str, sizes: Sequence[int]) -> Iterator[str]:
    yield f'<text class="title" x="{LEFT}" y="22">{title}</text>'
    for power in range(MIN_EXPONENT, MIN_EXPONENT + DECADES + 1):
        y = _y(10**power)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{10**power:g} ms</text>'
    for index, size in enumerate(sizes):
        x = _x(index, len(sizes))
        yield f'<text x="{x:.1f}" y="{HEIGHT - 22}" text-anchor="middle">{_short(size)}</text>'


def _short(size: int) -> str:
    if size >= 1_000_000:
        return f"{size // 1_000_000}M"
    return f"{size // 1_000}k" if size else "0"


def _curves(panel: Panel) -> Iterator[str]:
    for number, values in enumerate(panel.values()):
        points = " ".join(
            f"{_x(index, len(values)):.1f},{_y(value):.1f}" for index, value in enumerate(values)
        )
        yield f'<polyline class="line c{number}" points="{points}"/>'
    # Labels are next to the ends of their lines, moved apart if they overlap.
    at = 0.0
    for number, (name, values) in sorted(
        enumerate(panel.items()), key=lambda item: _y(item[1][1][-1])
    ):
        at = max(_y(values[-1]), at + LABEL_DISTANCE)
        x = WIDTH - RIGHT + 8
        yield f'<line class="line c{number}" x1="{x}" x2="{x + 10}" y1="{at:.1f}" y2="{at:.1f}"/>'
        yield f'<text x="{x + 14}" y="{at + 4:.1f}">{name}</text>'
