"""Reads the served documentation and extracts parts of its pages as text."""

from __future__ import annotations

import re
from html import unescape

from rosterd.http_gateway.docs.site import Site
from rosterd.http_gateway.openapi.document import webhooks_document
from rosterd.server.app import SERVICES
from rosterd.server.serving.documentation import documentation
from rosterd.server.serving.gateway_policy import POLICY

from ...documented import openapi

DOCUMENTATION = documentation()
DOCUMENT = openapi()
WEBHOOKS = webhooks_document(POLICY)
SITE = Site(DOCUMENT, SERVICES, POLICY, webhooks=WEBHOOKS, documentation=DOCUMENTATION)


def text_of(html: str) -> str:
    """Returns HTML without its tags."""
    return unescape(re.sub(r"<[^>]*>", "", html))


def section(html: str, name: str) -> str:
    """Returns the HTML of an operation or an event type."""
    return _section(html, "operation", name)


def topic(html: str, name: str) -> str:
    """Returns the HTML of a topic of the reference."""
    return _section(html, "topic", name)


def _section(html: str, kind: str, name: str) -> str:
    match = re.search(rf'<section class="{kind}" id="{name}".*?</section>', html, re.DOTALL)
    assert match, name
    return match[0]


def code_blocks(html: str) -> list[str]:
    """Returns the text of the code blocks of a page, as the copy button copies it."""
    return [text_of(code) for code in re.findall(r"<pre[^>]*><code>(.*?)</code>", html, re.DOTALL)]


def sample(html: str, name: str, language: str) -> str:
    """Returns the sample of an operation in a language."""
    match = re.search(
        rf'<div class="sample[^"]*" data-language="{language}">.*?<pre[^>]*><code>(.*?)</code>',
        section(html, name),
        re.DOTALL,
    )
    assert match, (name, language)
    return text_of(match[1])
