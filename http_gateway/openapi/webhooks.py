"""Describes the requests to webhooks: the schemas of events, and the section `webhooks`.

The section is in a separate document, because client generators treat it as operations to
call, and some generate programs that do not compile. The schemas are components of both
documents, so that clients have models of the events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf.descriptor import Descriptor, ServiceDescriptor

from roster.v1 import webhooks_pb2

from ..responses import JSON
from .comments import comment, sentences
from .events import webhook_examples
from .operations import tag_of, words
from .schemas import Schemas
from .values import Schema

_SERVICE = webhooks_pb2.DESCRIPTOR.services_by_name["WebhookService"]
_EVENT = webhooks_pb2.Event.DESCRIPTOR
# The component for an event of any resource.
PAYLOAD = "EventPayload"
# The headers of every delivery, with descriptions, by component name.
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
    """Whether one of the services sends events to webhooks."""
    return _SERVICE in services


def parameters() -> dict[str, Any]:
    """Returns the header parameters of every delivery by component name."""
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
    return {"name": tag_of(_SERVICE), "description": comment(_SERVICE)}


def components(schemas: Schemas, descriptions: Mapping[str, str]) -> None:
    """Adds the components of events: one per resource, and one for any of those.

    `descriptions` describe when an event occurs, by its type.
    """
    event = schemas.resolved(schemas.output_reference(_EVENT))
    mapping: dict[str, str] = {}
    events = webhook_examples().events
    for name in dict.fromkeys(name for each in events.values() for name in each["data"]):
        examples = {t: e for t, e in events.items() if name in e["data"]}
        resource = _resource(name)
        specific: dict[str, Schema] = {
            "type": {
                "description": _type_description(examples, descriptions),
                "enum": list(examples),
            },
            "data": {"properties": {name: schemas.output_reference(resource)}, "required": [name]},
        }
        properties = {
            key: {**schema, **specific.get(key, {}), "examples": _example(key, examples)}
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


def section(descriptions: Mapping[str, str]) -> dict[str, Any]:
    """Returns the section `webhooks`, which refers to the schemas of `components`."""
    return {
        event_type: {"post": _operation(event_type, event, descriptions.get(event_type, ""))}
        for event_type, event in webhook_examples().events.items()
    }


def _operation(event_type: str, event: dict[str, Any], description: str) -> dict[str, Any]:
    content = {"schema": _schema(event_type, event), "example": event}
    return {
        "operationId": event_type,
        "tags": [tag_of(_SERVICE)],
        "summary": sentences(description)[0].rstrip(".") if description else event_type,
        "description": description,
        "security": [],
        "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in COMPONENTS],
        "requestBody": {"required": True, "content": {JSON: content}},
        "responses": _RESPONSES,
    }


def _schema(event_type: str, event: dict[str, Any]) -> Schema:
    """Returns the schema of an event: that of its resource, restricted to one type."""
    (name,) = event["data"]
    return {
        "allOf": [
            {"$ref": _reference(f"{_resource(name).name}Event")},
            {"properties": {"type": {"const": event_type}}},
        ]
    }


def _resource(name: str) -> Descriptor:
    """Returns the message of a resource, which has the same name as its member of the data."""
    message = f"{_EVENT.file.package}.{name[0].upper()}{name[1:]}"
    return _EVENT.file.pool.FindMessageTypeByName(message)


def _type_description(event_types: Iterable[str], descriptions: Mapping[str, str]) -> str:
    lines = [f"- `{name}`: {descriptions.get(name, '')}".rstrip(": ") for name in event_types]
    return "\n".join(["What happened.", "", *lines])


def _example(key: str, events: dict[str, dict[str, Any]]) -> list[Any]:
    """Returns the value of a key in the first event that has it."""
    return [event[key] for event in events.values() if key in event][:1]


def _reference(name: str) -> str:
    return f"#/components/schemas/{name}"
