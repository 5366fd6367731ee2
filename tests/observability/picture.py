"""Draws the dashboard, with what a real Prometheus has found on a real service under load.

    python -m tests.observability.picture FILE.svg

Panels, their places and their queries are those of server/deploy/dashboard.json; Grafana
has not drawn it.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from server.deploy.dashboard import COLUMNS, dashboard

from ..conftest import Account, new_account
from ..fronts import GrpcFront, HttpFront
from ..processes import Service, start
from .helpers import place_of
from .prometheus import Prometheus, prometheus

SECONDS, STEP, SPAN = 90, 1, "10s"
WIDTH, UNIT = 1200, 26
INK, PALE, PAPER, CARD, BAD = "#1f2933", "#7b8794", "#f3f5f7", "#ffffff", "#c2281d"
COLOURS = ("#2f6fde", "#d9822b", "#238551", "#8f398f", "#00a396", "#b83211", "#7157d9", "#94a000")
UNITS = {"reqps": "/s", "s": " s", "bytes": " B", "Bps": " B/s", "percentunit": " %", "short": ""}
# Series that a small picture has room for, and letters of a legend beside another.
MOST, LETTERS = 8, 36

Series = list[tuple[str, list[tuple[float, float]]]]


def main() -> None:
    """Runs all of it, and writes the picture."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        service = start(folder)
        stack.callback(service.stop)
        found = stack.enter_context(prometheus(folder, [place_of(service.printed)]))
        began = time.time()
        load(service)
        Path(sys.argv[1]).write_text(picture(found, began, time.time()))


def load(service: Service) -> None:
    """Calls from several threads; in the middle there are bulks as well."""
    fronts = [HttpFront("http", service.http), GrpcFront(service.grpc)]
    end = time.monotonic() + SECONDS

    def call(number: int) -> None:
        account = new_account(service, fronts[number % 2])
        for turn in range(1_000_000):
            left = end - time.monotonic()
            if left < 0:
                return
            in_midst = SECONDS / 3 < left < SECONDS * 2 / 3
            one_turn(account, turn, with_bulk=number == 0 and in_midst)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def one_turn(account: Account, turn: int, *, with_bulk: bool) -> None:
    """Makes a few calls, some of which are refused."""
    made = account.ok("CreateSubscriber", email=f"{turn}@example.com", tags=["vip"])
    account.ok("GetSubscriber", id=made["subscriber"]["id"])
    account.ok("ListSubscribers", limit=50)
    if turn % 5 == 0:
        account.call("GetSubscriber", id="nobody@example.com")
        account.call("CreateSubscriber", email=f"{turn}@example.com")
    if with_bulk and turn % 3 == 0:
        rows = [{"email": f"{turn}-{row}@example.org"} for row in range(100)]
        account.ok("BulkCreateSubscribers", subscribers=rows)


def picture(found: Prometheus, began: float, ended: float) -> str:
    """Returns the dashboard over this time as SVG."""
    panels = dashboard()["panels"]
    height = UNIT * max(each["gridPos"]["y"] + each["gridPos"]["h"] for each in panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
        ' font-family="system-ui, sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>',
    ]
    for panel in panels:
        place = panel["gridPos"]
        scale = WIDTH / COLUMNS
        x, y = place["x"] * scale + 4, place["y"] * UNIT + 3
        parts.append(f'<g transform="translate({x:g} {y:g})">')
        parts += drawn(panel, place["w"] * scale - 8, place["h"] * UNIT - 6, found, began, ended)
        parts.append("</g>")
    return "\n".join([*parts, "</svg>\n"])


def drawn(
    panel: dict[str, Any],
    width: float,
    height: float,
    found: Prometheus,
    began: float,
    ended: float,
) -> list[str]:
    """Returns one panel, or the heading of a row."""
    title = escape(panel["title"])
    if panel["type"] == "row":
        return [f'<text x="2" y="16" font-size="14" font-weight="600" fill="{INK}">{title}</text>']
    series = [each for target in panel["targets"] for each in asked(target, found, began, ended)]
    look = panel["fieldConfig"]["defaults"]
    head = [
        f'<rect width="{width:g}" height="{height:g}" rx="4" fill="{CARD}"/>',
        f'<text x="8" y="16" font-weight="600" fill="{INK}">{title}</text>',
    ]
    if not series:
        where = f'x="{width / 2:g}" y="{height / 2 + 8:g}"'
        return [*head, f'<text {where} text-anchor="middle" fill="{PALE}">no data</text>']
    if panel["type"] == "stat":
        return [*head, *one_number(series, look, width, height)]
    return [*head, *graph(series, look["unit"], width, height, began, ended)]


def asked(target: dict[str, Any], found: Prometheus, began: float, ended: float) -> Series:
    """Returns what one query of a panel found, each series with its legend."""
    query = target["expr"].replace("$__rate_interval", SPAN).replace("$instance", ".*")
    told = found.ask("query_range", query=query, start=began, end=ended, step=STEP)["result"]
    result = []
    for each in told:
        legend = target["legendFormat"]
        for label in ("rpc", "code", "status", "executor", "file", "outcome", "instance", "worker"):
            legend = legend.replace(f"{{{{{label}}}}}", each["metric"].get(label, ""))
        points = [(float(at), float(value)) for at, value in each["values"] if value != "NaN"]
        if points:
            result.append((legend.strip(), points))
    return result


def one_number(series: Series, look: dict[str, Any], width: float, height: float) -> list[str]:
    """Returns the last value, large; red where it is alarming."""
    value = series[0][1][-1][1]
    *_, last = look["thresholds"]["steps"]
    colour = BAD if last["value"] is not None and value >= last["value"] else COLOURS[2]
    where = f'x="{width / 2:g}" y="{height / 2 + 18:g}" font-size="28" text-anchor="middle"'
    return [f'<text {where} fill="{colour}">{words(value, look["unit"])}</text>']


def graph(
    series: Series, unit: str, width: float, height: float, began: float, ended: float
) -> list[str]:
    """Returns lines over time, the largest first in the legend."""
    largest = sorted(series, key=lambda each: -max(value for _, value in each[1]))[:MOST]
    top = max(value for _, value in largest[0][1]) or 1.0
    columns = 1 if any(len(legend) > LETTERS for legend, _ in largest) else 2
    lines = -(-len(largest) // columns)
    left, right, up, down = 58.0, width - 10, 26.0, height - 14 - 13 * lines
    parts = []
    for share in (0.0, 0.5, 1.0):
        y = down - share * (down - up)
        parts.append(
            f'<path d="M{left:g} {y:.1f}H{right:g}" stroke="#e4e7eb"/>'
            f'<text x="{left - 4:g}" y="{y + 4:.1f}" text-anchor="end" font-size="10"'
            f' fill="{PALE}">{words(top * share, unit)}</text>'
        )
    for place, (legend, points) in enumerate(largest):
        colour = COLOURS[place]
        line = " ".join(
            f"{left + (at - began) / (ended - began) * (right - left):.0f}"
            f" {down - value / top * (down - up):.1f}"
            for at, value in points
        )
        parts.append(
            f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.4"/>'
        )
        x, y = 8 + (place % columns) * width / 2, down + 18 + 13 * (place // columns)
        parts.append(
            f'<path d="M{x:g} {y - 4:g}h10" stroke="{colour}" stroke-width="3"/>'
            f'<text x="{x + 14:g}" y="{y:g}" font-size="9" fill="{INK}">{escape(legend)}</text>'
        )
    return parts


def words(value: float, unit: str) -> str:
    """Returns a value as people read it."""
    if unit == "percentunit":
        return f"{100 * value:.3g} %"
    if unit == "s" and 0 < value < 1:
        return f"{1000 * value:.3g} ms"
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {letter}{UNITS[unit].strip()}"
    return f"{value:.3g}{UNITS[unit]}"


if __name__ == "__main__":
    main()
