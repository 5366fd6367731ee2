"""Counts what a person does: clicks, keys, and fields, for which typing a text is one action."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect


class Actions:
    """The actions of a task on a page."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.count = 0

    def press(self, *keys: str) -> None:
        """Presses keys, each of which counts."""
        for key in keys:
            self._page.keyboard.press(key)
            self.count += 1

    def type(self, text: str) -> None:
        """Types a text into the field with the focus."""
        self._page.keyboard.type(text)
        self.count += 1

    def click(self, target: Locator) -> None:
        target.click()
        self.count += 1

    def fill(self, target: Locator, text: str) -> None:
        """Types a text into a field."""
        target.fill(text)
        self.count += 1

    def paste(self, text: str) -> None:
        """Pastes a text where the focus is, as Ctrl+V does."""
        self._page.evaluate(
            """text => {
              const data = new DataTransfer();
              data.setData("text/plain", text);
              const options = { clipboardData: data, bubbles: true, cancelable: true };
              const target = document.activeElement ?? document.body;
              target.dispatchEvent(new ClipboardEvent("paste", options));
            }""",
            text,
        )
        self.count += 1


def reach(target: Locator) -> None:
    """Moves the focus to an element with the Tab key only."""
    # A button without the data that it needs has no focus.
    expect(target).to_be_enabled()
    for _ in range(200):
        if target.evaluate("element => element === document.activeElement"):
            return
        target.page.keyboard.press("Tab")
    raise AssertionError(f"The Tab key does not lead to {target}")


def hide(page: Page, hidden: bool = True) -> None:
    """Makes a page hidden, or shown again: Chromium without a window shows all its tabs."""
    page.evaluate(
        """hidden => {
          Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
          document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )
