"""Reads the guides in `server/guides` for the documentation pages of the gateway."""

from __future__ import annotations

from importlib.metadata import metadata
from importlib.resources import files

from rosterd.http_gateway.docs.documentation import Documentation, Guide
from rosterd.http_gateway.openapi.info import ApiInfo

from ..config import API_KEY
from ..features.events.rules import EventType

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
    """Returns the name of the service, the guides, and the values in code samples."""
    package = metadata("roster")
    images = (file for file in _FOLDER.iterdir() if file.name.endswith(".svg"))
    return Documentation(
        about=ApiInfo(
            package["Name"].capitalize(),
            package["Version"],
            package["Summary"],
            {event_type: event_type.description for event_type in EventType},
        ),
        guides=tuple(
            Guide(name, group, (_FOLDER / f"{name}.md").read_text("utf-8"))
            for group, names in _GUIDES.items()
            for name in names
        ),
        images={image.name: image.read_text("utf-8") for image in images},
        key_variable=API_KEY,
    )
