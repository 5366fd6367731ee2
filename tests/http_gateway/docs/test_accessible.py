"""Everybody can use the pages: axe-core finds nothing that WCAG 2.2 forbids, up to level AA."""

from __future__ import annotations

import pytest

from ... import tools
from .conftest import Reader

pytestmark = pytest.mark.verify

# Operations are all made alike, and looking at every one takes long.
PAGE = (".bar", ".key", ".navigation", "#introduction", "#errors", "#headers")
OPERATIONS = ("#CreateSubscriber", "#UpdateTag", "#ListTags", "#DeleteTag", "#ImportSubscribers")
# Events, too, are all made alike.
WEBHOOKS = (".bar", ".navigation", ".topic", "[id='subscriber.updated']")
RUN = """
async ([parts, ...tags]) => {
  const found = await axe.run({ include: parts }, { runOnly: tags, resultTypes: ["violations"] });
  return found.violations.map((each) => [each.id, ...each.nodes.map((node) => node.html)]);
}
"""
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.mark.parametrize(
    "reader", [{"color_scheme": "light"}, {"color_scheme": "dark"}], indirect=True, ids=str
)
def test_page_has_no_fault_that_keeps_people_out(reader: Reader) -> None:
    axe = tools.file("axe/axe.js", "axe")
    reader.open()
    reader.enter_key()
    reader.page.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
    reader.page.locator("#ListTags").get_by_label("limit").fill("-1")
    for operation, status in (("CreateSubscriber", "201 Created"), ("ListTags", "400 Bad Request")):
        assert reader.send(reader.page.locator(f"#{operation} .try")) == status
    reader.page.evaluate(axe.read_text())

    assert reader.page.evaluate(RUN, [[[part] for part in (*PAGE, *OPERATIONS)], *LEVELS]) == []


@pytest.mark.parametrize(
    "webhooks_reader",
    [{"color_scheme": "light"}, {"color_scheme": "dark"}],
    indirect=True,
    ids=str,
)
def test_page_about_webhooks_has_none_either(webhooks_reader: Reader) -> None:
    axe = tools.file("axe/axe.js", "axe")
    webhooks_reader.open()
    webhooks_reader.page.evaluate(axe.read_text())

    assert webhooks_reader.page.evaluate(RUN, [[[part] for part in WEBHOOKS], *LEVELS]) == []
