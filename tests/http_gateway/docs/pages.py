"""What the page is made of, and the page as text, in parts: sections, and what can be pasted."""

from __future__ import annotations

import re
from html import unescape

from http_gateway.openapi.document import document
from server.app import SERVICES

DOCUMENT = document(SERVICES)


def text_of(html: str) -> str:
    """Returns HTML without its tags."""
    return unescape(re.sub(r"<[^>]*>", "", html))


def section(html: str, name: str) -> str:
    """Returns the HTML of an operation."""
    return _section(html, "operation", name)


def topic(html: str, name: str) -> str:
    """Returns the HTML of a topic of the overview."""
    return _section(html, "topic", name)


def _section(html: str, kind: str, name: str) -> str:
    match = re.search(rf'<section class="{kind}" id="{name}".*?</section>', html, re.DOTALL)
    assert match, name
    return match[0]


def sample(html: str, name: str, language: str) -> str:
    """Returns the example of an operation in a language, as a reader copies it."""
    match = re.search(
        rf'<div class="sample[^"]*" data-language="{language}">.*?<pre[^>]*><code>(.*?)</code>',
        section(html, name),
        re.DOTALL,
    )
    assert match, (name, language)
    return text_of(match[1])
