"""The webhooks of a document: an entry a kind, with a real event that fits its schema."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from http_gateway.openapi.document import document, webhooks_document
from http_gateway.openapi.events import EVENT_DESCRIPTIONS
from server.app import SERVICES
from server.events.rules import EventType

from ..routing.protos import library

DOCUMENT = webhooks_document()
CLIENTS = document(SERVICES)


def faults(kind: str, event: dict[str, Any]) -> list[str]:
    """Returns what is wrong with an event of a kind by the document."""
    (content,) = DOCUMENT["webhooks"][kind]["post"]["requestBody"]["content"].values()
    whole = {**content["schema"], "components": DOCUMENT["components"]}
    checker = Draft202012Validator.FORMAT_CHECKER
    validator = Draft202012Validator(whole, format_checker=checker)
    return [error.message for error in validator.iter_errors(event)]


def example(kind: str) -> dict[str, Any]:
    """Returns the event that the document shows."""
    (content,) = DOCUMENT["webhooks"][kind]["post"]["requestBody"]["content"].values()
    return copy.deepcopy(content["example"])  # type: ignore[no-any-return]


def test_document_has_every_kind_and_says_when_it_happens() -> None:
    assert list(DOCUMENT["webhooks"]) == list(EventType)
    assert list(EVENT_DESCRIPTIONS) == list(EventType)


@pytest.mark.parametrize("kind", EventType)
def test_event_fits_the_schema_of_its_kind_and_of_no_other(kind: EventType) -> None:
    event = example(kind)

    assert faults(kind, event) == []
    others = [other for other in EventType if other is not kind]
    assert all(faults(other, event) for other in others)


@pytest.mark.parametrize("kind", EventType)
def test_schema_wants_the_whole_of_what_it_happened_to(kind: EventType) -> None:
    event = example(kind)
    (resource,) = event["data"].values()
    del resource["id"]

    assert faults(kind, event)


def test_every_header_of_a_delivery_is_described() -> None:
    operation = DOCUMENT["webhooks"][EventType.TAG_CREATED]["post"]
    names = [each["$ref"].rpartition("/")[2] for each in operation["parameters"]]
    headers = [DOCUMENT["components"]["parameters"][name] for name in names]

    assert [header["name"] for header in headers] == [
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
    ]
    assert operation["security"] == []
    assert list(operation["responses"]) == ["2XX", "410", "default"]


@pytest.mark.parametrize("described", [DOCUMENT, CLIENTS], ids=["webhooks", "clients"])
def test_every_event_is_a_payload_of_the_resource_that_its_type_leads_to(
    described: dict[str, Any],
) -> None:
    schemas = described["components"]["schemas"]
    mapping = schemas["EventPayload"]["discriminator"]["mapping"]
    whole = {**schemas["EventPayload"], "components": described["components"]}

    assert list(mapping) == list(EventType)
    for kind in EventType:
        (resource,) = example(kind)["data"]
        led_to = schemas[mapping[kind].rpartition("/")[2]]
        assert led_to["properties"]["data"]["required"] == [resource]
        assert Draft202012Validator(whole).is_valid(example(kind))
        assert not Draft202012Validator(whole).is_valid({**example(kind), "sequence": 1.5})


def test_clients_are_not_generated_from_the_section_that_breaks_some_of_them() -> None:
    assert "webhooks" not in CLIENTS
    assert "paths" not in DOCUMENT
    assert DOCUMENT["components"]["schemas"].items() <= CLIENTS["components"]["schemas"].items()


def test_document_of_services_that_send_nothing_has_no_events() -> None:
    other = document([library()])

    assert "EventPayload" not in other["components"]["schemas"]
    assert "/openapi/webhooks.json" not in other["info"]["description"]
