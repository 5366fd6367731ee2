"""Describes the requests to webhooks: the schemas of events, and the section `webhooks`.

The section is in a separate document, because client generators treat it as operations to
call, and some generate programs that do not compile. The schemas are components of both
documents, so that clients have models of the events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf.descriptor import ServiceDescriptor

from ..policy import Policy, Webhooks
from ..responses import JSON
from .comments import comment, sentences
from .operations import tag_of, words
from .schemas import Schemas
from .values import Schema

# The component for an event of any resource.
PAYLOAD = "EventPayload"


def parameters(webhooks: Webhooks) -> dict[str, Any]:
    """Returns the header parameters of every delivery by component name."""
    return {
        _component(name): {
            "name": name,
            "in": "header",
            "required": True,
            "description": text,
            "schema": {"type": "string"},
            "example": webhooks.examples().headers[name],
        }
        for name, text in webhooks.headers.items()
    }


def tag(service: ServiceDescriptor, policy: Policy) -> dict[str, str]:
    return {"name": tag_of(service), "description": comment(service, policy)}


def components(schemas: Schemas, webhooks: Webhooks) -> None:
    """Adds the components of events: one per resource, and one for any of those."""
    event = schemas.resolved(schemas.output_reference(webhooks.event))
    mapping: dict[str, str] = {}
    for name, resource in webhooks.resources.items():
        examples = {t: e for t, e in webhooks.examples().events.items() if name in e["data"]}
        specific: dict[str, Schema] = {
            "type": {
                "description": _type_description(examples, webhooks.descriptions),
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


def section(webhooks: Webhooks) -> dict[str, Any]:
    """Returns the section `webhooks`, which refers to the schemas of `components`."""
    return {
        event_type: {"post": _operation(event_type, event, webhooks)}
        for event_type, event in webhooks.examples().events.items()
    }


def _operation(event_type: str, event: dict[str, Any], webhooks: Webhooks) -> dict[str, Any]:
    description = webhooks.descriptions.get(event_type, "")
    content = {"schema": _schema(event_type, event, webhooks), "example": event}
    return {
        "operationId": event_type,
        "tags": [tag_of(webhooks.service)],
        "summary": sentences(description)[0].rstrip(".") if description else event_type,
        "description": description,
        "security": [],
        "parameters": [
            {"$ref": f"#/components/parameters/{_component(name)}"} for name in webhooks.headers
        ],
        "requestBody": {"required": True, "content": {JSON: content}},
        "responses": {status: {"description": text} for status, text in webhooks.responses.items()},
    }


def _schema(event_type: str, event: dict[str, Any], webhooks: Webhooks) -> Schema:
    """Returns the schema of an event: that of its resource, restricted to one type."""
    (name,) = event["data"]
    return {
        "allOf": [
            {"$ref": _reference(f"{webhooks.resources[name].name}Event")},
            {"properties": {"type": {"const": event_type}}},
        ]
    }


def _type_description(event_types: Iterable[str], descriptions: Mapping[str, str]) -> str:
    lines = [f"- `{name}`: {descriptions.get(name, '')}".rstrip(": ") for name in event_types]
    return "\n".join(["What happened.", "", *lines])


def _example(key: str, events: dict[str, dict[str, Any]]) -> list[Any]:
    """Returns the value of a key in the first event that has it."""
    return [event[key] for event in events.values() if key in event][:1]


def _component(header: str) -> str:
    """Returns the name of a component: WebhookId for webhook-id."""
    return header.title().replace("-", "")


def _reference(name: str) -> str:
    return f"#/components/schemas/{name}"
