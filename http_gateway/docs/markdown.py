"""Descriptions as HTML: paragraphs, lists and code, and nothing else that Markdown has.

All else stays text. No description can bring a link, a picture or a tag of its own.
"""

from __future__ import annotations

from functools import lru_cache

from markdown_it import MarkdownIt
from markupsafe import Markup

_MARKDOWN = MarkdownIt("zero").enable(["backticks", "list"])


@lru_cache(maxsize=2048)
def prose(text: str) -> Markup:
    """Returns a description as HTML."""
    # What the library gives is escaped: raw HTML is among the things that are not enabled.
    return Markup(_MARKDOWN.render(text))  # noqa: S704
