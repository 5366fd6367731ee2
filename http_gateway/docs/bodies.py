"""Request and response bodies, one per media type."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from ..responses import JSON
from ..streams import ndjson
from . import literals
from .fields import Field, Fields


@dataclass(frozen=True)
class Body:
    """A body: its media type, description, fields and example.

    The fields of NDJSON are those of a record, and its example is a list of records. The example
    of a form is an object, and that of another text format is text.
    """

    media_type: str
    about: str
    fields: tuple[Field, ...]
    example: Any
    has_records: bool

    @property
    def is_json(self) -> bool:
        """Whether the body is one JSON value."""
        return self.media_type == JSON

    @property
    def text(self) -> str:
        """The formatted example."""
        if self.is_json:
            return literals.formatted(self.example, literals.JSON)
        if isinstance(self.example, dict):
            return urlencode({name: v for name, v in self.example.items() if v}, doseq=True)
        if self.has_records:
            return "\n".join(json.dumps(record, ensure_ascii=False) for record in self.example)
        return str(self.example)


def bodies_of(message: dict[str, Any], fields: Fields) -> tuple[Body, ...]:
    """Returns the bodies of a request or a response."""
    return tuple(
        _body(media_type, content, fields)
        for media_type, content in message.get("content", {}).items()
    )


def _body(media_type: str, content: dict[str, Any], fields: Fields) -> Body:
    schema, example = content["schema"], content.get("example", "")
    has_records = media_type == ndjson.CONTENT_TYPE
    if has_records:
        example = [json.loads(line) for line in example.splitlines()]
    return Body(
        media_type=media_type,
        about="" if media_type == JSON else schema.get("description", ""),
        fields=fields.of(schema["contentSchema"] if has_records else schema),
        example=example,
        has_records=has_records,
    )
