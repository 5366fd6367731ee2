"""Request and response bodies, one per media type."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
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


def bodies_of(message: dict[str, Any], fields: Fields, *, is_request: bool) -> tuple[Body, ...]:
    """Returns the bodies of a request or a response."""
    return tuple(
        _body(media_type, content, fields, is_request=is_request)
        for media_type, content in message.get("content", {}).items()
    )


def _body(media_type: str, content: dict[str, Any], fields: Fields, *, is_request: bool) -> Body:
    schema, example = content["schema"], content.get("example", "")
    has_records = media_type == ndjson.CONTENT_TYPE
    if has_records:
        example = [json.loads(line) for line in example.splitlines()]
    members = fields.of(schema["contentSchema"] if has_records else schema)
    return Body(
        media_type=media_type,
        about="" if media_type == JSON else schema.get("description", ""),
        fields=members,
        example=_without_free_objects(example, members) if is_request else example,
        has_records=has_records,
    )


def _without_free_objects(example: Any, fields: tuple[Field, ...]) -> Any:
    """Returns an example without objects with keys that an account defines.

    A new account can then send the example unchanged.
    """
    if isinstance(example, list):
        return [_without_free_objects(item, fields) for item in example]
    if not isinstance(example, dict):
        return example
    by_name = {field.name: field for field in fields}
    return {
        name: _without_free_objects(value, by_name[name].fields)
        for name, value in example.items()
        if name in by_name and not by_name[name].is_free
    }


def last_member_only(body: Body) -> Body:
    """Returns the body of an update with an example that changes only the last plain value.

    Values that identify an object come first.
    """
    if not isinstance(body.example, dict):
        return body
    plain = {name: v for name, v in body.example.items() if not isinstance(v, dict | list)}
    return replace(body, example=dict(list(plain.items())[-1:]))
