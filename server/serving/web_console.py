"""The console: the files of server/console/built, and the headers that restrict them."""

from __future__ import annotations

from importlib.resources import files

from rosterd.http_gateway.options import WebApp

# Nothing of another origin, no code in the page, and no text that becomes HTML or code.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)
# Features of browsers that the console does not use.
_DISABLED = ("camera", "display-capture", "geolocation", "microphone", "payment", "usb")
CONSOLE = WebApp(
    prefix="/console/",
    folder=files("rosterd.server") / "console" / "built",
    content_security_policy=_POLICY,
    headers={
        "Cross-Origin-Opener-Policy": "same-origin",
        "Permissions-Policy": ", ".join(f"{name}=()" for name in _DISABLED),
        "Referrer-Policy": "no-referrer",
        "X-Robots-Tag": "noindex",
    },
)
