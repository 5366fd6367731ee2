"""The guides and the search index without a browser."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from rosterd.http_gateway.docs.documentation import Documentation, Guide
from rosterd.http_gateway.docs.markdown import GuideRenderer, RenderedGuide

from ...cases import each
from .html import DOCUMENT, DOCUMENTATION, SITE

GUIDES = [guide.name for guide in DOCUMENTATION.guides]
PATHS = ["/docs", "/docs/webhooks", *(f"/docs/guides/{name}" for name in GUIDES)]
FILES = {"/openapi.json", "/openapi/webhooks.json"}


@cache
def page(path: str) -> str:
    """Returns the HTML of a page."""
    name = path.removeprefix("/docs/guides/")
    if name != path:
        return SITE.guide(name).html.decode()
    return (SITE.reference() if path == "/docs" else SITE.event_types()).html.decode()


@cache
def search_index() -> Any:
    return json.loads(SITE.search_index())


@cache
def anchors(path: str) -> set[str]:
    return set(re.findall(r'\sid="([^"]+)"', page(path)))


def link_resolves(origin: str, url: str) -> bool:
    path, _, anchor = url.partition("#")
    path = path or origin
    return path in FILES or (path in PATHS and anchor in {"", *anchors(path)})


@each("path", PATHS)
def test_links_resolve_to_a_page_and_an_anchor(path: str) -> None:
    urls = re.findall(r'<a[^>]* href="([^"]+)"', page(path))

    broken = [url for url in urls if not re.match("https:", url) and not link_resolves(path, url)]
    assert broken == []


@each("path", PATHS)
def test_page_has_unique_ids_and_loads_no_external_resources(path: str) -> None:
    ids = re.findall(r'\sid="([^"]+)"', page(path))

    assert len(ids) == len(set(ids))
    assert not re.search(r"<[^>]+\s(style|on\w+)=", page(path))
    loaded = re.findall(r'<(?:script|img|iframe|link)[^>]*\s(?:src|href)="([^"]*)"', page(path))
    assert [url for url in loaded if not url.startswith("data:")] == []


def test_search_index_contains_existing_anchors() -> None:
    assert [entry["url"] for entry in search_index() if not link_resolves("", entry["url"])] == []


def test_search_index_contains_all_operations_guides_and_fields() -> None:
    titles = {(entry["kind"], entry["title"]) for entry in search_index()}
    ids = {
        element["operationId"] for item in DOCUMENT["paths"].values() for element in item.values()
    }

    assert ids == {i for entry in search_index() for i in entry.get("keywords", "").split()}
    for entry in (
        ("Operation", "Create subscriber"),
        ("Guide", "Quick start"),
        ("Guide", "Suppressions"),
        ("Field", "isConfirmed"),
        ("Field", "mergeTag"),
        ("Error", "SubscriberSuppressed"),
        ("Event type", "tag.deleted"),
    ):
        assert entry in titles


def rendered(text: str, **images: str) -> RenderedGuide:
    guide = Guide("one", "Guides", text)
    documentation = Documentation(guides=(guide, Guide("two", "Guides", "# Two")), images=images)
    urls = {"CreateTag": "/docs#CreateTag"}
    return GuideRenderer(documentation, urls, "/docs/guides/").render(guide)


def html_of(guide: RenderedGuide) -> str:
    return "".join(block.html for block in guide.blocks)


def test_html_in_a_guide_is_removed_or_escaped() -> None:
    guide = rendered("# One\n\n<!-- test: 201 -->\n\n<script>alert(1)</script>\n\nA <b>c</b>.\n")

    assert html_of(guide) == "<h1>One</h1>\n<p>A &lt;b&gt;c&lt;/b&gt;.</p>\n"


def test_images_of_a_guide_are_part_of_its_page() -> None:
    image = "data:image/png;base64,AAAA"

    html = html_of(rendered('# One\n\n![A "list"](list.png)\n', **{"list.png": image}))

    assert html == f'<h1>One</h1>\n<p><img src="{image}" alt="A &#34;list&#34;"></p>\n'


def test_names_of_operations_become_links() -> None:
    html = html_of(rendered("# One\n\n`CreateTag` and `DeleteTag`, [`CreateTag`](two.md#a).\n"))

    assert '<a href="/docs#CreateTag"><code>CreateTag</code></a> and <code>DeleteTag' in html
    assert '<a href="/docs/guides/two#a"><code>CreateTag</code></a>' in html


def test_consecutive_code_blocks_in_several_languages_are_alternatives() -> None:
    sh, python, response = "```sh\ncurl x\n```\n", "```python\nx\n```\n", "```json\n{}\n```\n"
    guide = rendered(f"# One\n\n{sh}\n{python}\n{response}\n{sh}\nText\n\n{sh}")

    languages = [[sample.language for sample in block.samples] for block in guide.blocks]
    assert languages == [[], ["curl", "python"], ["json"], ["curl"], [], ["curl"]]
