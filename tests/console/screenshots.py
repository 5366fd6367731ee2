"""`make screenshots`: draws the pictures in the guides and in README.md again.

The account has invented people at example.com. Addresses of this machine are replaced.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page

from ..browser import chromium
from ..conftest import new_account
from ..features.webhooks.receiver import listening
from ..fronts import HttpFront
from ..processes import start
from . import demo
from .conftest import Person
from .png import smaller

ROOT = Path(__file__).parent.parent.parent
GUIDES, README = ROOT / "server/guides", ROOT / ".github"
SIZE = {"width": 1200, "height": 680}
# Replaces addresses of this machine and of the test.
HIDE = """
() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    texts.currentNode.data = texts.currentNode.data
      .replace(/http:\\/\\/127\\.0\\.0\\.1:\\d+\\/hook\\/(\\w+)/g, "https://$1.example.com/events")
      .replace(/[0-9a-f]{32}@example\\.com/g, "owner@example.com")
      .replace(/127\\.0\\.0\\.1/g, "192.0.2.14");
  }
}
"""
# Shows the default address of the service in the text of an example, whose parts have colors.
DEFAULT_PORT = """
() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode())
    texts.currentNode.data = texts.currentNode.data.replace(/(127\\.0\\.0\\.1):\\d+/g, "$1:8080");
}
"""
FILE = """Email Address,First Name,Last Name,MEMBER_RATING,OPTIN_TIME,TAGS
nadia.khan@example.com,Nadia,Khan,4,2025-03-02 09:14:00,"newsletter"
tom.berg@example.com,Tom,Berg,2,2025-04-11 17:40:00,"newsletter,beta"
lucia.rossi@example.com,Lucia,Rossi,5,2025-06-21 12:03:00,"customer"
"""


def opted_out(person: Person) -> str:
    found = person.account.ok("ListSubscribers", status="UNSUBSCRIBED", limit=1)
    identifier: str = found["subscribers"][0]["id"]
    return identifier


def select_all(page: Page) -> None:
    page.locator("#grid .row").nth(3).wait_for()
    page.locator("#grid").focus()
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+a")


def tag_dialog(page: Page) -> None:
    select_all(page)
    page.keyboard.press("t")
    page.get_by_role("dialog").wait_for()
    page.keyboard.type("beta")
    page.locator("#plan").wait_for()


def export_dialog(page: Page) -> None:
    page.get_by_role("button", name="Export").click()
    page.get_by_role("dialog").wait_for()


def drop_file(page: Page) -> None:
    file = {"name": "mailchimp.csv", "mimeType": "text/csv", "buffer": FILE.encode()}
    page.locator("input[type=file]").first.set_input_files([file])
    page.get_by_text("Email Address").first.wait_for()


def nothing(_page: Page) -> None:
    pass


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        listening() as good,
        listening() as bad,
        chromium() as browser,
    ):
        service = start(Path(folder))
        account = new_account(service, HttpFront("http", service.http))
        demo.fill(account, good, bad)
        context = browser.new_context(locale="en-GB", viewport=SIZE, reduced_motion="reduce")
        person = Person(context.new_page(), account)
        person.sign_in()
        pictures: list[tuple[Path, str, Callable[[Page], None]]] = [
            (GUIDES / "console.png", "/", nothing),
            (GUIDES / "console-keys.png", "/settings/keys", nothing),
            (GUIDES / "console-import.png", "/import", drop_file),
            (
                GUIDES / "console-export.png",
                '/subscribers?filter=customFields.plan%20=%20"team"',
                export_dialog,
            ),
            (GUIDES / "console-operation.png", '/subscribers?filter=tags:"partner"', tag_dialog),
            (GUIDES / "console-filter.png", '/subscribers?filter=tags:"beta"', nothing),
            (GUIDES / "console-person.png", f"/subscribers/{opted_out(person)}", nothing),
            (GUIDES / "console-webhooks.png", "/webhooks", nothing),
            (GUIDES / "console-audit.png", "/settings/audit", nothing),
            (GUIDES / "console-fields.png", "/fields", nothing),
        ]
        for path, address, prepare in pictures:
            person.open(address)
            person.page.wait_for_load_state("networkidle")
            prepare(person.page)
            person.page.wait_for_timeout(500)
            person.page.evaluate(HIDE)
            path.write_bytes(smaller(person.page.screenshot()))
            print(path.relative_to(ROOT), path.stat().st_size)
        context.close()
        reference = browser.new_page(viewport={"width": 1280, "height": 800})
        reference.goto(f"http://{service.http}/docs#CreateSubscriber")
        reference.wait_for_load_state("networkidle")
        reference.wait_for_timeout(500)
        reference.evaluate(DEFAULT_PORT)
        (README / "docs.png").write_bytes(smaller(reference.screenshot()))
        service.stop()
    for name in ("console.png", "console-person.png", "console-operation.png"):
        (README / name).write_bytes((GUIDES / name).read_bytes())


if __name__ == "__main__":
    main()
