"""`/docs/webhooks`: all event types with examples."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from functools import cache

from standardwebhooks import Webhook

from rosterd.server.features.events.rules import EventType
from rosterd.server.serving.gateway_policy import webhook_examples

from ...cases import each
from .html import SITE, WEBHOOKS, code_blocks, section, text_of, topic


@cache
def html() -> str:
    return SITE.event_types().html.decode()


@each("event_type", EventType)
def test_event_type_has_its_description_and_a_real_event(event_type: EventType) -> None:
    shown = section(html(), re.escape(event_type))
    example = webhook_examples().events[event_type]

    assert WEBHOOKS["webhooks"][event_type]["post"]["description"] in text_of(shown)
    assert [json.loads(code) for code in code_blocks(shown)] == [example]
    for name in example.get("previous", {}):
        assert f"<code>{name}</code>" in shown


def test_example_request_can_be_verified() -> None:
    request, secret = code_blocks(topic(html(), "introduction"))
    head, _, body = request.partition("\n\n")
    headers = dict(line.split(": ", 1) for line in head.splitlines())
    sent_at = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
    signature = Webhook(secret).sign(headers["webhook-id"], sent_at, body)

    assert headers["webhook-signature"] == signature
    assert json.loads(body)["id"] == headers["webhook-id"]
