"""Tests that clients of OpenAPI Generator compile and work."""

from __future__ import annotations

import json

import pytest

from rosterd.server.features.events.rules import EventType
from rosterd.server.serving.gateway_policy import webhook_examples

from ..conftest import Account
from ..documented import openapi
from .programs import CREATED, GENERATORS, STEPS, Program, make

pytestmark = pytest.mark.verify


@pytest.fixture(scope="session", params=GENERATORS)
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Program:
    """The program of a language and its generated client."""
    language: str = request.param
    return make(language, json.dumps(openapi()), tmp_path_factory.mktemp(language))


def test_generated_client_completes_every_step(client: Program, http_account: Account) -> None:
    event = json.dumps(webhook_examples().events[EventType.SUBSCRIBER_UPDATED])

    lines = client.run(
        ROSTER_URL=f"http://{http_account.service.http}",
        ROSTER_API_KEY=http_account.key,
        ROSTER_EVENT=event,
    )

    assert lines == STEPS
    created, other = http_account.ok("ListSubscribers")["subscribers"]
    assert (created["email"], other["email"]) == (CREATED, "person@example.com")
    assert (created["lastName"], created["tags"]) == ("Lovelace", ["vip"])
    assert created["customFields"] == {"plan": "pro"}
