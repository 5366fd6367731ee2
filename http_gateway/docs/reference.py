"""The reference page: every operation of an OpenAPI document."""

from __future__ import annotations

import json
from typing import Any

from ..body import MAX_BODY_BYTES
from ..codec.strict_json import MAX_DEPTH, MAX_VALUES
from ..openapi.webhooks import PAYLOAD
from ..routing.query import MAX_PARAMETERS
from .document import Document
from .errors import all_refusals, common_codes
from .operations import headers_of, resources_of
from .page import Rendered, rendered

_SCRIPTS = (
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
    ("pages", "Pagination"),
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


def render(content: dict[str, Any]) -> Rendered:
    """Makes the page of an OpenAPI document."""
    document = Document(content)
    request_headers, answer_headers = headers_of(document)
    return rendered(
        "page.html.jinja",
        _SCRIPTS,
        info=content["info"],
        document=document,
        overview=_OVERVIEW,
        has_webhooks=PAYLOAD in document.components["schemas"],
        resources=resources_of(document),
        request_headers=request_headers,
        answer_headers=answer_headers,
        all_refusals=all_refusals(),
        common=common_codes(document),
        error_example=_error_example(document),
        limits=_LIMITS,
    )


def _error_example(document: Document) -> str:
    """Returns an error as the document shows it; nothing if it shows none with details."""
    for response in document.components["responses"].values():
        for content in response["content"].values():
            for example in content["examples"].values():
                if example["value"]["error"]["details"]:
                    return json.dumps(example["value"], indent=2)
    return ""
