"""Imports by a web page: a browser reads no response before its upload ends."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from ..browser import chromium
from ..conftest import Account, new_account
from ..fronts import HttpFront
from ..processes import Service

pytestmark = pytest.mark.verify

# 20 MB, whose results fill the buffers of a connection.
ROWS = 90_000
_IMPORT = """
async ([key, results, rows]) => {
  let text = "email,firstName,lastName\\n";
  for (let row = 0; row < rows; row++)
    text += `row${row}@example.com,`.padEnd(115, "a") + "," + "b".repeat(99) + "\\n";
  text += "no address,,\\n";
  const response = await fetch(`/api/subscribers/import?results=${results}`, {
    method: "POST",
    headers: { "Content-Type": "text/csv", Authorization: `Bearer ${key}` },
    body: text,
  });
  return [response.status, await response.text()];
}
"""


def imported(service: Service, account: Account, results: str) -> list[Any]:
    """Returns the records of an import by a web page."""
    with chromium() as browser:
        page = browser.new_page()
        page.goto(f"http://{service.http}/healthz")
        status, text = page.evaluate(_IMPORT, [account.key, results, ROWS])
    assert status == 200
    # Empty lines keep the connection alive while rows are stored.
    return [json.loads(line) for line in text.splitlines() if line]


def calls(service: Service, account: Account) -> int:
    """Returns the number of imports in the log."""
    entries = map(json.loads, service.log.read_text().splitlines())
    rpcs = Counter(e.get("rpc") for e in entries if e.get("accountId") == account.id)
    return rpcs["SubscriberService.ImportSubscribers"]


@pytest.mark.parametrize("results", ["ALL", "FAILED", "SUMMARY"])
def test_web_page_imports_each_row_once_or_receives_a_clear_error(
    service: Service, results: str
) -> None:
    account = new_account(service, HttpFront("http", service.http))

    *records, last = imported(service, account, results)

    stored = account.ok("ListSubscribers")["total"]
    assert calls(service, account) == 1
    if "error" in last:
        assert (results, last["error"]["code"]) == ("ALL", "ResponseNotRead")
        assert "results=FAILED or results=SUMMARY" in last["error"]["message"]
        assert len(records) == stored < ROWS
    else:
        assert (stored, last["summary"]["failed"]) == (ROWS, 1)
        assert len(records) == {"ALL": ROWS + 1, "FAILED": 1, "SUMMARY": 0}[results]
