"""Server-sent events read by the EventSource of a browser, which cannot set headers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import async_playwright

from ...tools import program
from ..serving import gateway_to, run
from ..stream_service import notes_reply, reject

pytestmark = pytest.mark.verify

# Collects the records of a stream until its last event.
COLLECT = """path => new Promise(resolve => {
    const texts = [], source = new EventSource(path);
    const over = event => {
        source.close();
        resolve([texts, event.type, event.data ? JSON.parse(event.data) : null]);
    };
    source.addEventListener("message", event => texts.push(JSON.parse(event.data).text));
    source.addEventListener("end", over);
    source.addEventListener("error", over);
})"""


@pytest.mark.parametrize("fails", [False, True])
def test_browser_receives_every_record_and_the_end_of_the_stream(*, fails: bool) -> None:
    chromium = program("chromium", "chromium")
    texts = [f"é\n{number}" for number in range(500)]

    async def send_notes(_request: Any, context: Any) -> AsyncIterator[Any]:
        for text in texts:
            yield notes_reply(text)
        if fails:
            await reject(context, "TAG_NOT_FOUND")

    async def main() -> Any:
        async with (
            gateway_to("in-process", List=send_notes) as runner,
            async_playwright() as playwright,
        ):
            browser = await playwright.chromium.launch(
                executable_path=chromium, args=["--no-sandbox"]
            )
            page = await browser.new_page()
            host, port = runner.addresses[0]
            await page.goto(f"http://{host}:{port}/healthz")
            collected = await page.evaluate(COLLECT, "/list?name=a")
            await browser.close()
            return collected

    received, name, data = run(main())

    assert received == texts
    assert name == ("error" if fails else "end")
    assert (data["error"]["code"] == "TagNotFound") if fails else data == {}
