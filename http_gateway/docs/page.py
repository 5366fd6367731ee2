"""A page as it is served: one answer that holds everything, and asks nobody else for more.

What style and what scripts a page has stand in it, and the Content-Security-Policy names
them by their hashes: a browser runs nothing else.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from .errors import all_refusals
from .highlight import highlight, own_base
from .markdown import prose

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


@dataclass(frozen=True)
class Rendered:
    """A page, and the Content-Security-Policy that it is served with."""

    html: bytes
    policy: str


def rendered(template: str, scripts: Sequence[str], **values: Any) -> Rendered:
    """Makes a page of a template with values.

    The scripts are one: each file sees what those before it declare.
    """
    style, head_script, script = map(_joined, (_STYLE, _HEAD_SCRIPT, scripts))
    text = (
        _environment()
        .get_template(template)
        .render(**values, style=style, head_script=head_script, script=script)
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
    known = {error_response.code: error_response for error_response in all_refusals()}
    environment.filters["prose"] = prose
    environment.filters["highlight"] = highlight
    environment.globals["own_base"] = own_base
    environment.filters["place"] = _with_places
    environment.filters["refusal"] = known.__getitem__
    return environment


def _joined(names: Sequence[str]) -> Markup:
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
