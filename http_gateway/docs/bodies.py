"""Bodies, of requests and of answers, one for each media type."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from ..responses import JSON
from ..streams import ndjson
from . import literals
from .fields import Field, Fields


@dataclass(frozen=True)
class Body:
    """A body: its media type, what is said of it, its fields, and an example.

    A body of records is text that has one of them a line; its fields are those of a
    record. The example of any other text is the text.
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
        """The example as it is sent, laid out for people."""
        if self.is_json:
            return literals.laid_out(self.example, literals.JSON)
        if self.has_records:
            return "\n".join(json.dumps(record, ensure_ascii=False) for record in self.example)
        return str(self.example)


def bodies_of(holder: dict[str, Any], fields: Fields, *, is_sent: bool) -> tuple[Body, ...]:
    """Returns the bodies of a request or an answer; none where it has no content."""
    return tuple(
        _body(media_type, content, fields, is_sent=is_sent)
        for media_type, content in holder.get("content", {}).items()
    )


def _body(media_type: str, content: dict[str, Any], fields: Fields, *, is_sent: bool) -> Body:
    schema, example = content["schema"], content.get("example", "")
    has_records = media_type == ndjson.CONTENT_TYPE
    if has_records:
        example = [json.loads(line) for line in example.splitlines()]
    known = fields.of(schema["contentSchema"] if has_records else schema)
    return Body(
        media_type=media_type,
        about="" if media_type == JSON else schema.get("description", ""),
        fields=known,
        example=_for_anyone(example, known) if is_sent else example,
        has_records=has_records,
    )


def _for_anyone(example: Any, fields: tuple[Field, ...]) -> Any:
    """Returns an example without members whose own members an account has to have defined.

    So it can be sent as it stands, by a new account too.
    """
    if isinstance(example, list):
        return [_for_anyone(item, fields) for item in example]
    if not isinstance(example, dict):
        return example
    known = {field.name: field for field in fields}
    return {
        name: _for_anyone(value, known[name].fields)
        for name, value in example.items()
        if name in known and not known[name].is_free
    }


def last_alone(body: Body) -> Body:
    """Returns the body of an update with an example that leaves an object almost as it is.

    It names the last of the plain values alone: what an object is known by comes first.
    """
    if not isinstance(body.example, dict):
        return body
    plain = {name: v for name, v in body.example.items() if not isinstance(v, dict | list)}
    return replace(body, example=dict(list(plain.items())[-1:]))
