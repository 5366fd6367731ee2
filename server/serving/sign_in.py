"""The page on which a sign-in link or an API key is exchanged for a session."""

from __future__ import annotations

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files

from rosterd.http_gateway.responses import HTML
from rosterd.http_gateway.static_content import StaticContent

_FILE = files("rosterd.server.serving") / "sign_in.html"


@cache
def sign_in_page() -> StaticContent:
    """Returns the page, which loads nothing and runs only its own script."""
    text = _FILE.read_text("utf-8")
    script, style = (_source(text, element) for element in ("script", "style"))
    policy = (
        f"default-src 'none'; script-src {script}; style-src {style}; connect-src 'self';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
        " require-trusted-types-for 'script'; trusted-types 'none'"
    )
    headers = {
        "Content-Security-Policy": policy,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Robots-Tag": "noindex",
    }
    return StaticContent(text.encode(), HTML, headers)


def _source(page: str, element: str) -> str:
    """Returns the hash of the content of an element as a source in a policy."""
    match = re.search(f"<{element}>(.*)</{element}>", page, re.DOTALL)
    assert match is not None
    return f"'sha256-{b64encode(sha256(match[1].encode()).digest()).decode()}'"
