"""What a service adds to its reference pages: guides, and the values in its code samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Guide:
    """A guide in Markdown. Its first heading is its title.

    `name` is the last segment of its URL, `group` the heading above it in the navigation.
    """

    name: str
    group: str
    text: str


@dataclass(frozen=True)
class Documentation:
    """The texts of a service.

    `images` are SVG documents or data URLs by file name; guides refer to them as Markdown images.
    `key_variable` is the environment variable with the API key.
    """

    guides: tuple[Guide, ...] = ()
    images: Mapping[str, str] = field(default_factory=dict)
    http_url: str = "http://127.0.0.1:8080"
    grpc_address: str = "127.0.0.1:50051"
    key_variable: str = "API_KEY"
