"""What the service sends to webhooks: the schemas of its events, and the section `webhooks`.

The section is served in a document of its own: generators of clients read it as operations to
call, and some of them make programs of it that do not compile. The schemas are components of
both documents, so that a receiver has models of the events, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.protobuf.descriptor import ServiceDescriptor
from roster.v1 import custom_fields_pb2, subscribers_pb2, tags_pb2, webhooks_pb2

from ..responses import JSON
from .comments import comment, sentences
from .events import EVENT_DESCRIPTIONS, webhook_examples
from .operations import tag_of, words
from .schemas import Schemas
from .values import Schema

_SERVICE = webhooks_pb2.DESCRIPTOR.services_by_name["WebhookService"]
_EVENT = webhooks_pb2.Event.DESCRIPTOR
# The component that is an event of any resource.
PAYLOAD = "EventPayload"
# What an event can have happened to, by the name that it has in the data.
_RESOURCES = {
    "subscriber": subscribers_pb2.Subscriber.DESCRIPTOR,
    "tag": tags_pb2.Tag.DESCRIPTOR,
    "customField": custom_fields_pb2.CustomField.DESCRIPTOR,
    "webhook": webhooks_pb2.Webhook.DESCRIPTOR,
}
# The headers that every delivery has: the names of their components, and what is said of them.
_HEADERS = {
    "WebhookId": ("webhook-id", "Identifier of the event, the same in every delivery."),
    "WebhookTimestamp": (
        "webhook-timestamp",
        "Unix time at which this attempt was sent, in seconds.",
    ),
    "WebhookSignature": (
        "webhook-signature",
        "`v1,` and the base64-encoded HMAC-SHA256 of the id, the timestamp and the body, joined by"
        " dots. After a rotation of the secret there are two signatures, separated by a space.",
    ),
}
COMPONENTS = tuple(_HEADERS)
_RESPONSES = {
    "2XX": {"description": "The event was accepted, if the response arrives in time."},
    "410": {"description": "The endpoint no longer exists: the webhook is disabled."},
    "default": {"description": "The event was not accepted: the delivery is retried."},
}


def sends_webhooks(services: Iterable[ServiceDescriptor]) -> bool:
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
            "example": webhook_examples().headers[name],
        }
        for component, (name, text) in _HEADERS.items()
    }


def tag() -> dict[str, str]:
    """Returns the tag that the section is found under."""
    return {"name": tag_of(_SERVICE), "description": comment(_SERVICE)}


def components(schemas: Schemas) -> None:
    """Makes components of the events: one a resource, and one that is any of those."""
    event = schemas.resolved(schemas.given(_EVENT))
    mapping: dict[str, str] = {}
    for name, resource in _RESOURCES.items():
        examples = {
            k: each for k, each in webhook_examples().events.items() if name in each["data"]
        }
        own: dict[str, Schema] = {
            "type": {"description": _meanings(examples), "enum": list(examples)},
            "data": {"properties": {name: schemas.given(resource)}, "required": [name]},
        }
        properties = {
            key: {**schema, **own.get(key, {}), "examples": _shown(key, examples)}
            for key, schema in event["properties"].items()
        }
        schemas.components[f"{resource.name}Event"] = {
            **event,
            "description": f"An event of a {words(resource.name).lower()}, as webhooks receive it.",
            "properties": properties,
        }
        mapping |= dict.fromkeys(examples, _reference(f"{resource.name}Event"))
    schemas.components[PAYLOAD] = {
        "description": (
            "The body of a request to a webhook: an event of one resource. New event types"
            " can be added; a receiver should accept types that it does not know."
        ),
        "oneOf": [{"$ref": reference} for reference in dict.fromkeys(mapping.values())],
        "discriminator": {"propertyName": "type", "mapping": mapping},
    }


def section() -> dict[str, Any]:
    """Returns the section. Its schemas are those of `components`."""
    return {
        kind: {"post": _operation(kind, event)} for kind, event in webhook_examples().events.items()
    }


def _operation(kind: str, event: dict[str, Any]) -> dict[str, Any]:
    content = {"schema": _schema(kind, event), "example": event}
    return {
        "operationId": kind,
        "tags": [tag_of(_SERVICE)],
        "summary": sentences(EVENT_DESCRIPTIONS[kind])[0].rstrip("."),
        "description": EVENT_DESCRIPTIONS[kind],
        "security": [],
        "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in COMPONENTS],
        "requestBody": {"required": True, "content": {JSON: content}},
        "responses": _RESPONSES,
    }


def _schema(kind: str, event: dict[str, Any]) -> Schema:
    """Returns the schema of an event of one kind: an event of its resource, of that type."""
    (name,) = event["data"]
    return {
        "allOf": [
            {"$ref": _reference(f"{_RESOURCES[name].name}Event")},
            {"properties": {"type": {"const": kind}}},
        ]
    }


def _meanings(kinds: Iterable[str]) -> str:
    lines = [f"- `{kind}`: {EVENT_DESCRIPTIONS[kind]}" for kind in kinds]
    return "\n".join(["What happened.", "", *lines])


def _shown(key: str, events: dict[str, dict[str, Any]]) -> list[Any]:
    """Returns the first value that one of the events has for a key."""
    return [event[key] for event in events.values() if key in event][:1]


def _reference(name: str) -> str:
    return f"#/components/schemas/{name}"
