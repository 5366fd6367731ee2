"""The console in Chromium: how soon it and its views are shown, frames of a scroll, and its heap.

Times are measured in the page, from the navigation or click until the frame in which the data of
the view is shown.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from playwright.sync_api import Page

from .. import tools
from ..browser import chromium
from ..processes import Service, start
from .measurement import REPETITIONS, SHORT, Stats, ToolMissing, send, spread
from .scale_fill import fill

SUBSCRIBERS = 20_000 if SHORT else 1_000_000
SCROLL_SECONDS = 0.5 if SHORT else 3.0
HEAP_SECONDS = 2.0 if SHORT else 600.0
# Heap that caches may add after the first minute.
WARMUP_SECONDS = 1.0 if SHORT else 60.0
MIB = 1024 * 1024
Result = TypeVar("Result")
# What is shown when a view has its data, by its path.
VIEWS = {
    "/": ".numbers strong:not(:has(.skeleton))",
    "/subscribers": ".rows .row:not(.loading)",
    "/segments": ".table tbody tr",
    "/tags": ".table tbody tr",
    "/activity": ".table tbody tr",
    "/webhooks": ".cards .card",
    "/settings": ".form input",
}
# Resolves to the time after which an element is shown in a frame.
_SHOWN = """
async ([selector, start]) => {
  while (!document.querySelector(selector)) await new Promise(requestAnimationFrame);
  return performance.now() - start;
}
"""
_NEXT_VIEW = f"""
async ([path, selector]) => {{
  const link = `nav a[href="/console${{path}}"]`;
  const start = performance.now();
  document.querySelector(link).click();
  return await ({_SHOWN})([`.console:has(${{link}}[aria-current]) ${{selector}}`, start]);
}}
"""
# Scrolls a part of the list evenly, and then to its end in leaps. Returns the longest frame.
_SCROLL = """
async seconds => {
  const list = document.getElementById("grid");
  const frame = () => new Promise(requestAnimationFrame);
  const start = await frame();
  let longest = 0;
  for (let last = start, now; last < start + seconds * 1000; last = now) {
    const isLeap = last > start + seconds * 500;
    list.scrollTop += isLeap ? list.scrollHeight / 200 : 60;
    now = await frame();
    longest = Math.max(longest, now - last);
  }
  list.scrollTop = 0;
  return longest;
}
"""


def stats(folder: Path) -> Iterator[Stats]:
    """Measures the console of an account with 1,000,000 subscribers."""
    if tools.find("chromium") is None:
        raise ToolMissing(tools.how_to_install("chromium", "chromium"))
    service = _filled(folder)
    try:
        with chromium() as browser:
            context = browser.new_context(viewport={"width": 1280, "height": 800})
            page = context.new_page()
            _sign_in(page, service)
            yield spread("console_usable_ms", _runs(lambda: _usable(page)), 1)
            tours = _runs(lambda: _views(page))
            slowest = max(zip(*tours, strict=True), key=statistics.median)
            yield spread("console_next_view_ms", slowest, 1)
            page.goto(f"{_url(page)}/subscribers")
            page.wait_for_selector(VIEWS["/subscribers"])
            frames = _runs(lambda: _number(page, _SCROLL, SCROLL_SECONDS))
            yield spread("console_longest_frame_ms", frames, 1)
            yield {"console_heap_growth_mib": round(_heap_growth(page), 2)}
            context.close()
    finally:
        service.stop()


def _filled(folder: Path) -> Service:
    """Starts a service with many subscribers, and with an item for each list."""
    service = start(folder)
    body = send(service.http, "GET", "/api/account", b"", service.first_key)
    key, account = service.first_key, json.loads(body)["account"]["id"]
    service.stop()
    fill(service.database_url, SUBSCRIBERS, account)
    service = start(folder)
    service.first_key = key
    for path, item in (
        ("segments", {"name": "Readers", "filter": "status = CONFIRMED"}),
        ("webhooks", {"url": "http://127.0.0.1:9/events"}),
        ("subscribers/batch", {"filter": "email = none", "action": {"addTags": ["newsletter"]}}),
    ):
        send(service.http, "POST", f"/api/{path}", item, key)
    return service


def _sign_in(page: Page, service: Service) -> None:
    link = {"name": "Ada", "scope": "admin"}
    made = json.loads(send(service.http, "POST", "/api/sign-in-links", link, service.first_key))
    token = made["url"].partition("#")[2]
    page.goto(f"http://{service.http}/console/signin#{token}")
    page.wait_for_selector("#main")


def _url(page: Page) -> str:
    return page.url.partition("/console")[0] + "/console"


def _number(page: Page, script: str, *arguments: Any) -> float:
    value: float = page.evaluate(script, *arguments)
    return value


def _usable(page: Page) -> float:
    """Opens the console as if for the first time, and returns the milliseconds."""
    cache = page.context.new_cdp_session(page)
    cache.send("Network.clearBrowserCache")
    cache.detach()
    page.goto(f"{_url(page)}/", wait_until="commit")
    return _number(page, _SHOWN, [VIEWS["/"], 0])


def _views(page: Page) -> list[float]:
    return [_number(page, _NEXT_VIEW, [path, VIEWS[path]]) for path in (*list(VIEWS)[1:], "/")]


def _heap_growth(page: Page) -> float:
    """Works with all views for some minutes, and returns the MiB that stay in use."""
    _work(page, WARMUP_SECONDS)
    before = _heap(page)
    _work(page, HEAP_SECONDS)
    return (_heap(page) - before) / MIB


def _work(page: Page, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        _views(page)
        _number(page, _NEXT_VIEW, ["/subscribers", VIEWS["/subscribers"]])
        _number(page, _SCROLL, SCROLL_SECONDS)


def _heap(page: Page) -> float:
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    used: float = session.send("Runtime.getHeapUsage")["usedSize"]
    session.detach()
    return used


def _runs(work: Callable[[], Result]) -> list[Result]:
    """Returns the results of some runs. The first does not count."""
    return [work() for _ in range(REPETITIONS + 1)][1:]
