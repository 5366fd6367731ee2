"""The reference page: one answer that holds everything it needs, and asks nobody else for more.

The page is made of the OpenAPI document once. What style and what scripts it has stand in
it, and the Content-Security-Policy names them by their hashes: a browser runs nothing else.
"""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ..body import MAX_BODY_BYTES
from ..codec.strict_json import MAX_DEPTH, MAX_VALUES
from ..routing.query import MAX_PARAMETERS
from .highlight import highlight, own_base
from .operations import headers_of, resources_of
from .prose import prose
from .reader import Document
from .refusals import all_refusals, common_codes

_ASSETS = files(__package__) / "assets"
_STYLE = (
    "colours.css",
    "layout.css",
    "text.css",
    "fields.css",
    "controls.css",
    "panels.css",
    "attempt.css",
    "screens.css",
)
_HEAD_SCRIPT = ("head.js",)
# The scripts are one: each file sees what those before it declare.
_SCRIPT = (
    "store.js",
    "theme.js",
    "navigation.js",
    "key.js",
    "samples.js",
    "colouring.js",
    "records.js",
    "answer.js",
    "request.js",
    "follow.js",
    "attempt.js",
)
_OVERVIEW = (
    ("introduction", "Introduction"),
    ("authentication", "Authentication"),
    ("errors", "Errors"),
    ("pages", "Pages"),
    ("idempotency", "Idempotency"),
    ("limits", "Limits"),
    ("streams", "Streams"),
    ("headers", "Headers"),
)
# What a request may have at most, as the page tells it.
_LIMITS = {
    "size": f"{MAX_BODY_BYTES / (1 << 20):g} MiB",
    "depth": MAX_DEPTH,
    "count": f"{MAX_VALUES:,}",
    "parameters": MAX_PARAMETERS,
}


@dataclass(frozen=True)
class Rendered:
    """A page, and the Content-Security-Policy that it is served with."""

    html: bytes
    policy: str


def render(content: dict[str, Any]) -> Rendered:
    """Makes the page of an OpenAPI document."""
    document = Document(content)
    request_headers, answer_headers = headers_of(document)
    style, head_script, script = map(_joined, (_STYLE, _HEAD_SCRIPT, _SCRIPT))
    text = (
        _environment()
        .get_template("page.html.jinja")
        .render(
            info=content["info"],
            document=document,
            overview=_OVERVIEW,
            resources=resources_of(document),
            request_headers=request_headers,
            answer_headers=answer_headers,
            all_refusals=all_refusals(),
            common=common_codes(document),
            error_example=_error_example(document),
            limits=_LIMITS,
            style=style,
            head_script=head_script,
            script=script,
        )
    )
    return Rendered(text.encode(), _policy(style, head_script, script))


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    known = {refusal.code: refusal for refusal in all_refusals()}
    environment.filters["prose"] = prose
    environment.filters["highlight"] = highlight
    environment.globals["own_base"] = own_base
    environment.filters["place"] = _with_places
    environment.filters["refusal"] = known.__getitem__
    return environment


def _joined(names: tuple[str, ...]) -> Markup:
    """Returns files of the package as one text, which is put into the page as it is."""
    return Markup("\n".join((_ASSETS / name).read_text() for name in names))  # noqa: S704


def _policy(style: str, *scripts: str) -> str:
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src {_hash(style)}",
            f"script-src {' '.join(map(_hash, scripts))}",
            "connect-src 'self'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _with_places(path: str) -> Markup:
    """Returns a path with its variables marked."""
    return escape(path).replace("{", Markup("<b>{")).replace("}", Markup("}</b>"))


def _error_example(document: Document) -> str:
    """Returns an error as the document shows it; nothing if it shows none with details."""
    for response in document.components["responses"].values():
        for content in response["content"].values():
            for example in content["examples"].values():
                if example["value"]["error"]["details"]:
                    return json.dumps(example["value"], indent=2)
    return ""
