"""Reads the guides in `server/guides` for the documentation pages of the gateway."""

from __future__ import annotations

from base64 import b64encode
from importlib.resources import files

from rosterd.http_gateway.docs.documentation import Documentation, Guide

from ..config import API_KEY

# The gRPC port in the guides.
_GRPC_PORT = 50051
_FOLDER = files("rosterd.server") / "guides"
# The guides by group, in the order of the navigation.
_GUIDES = {
    "Get started": ("quick-start", "console", "fields", "authentication"),
    "Concepts": ("statuses", "consent", "pagination", "errors", "idempotency"),
    "Guides": (
        *("import", "export", "sign-up", "double-opt-in", "filters", "segments"),
        *("sync", "webhooks", "audit", "grpc"),
    ),
}


def documentation(grpc_port: int = _GRPC_PORT) -> Documentation:
    """Returns the guides, and the values in code samples, with the gRPC port of this process."""
    grpc_address = f"127.0.0.1:{grpc_port}"

    def text_of(name: str) -> str:
        text = (_FOLDER / f"{name}.md").read_text("utf-8")
        return text.replace(f"127.0.0.1:{_GRPC_PORT}", grpc_address)

    return Documentation(
        guides=tuple(
            Guide(name, group, text_of(name)) for group, names in _GUIDES.items() for name in names
        ),
        images=_Images(),
        grpc_address=grpc_address,
        key_variable=API_KEY,
    )


class _Images(dict[str, str]):
    """The images of the guides: SVG documents, and data URLs of PNG files, read when needed."""

    def __missing__(self, name: str) -> str:
        data = (_FOLDER / name).read_bytes()
        if name.endswith(".svg"):
            return data.decode()
        return f"data:image/png;base64,{b64encode(data).decode()}"
