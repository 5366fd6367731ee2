"""Reads the guides in `server/guides` for the documentation pages of the gateway."""

from __future__ import annotations

from importlib.resources import files

from rosterd.http_gateway.docs.documentation import Documentation, Guide

from ..config import API_KEY

_FOLDER = files("rosterd.server") / "guides"
# The guides by group, in the order of the navigation.
_GUIDES = {
    "Get started": ("quick-start", "authentication"),
    "Concepts": ("statuses", "consent", "pagination", "errors", "idempotency"),
    "Guides": (
        *("import", "sign-up", "double-opt-in", "filters", "segments"),
        *("sync", "webhooks", "grpc"),
    ),
}


def documentation() -> Documentation:
    """Returns the guides, and the values in code samples."""
    images = (file for file in _FOLDER.iterdir() if file.name.endswith(".svg"))
    return Documentation(
        guides=tuple(
            Guide(name, group, (_FOLDER / f"{name}.md").read_text("utf-8"))
            for group, names in _GUIDES.items()
            for name in names
        ),
        images={image.name: image.read_text("utf-8") for image in images},
        key_variable=API_KEY,
    )
