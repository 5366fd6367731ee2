"""What the service asks of others: the section `webhooks` of a document, an entry a kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.protobuf.descriptor import ServiceDescriptor
from roster.v1 import custom_fields_pb2, subscribers_pb2, tags_pb2, webhooks_pb2

from ..answers import JSON
from .comments import sentences
from .events import WHEN, told
from .operations import tag_of
from .schemas import Schemas
from .values import Schema

_SERVICE = webhooks_pb2.DESCRIPTOR.services_by_name["WebhookService"]
_EVENT = webhooks_pb2.Event.DESCRIPTOR
# What an event can have happened to, by the name that it has in the data.
_RESOURCES = {
    "subscriber": subscribers_pb2.Subscriber.DESCRIPTOR,
    "tag": tags_pb2.Tag.DESCRIPTOR,
    "customField": custom_fields_pb2.CustomField.DESCRIPTOR,
    "webhook": webhooks_pb2.Webhook.DESCRIPTOR,
}
# The headers that every delivery has: the names of their components, and what is said of them.
_HEADERS = {
    "WebhookId": ("webhook-id", "The id of the event, the same in every delivery of it."),
    "WebhookTimestamp": (
        "webhook-timestamp",
        "When this attempt was sent, in seconds since 1970.",
    ),
    "WebhookSignature": (
        "webhook-signature",
        "`v1,` and, in base64, the HMAC-SHA256 of the id, the timestamp and the body, with dots"
        " between them. After a rotation of the secret there are two, with a blank between them.",
    ),
}
COMPONENTS = tuple(_HEADERS)
_RESPONSES = {
    "2XX": {"description": "The event was taken, if the answer is there in time."},
    "410": {"description": "Nobody listens here any more: the webhook is disabled."},
    "default": {"description": "The event was not taken: it is sent again, on a schedule."},
}


def are_sent_by(services: Iterable[ServiceDescriptor]) -> bool:
    """Whether somebody who offers these services tells webhooks of events."""
    return _SERVICE in services


def parameters() -> dict[str, Any]:
    """Returns the headers that every delivery has, by the names of their components."""
    return {
        component: {
            "name": name,
            "in": "header",
            "required": True,
            "description": text,
            "schema": {"type": "string"},
            "example": told().headers[name],
        }
        for component, (name, text) in _HEADERS.items()
    }


def section(schemas: Schemas) -> dict[str, Any]:
    """Returns the section. The schemas that it needs become components."""
    kinds = told().kinds
    return {kind: {"post": _operation(kind, kinds[kind], schemas)} for kind in kinds}


def _operation(kind: str, event: dict[str, Any], schemas: Schemas) -> dict[str, Any]:
    content = {"schema": _schema(kind, event, schemas), "example": event}
    return {
        "operationId": kind,
        "tags": [tag_of(_SERVICE)],
        "summary": sentences(WHEN[kind])[0].rstrip("."),
        "description": WHEN[kind],
        "security": [],
        "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in COMPONENTS],
        "requestBody": {"required": True, "content": {JSON: content}},
        "responses": _RESPONSES,
    }


def _schema(kind: str, event: dict[str, Any], schemas: Schemas) -> Schema:
    """Returns the schema of an event of one kind: an event, and what it happened to."""
    (name,) = event["data"]
    data = {"properties": {name: schemas.given(_RESOURCES[name])}, "required": [name]}
    return {
        "allOf": [
            schemas.given(_EVENT),
            {"properties": {"type": {"const": kind}, "data": data}},
        ]
    }
