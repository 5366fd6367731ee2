"""What refers to a tag, a custom field or a segment."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Use(NamedTuple):
    """A resource that refers to another one; `type` is a name of `Use.Type`."""

    type: str
    id: str
    name: str | None = None


# Returns what refers to a resource, by its name or key.
UsesOf = Callable[[str], list[Use]]
