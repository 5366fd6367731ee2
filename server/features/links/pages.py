"""Renders the pages that links open, and the responses to forms.

A page needs no script and loads nothing: its style and the logo are part of it, and its
Content-Security-Policy allows nothing else.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from ..accounts.store import Branding

if TYPE_CHECKING:
    from jinja2 import Template

_FOLDER = files(__package__)
# The first one is the default.
LANGUAGES = ("en", "de", "fr", "es")
DEFAULT_COLOR = "#1a5fb4"
# Characters of Accept-Language that are read. The rest is ignored.
_MAX_HEADER_LENGTH = 500
_HEADERS = (
    ("cache-control", "no-store"),
    # The URL contains the token.
    ("referrer-policy", "no-referrer"),
    ("x-robots-tag", "noindex"),
    ("vary", "Accept-Language"),
)


class View(StrEnum):
    """The pages, by their keys in the files of texts."""

    CONFIRM = "confirm"
    CONFIRMED = "confirmed"
    NOT_CONFIRMABLE = "notConfirmable"
    UNSUBSCRIBE = "unsubscribe"
    UNSUBSCRIBED = "unsubscribed"
    RESUBSCRIBED = "resubscribed"
    ENDED = "ended"
    INVALID = "invalid"
    SIGNED_UP = "signedUp"
    INVALID_EMAIL = "invalidEmail"
    INVALID_NAME = "invalidName"
    TOO_MANY = "tooMany"
    FORM_FAILED = "formFailed"


class Content(NamedTuple):
    """The content of a page: the address of a person, and the design of the sender's pages.

    Pages of links show a masked address, because a link can be forwarded.
    """

    view: View
    email: str = ""
    branding: Branding | None = None
    can_undo: bool = False
    # Whether the page is shown to the sender, and changes nothing.
    is_preview: bool = False


INVALID = Content(View.INVALID)
# The page that a preview of a page with a button shows next.
_NEXT = {View.CONFIRM: View.CONFIRMED, View.UNSUBSCRIBE: View.UNSUBSCRIBED}


class Page(NamedTuple):
    """A page, and the metadata of its response, which HTTP sends as headers."""

    html: bytes
    metadata: tuple[tuple[str, str], ...]


def page(language: str, content: Content) -> Page:
    """Returns a page in a language of LANGUAGES."""
    from markupsafe import Markup, escape  # noqa: PLC0415 - loaded with the first page

    texts, branding = _texts(language), content.branding
    view = texts[content.view]
    color = (branding.color if branding else "") or DEFAULT_COLOR
    style = f"{_style()}\n:root {{ --color: {color}; --text: {text_color(color)}; }}\n"
    html = _template().render(
        language=language,
        # Safe: a file of this package, and a validated color.
        style=Markup(style),  # noqa: S704
        sender=branding.display_name if branding else "",
        logo=_data_url(branding) if branding else "",
        title=view["title"],
        text=escape(view["text"]).format(email=Markup("<bdi>{}</bdi>").format(content.email)),
        button=view.get("button", ""),
        undo=texts["undo"] if content.can_undo else {},
        **_preview(content, texts),
    )
    headers = (("content-security-policy", _policy(style)), ("content-language", language))
    return Page(html.encode(), (*_HEADERS, *headers))


def _preview(content: Content, texts: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what the template needs for a preview."""
    if not content.is_preview:
        return {"preview": None}
    return {
        "preview": texts["preview"],
        "page": content.view.name,
        "next": _NEXT.get(content.view, content.view).name,
        "languages": {each: _texts(each)["preview"]["language"] for each in LANGUAGES},
    }


def language_of(header: str) -> str:
    """Returns the language that an Accept-Language header prefers (RFC 9110)."""
    best, best_quality = LANGUAGES[0], 0.0
    for item in header[:_MAX_HEADER_LENGTH].lower().split(","):
        name, _, parameter = item.partition(";")
        language = name.strip().partition("-")[0]
        quality = _quality(parameter)
        if language in LANGUAGES and quality > best_quality:
            best, best_quality = language, quality
    return best


def _quality(parameter: str) -> float:
    _, _, value = parameter.strip().partition("q=")
    try:
        return float(value or "1")
    except ValueError:
        return 0.0


def text_color(color: str) -> str:
    """Returns black or white, the one with the greater contrast to a color (WCAG 2.2)."""
    red, green, blue = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    luminance = 0.2126 * _linear(red) + 0.7152 * _linear(green) + 0.0722 * _linear(blue)
    return "#fff" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "#000"


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


def _data_url(branding: Branding) -> str:
    if not branding.logo:
        return ""
    return f"data:{branding.logo_type};base64,{b64encode(branding.logo).decode()}"


def _policy(style: str) -> str:
    digest = b64encode(sha256(style.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; form-action 'self';"
        " base-uri 'none'; frame-ancestors 'none'"
    )


@cache
def _texts(language: str) -> Mapping[str, Any]:
    texts: Mapping[str, Any] = json.loads(
        (_FOLDER / "texts" / f"{language}.json").read_text("utf-8")
    )
    return texts


@cache
def _style() -> str:
    return (_FOLDER / "page.css").read_text("utf-8")


@cache
def _template() -> Template:
    # Loaded with the first page: Jinja would add to the idle memory of every process.
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string((_FOLDER / "page.html.jinja").read_text("utf-8"))
