"""The webhooks section has one operation per event type, with a matching example."""

from __future__ import annotations

import copy
from typing import Any

from jsonschema import Draft202012Validator

from rosterd.http_gateway.openapi.document import document, webhooks_document
from rosterd.server.features.events.rules import EventType
from rosterd.server.serving.gateway_policy import POLICY

from ...cases import each
from ..routing.protos import library

DOCUMENT = webhooks_document(POLICY)


def violations(event_type: str, event: dict[str, Any]) -> list[str]:
    """Returns the violations of the schema of an event type."""
    (content,) = DOCUMENT["webhooks"][event_type]["post"]["requestBody"]["content"].values()
    whole = {**content["schema"], "components": DOCUMENT["components"]}
    checker = Draft202012Validator.FORMAT_CHECKER
    validator = Draft202012Validator(whole, format_checker=checker)
    return [error.message for error in validator.iter_errors(event)]


def example(event_type: str) -> dict[str, Any]:
    (content,) = DOCUMENT["webhooks"][event_type]["post"]["requestBody"]["content"].values()
    event: dict[str, Any] = copy.deepcopy(content["example"])
    return event


def test_document_describes_every_event_type() -> None:
    assert list(DOCUMENT["webhooks"]) == list(EventType)
    for event_type in EventType:
        assert DOCUMENT["webhooks"][event_type]["post"]["description"] == event_type.description


@each("event_type", EventType)
def test_event_matches_only_the_schema_of_its_type(event_type: EventType) -> None:
    event = example(event_type)

    assert violations(event_type, event) == []
    others = [other for other in EventType if other is not event_type]
    assert all(violations(other, event) for other in others)


def test_document_of_services_without_webhooks_has_no_events() -> None:
    other = document([library()])

    assert "EventPayload" not in other["components"]["schemas"]
    assert "/openapi/webhooks.json" not in other["info"]["description"]
