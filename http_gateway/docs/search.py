"""The search index: operations, fields, errors and sections of guides."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from ..request_errors import HttpError
from .event_types import Group
from .fields import Field
from .markdown import RenderedGuide
from .navigation import EVENT_TYPES, GUIDES, REFERENCE
from .operations import Operation, Resource

# The kind, title, context, URL and text of a result, and keywords that are not shown.
Entry = dict[str, Any]


def index(
    resources: Iterable[Resource],
    errors: Iterable[HttpError],
    guides: Iterable[RenderedGuide],
    events: Iterable[Group],
) -> bytes:
    """Returns the index as JSON: a list of entries. Of equal matches, the first is shown first."""
    operations = [operation for resource in resources for operation in resource.operations]
    return orjson.dumps(
        [
            *map(_operation, operations),
            *(entry for guide in guides for entry in _guide(guide)),
            *map(_error, errors),
            *(entry for group in events for entry in _events(group)),
            *_fields(operations),
        ]
    )


def _entry(kind: str, title: str, context: str, url: str, text: str) -> Entry:
    text = re.sub(r"[`*]", "", " ".join(text.split()))
    return {"kind": kind, "title": title, "context": context, "url": url, "text": text}


def _operation(operation: Operation) -> Entry:
    context = f"{operation.methods[0]} {operation.path}"
    url = f"{REFERENCE}#{operation.anchor}"
    entry = _entry("Operation", operation.title, context, url, operation.about)
    return {**entry, "keywords": " ".join(operation.ids)}


def _guide(rendered: RenderedGuide) -> Iterator[Entry]:
    url = GUIDES + rendered.guide.name
    first, *others = rendered.sections
    yield _entry("Guide", first.title, rendered.guide.group, url, first.text)
    for section in others:
        anchored = f"{url}#{section.anchor}"
        yield _entry("Guide", section.title, rendered.title, anchored, section.text)


def _error(error: HttpError) -> Entry:
    url = f"{REFERENCE}#error-{error.code}"
    return _entry("Error", error.code, str(error.status), url, error.message)


def _events(group: Group) -> Iterator[Entry]:
    for event_type in group.event_types:
        url = f"{EVENT_TYPES}#{event_type.name}"
        yield _entry("Event type", event_type.name, group.name, url, event_type.about)


def _fields(operations: Iterable[Operation]) -> Iterator[Entry]:
    """Yields fields; one that several operations have with the same description is one entry."""
    users: dict[tuple[str, str], list[Operation]] = {}
    for operation in operations:
        parameters = [p.field for p in operation.parameters if p.location != "header"]
        bodies = [*operation.bodies, *operation.responses]
        fields = [*parameters, *(field for body in bodies for field in _nested(body.fields))]
        for key in dict.fromkeys((field.name, field.about) for field in fields):
            users.setdefault(key, []).append(operation)
    for (name, about), using in users.items():
        context = ", ".join(operation.title for operation in using)
        yield _entry("Field", name, context, f"{REFERENCE}#{using[0].anchor}", about)


def _nested(fields: Iterable[Field]) -> Iterator[Field]:
    for field in fields:
        yield field
        yield from _nested(field.fields)
