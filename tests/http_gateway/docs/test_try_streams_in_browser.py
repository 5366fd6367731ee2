"""Streams and slow requests from the forms of the reference in a browser."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Locator, expect

from .conftest import Reader

pytestmark = pytest.mark.verify

# More than the server accepts before the client reads the response.
ROWS = 2_500


def paste(form: Locator, text: str) -> None:
    """Sets the body of a form directly, which is faster than typing."""
    body = form.get_by_label("Body")
    body.evaluate("(body, text) => { body.value = text; }", text)
    body.dispatch_event("input")


def test_import_is_read_to_its_end_and_all_failures_are_shown(reader: Reader) -> None:
    reader.open()
    reader.enter_key()
    rows = [{"email": f"row{n}@example.com", "tags": ["pasted"]} for n in range(ROWS)]
    form = reader.form("ImportSubscribers")
    form.get_by_label("Content-Type").select_option("application/x-ndjson")
    paste(form, "\n".join(json.dumps(row) for row in [*rows, {"email": "no address"}, rows[0]]))

    assert reader.send(form) == "200 OK"

    summary = f"{ROWS:,} CREATED, 2 FAILED"
    expect(form.locator(".outcomes")).to_have_text(summary)
    expect(reader.page.get_by_role("status")).to_have_text(f"Response 200 OK: {summary}")
    failed = form.get_by_role("group", name="Records that failed").inner_text().splitlines()
    assert [json.loads(line)["line"] for line in failed] == [ROWS + 1, ROWS + 2]
    shown = form.get_by_role("group", name="Records", exact=True).inner_text().splitlines()
    # The last record is the summary.
    assert (len(shown), shown[-1]) == (201, "… and 2,303 more")
    found = reader.form("ListSubscribers")
    found.get_by_label("tag").fill("pasted")
    reader.send(found)
    expect(found.locator(".response pre")).to_contain_text(f'"total": {ROWS}')

    exported = reader.form("ExportSubscribers")
    exported.get_by_label("tag").fill("pasted")
    reader.send(exported)
    lines = exported.locator(".response pre").inner_text().splitlines()
    assert (len(lines), lines[-1]) == (201, "… and more, which were not requested")
