"""HTML pages that load nothing else: the style and the scripts are part of the page.

The Content-Security-Policy names them by their hashes, so a browser runs nothing else.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ..request_errors import HttpError
from .highlight import highlight
from .markdown import prose

_ASSETS = files(__package__) / "assets"
_STYLE = (
    "colors.css",
    "layout.css",
    "text.css",
    "fields.css",
    "controls.css",
    "panels.css",
    "try.css",
    "search.css",
    "guides.css",
    "screens.css",
)
_HEAD_SCRIPT = ("head.js",)


@dataclass(frozen=True)
class Page:
    """A page and its Content-Security-Policy."""

    html: bytes
    policy: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Content-Security-Policy": self.policy, "Referrer-Policy": "no-referrer"}


def page(
    template: str, scripts: Sequence[str], style: Sequence[str] = _STYLE, **values: Any
) -> Page:
    """Renders a template with values.

    The scripts form one script: each file can use what the files before it declare.
    """
    css, head_script, script = map(_joined, (style, _HEAD_SCRIPT, scripts))
    values = {**values, "style": css, "head_script": head_script, "script": script}
    text = _environment().get_template(template).render(values)
    return Page(text.encode(), _policy(css, head_script, script))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["prose"] = prose
    environment.filters["highlight"] = highlight
    environment.filters["path_variables"] = _with_variables
    environment.filters["error"] = _error_of
    return environment


def _joined(names: Sequence[str]) -> Markup:
    """Returns asset files as one text that is inserted unescaped."""
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


def _error_of(code: str, by_code: Mapping[str, HttpError]) -> HttpError:
    return by_code[code]


def _with_variables(path: str) -> Markup:
    """Returns a path with its variables in bold."""
    return escape(path).replace("{", Markup("<b>{")).replace("}", Markup("}</b>"))
