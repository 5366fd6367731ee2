"""What a reader sees of calls that take their time: that they run, and all that became of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Route, expect

from .conftest import Reader

pytestmark = pytest.mark.verify

# More than the server takes into its hands before somebody reads what it answers.
ROWS = 2_500
# An answer that breaks off after its first record.
BROKEN = """
window.fetch = async () => new Response(
  new ReadableStream({
    pull(told) {
      if (this.hasBegun) told.error(new Error("broken"));
      else told.enqueue(new TextEncoder().encode('{"line":1,"outcome":"CREATED"}\\n'));
      this.hasBegun = true;
    },
  }, { highWaterMark: 0 }),
  { headers: { "Content-Type": "application/x-ndjson" } },
);
"""


def paste(form: Locator, text: str) -> None:
    """Puts text into the body of a form at once; to type it takes long."""
    body = form.get_by_label("Body")
    body.evaluate("(body, text) => { body.value = text; }", text)
    body.dispatch_event("input")


def test_import_is_read_to_its_end_and_every_failure_is_shown(reader: Reader) -> None:
    reader.open()
    reader.enter_key()
    rows = [{"email": f"row{n}@example.com", "tags": ["pasted"]} for n in range(ROWS)]
    form = reader.form("ImportSubscribers")
    form.get_by_label("Content-Type").select_option("application/x-ndjson")
    paste(form, "\n".join(json.dumps(row) for row in [*rows, {"email": "no address"}, rows[0]]))

    assert reader.send(form) == "200 OK"

    told = f"{ROWS:,} CREATED, 2 FAILED"
    expect(form.locator(".outcomes")).to_have_text(told)
    expect(reader.page.get_by_role("status")).to_have_text(f"Response 200 OK: {told}")
    failed = form.get_by_role("group", name="Records that failed").inner_text().splitlines()
    assert [json.loads(line)["line"] for line in failed] == [ROWS + 1, ROWS + 2]
    shown = form.get_by_role("group", name="Records", exact=True).inner_text().splitlines()
    assert (len(shown), shown[-1]) == (201, "… and 2,302 more")
    found = reader.form("ListSubscribers")
    found.get_by_label("tag").fill("pasted")
    reader.send(found)
    expect(found.locator(".answer pre")).to_contain_text(f'"total": {ROWS}')

    exported = reader.form("ExportSubscribers")
    exported.get_by_label("tag").fill("pasted")
    reader.send(exported)
    lines = exported.locator(".answer pre").inner_text().splitlines()
    assert (len(lines), lines[-1]) == (201, "… and more, which were not requested")


def test_what_was_told_before_an_answer_broke_off_stays(reader: Reader) -> None:
    reader.open()
    reader.page.evaluate(BROKEN)
    form = reader.form("ImportSubscribers")

    form.locator(".send button").click()

    expect(form.locator(".outcomes")).to_have_text("1 CREATED")
    expect(form.locator(".status")).to_have_text(
        ["200", "The response was interrupted. Changes made before then are kept."]
    )


@pytest.fixture
def held(user: Reader) -> Iterator[list[Route]]:
    """Requests about tags, which get no answer until they are let go on."""
    routes: list[Route] = []
    user.page.route("**/api/tags*", lambda route: routes.append(route))
    yield routes
    user.page.unroute("**/api/tags*")


def test_call_that_runs_is_told_of_and_can_be_cancelled(user: Reader, held: list[Route]) -> None:
    form = user.form("ListTags")

    form.locator(".send button").click()
    expect(form.locator(".answer .status")).to_have_text("Sending…")
    expect(user.page.get_by_role("status")).to_have_text("Sending…")
    form.get_by_role("button", name="Cancel").click()

    expect(form.locator(".answer .status")).to_have_text("Cancelled.")
    expect(user.page.get_by_role("status")).to_have_text("Cancelled.")
    expect(form.get_by_role("button", name="Send")).to_be_focused()
    assert len(held) == 1


def test_new_call_ends_the_one_before_and_clears_its_answer(
    user: Reader, held: list[Route]
) -> None:
    form = user.form("ListTags")
    failed: list[str] = []
    user.page.on("requestfailed", lambda request: failed.append(request.url))

    for limit in ("1", "2", "3"):
        form.get_by_label("limit").fill(limit)
        form.locator(".send button").click()
        expect(form.locator(".answer .status")).to_have_text(["Sending…"])
    held[-1].continue_()

    expect(form.locator(".answer pre")).to_contain_text('"limit": 3')
    expect(form.locator(".answer .status")).to_have_text(["200 OK"])
    expect(form.get_by_role("button", name="Cancel")).to_have_count(0)
    assert [re.sub(r".*\?", "", url) for url in failed] == ["limit=1", "limit=2"]
