"""Chromium of the system, and axe-core, which checks the accessibility of a page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, expect, sync_playwright

from . import tools

# In milliseconds.
TIMEOUT = 60_000
expect.set_options(timeout=TIMEOUT)
# Disables background requests, the GPU and the sandbox, which containers do not support.
_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_RUN_AXE = """
async ([selectors, ...tags]) => {
  const options = { runOnly: tags, resultTypes: ["violations"] };
  const found = await axe.run({ include: selectors }, options);
  return found.violations.map((each) => [each.id, ...each.nodes.map((node) => node.html)]);
}
"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Runs the browser, or skips the test if it is missing.

    It runs an event loop in this thread, so other tests cannot run one meanwhile.
    """
    path = tools.program("chromium", "chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=list(_ARGUMENTS))
        yield launched
        launched.close()


def violations(page: Page, *selectors: str) -> list[object]:
    """Returns the violations of WCAG 2.2 up to level AA that axe-core finds in these elements."""
    page.evaluate(tools.file("axe/axe.js", "axe").read_text())
    included = [[selector] for selector in selectors]
    found: list[object] = page.evaluate(_RUN_AXE, [included, *_LEVELS])
    return found
