"""`/docs/webhooks` without a browser: it tells of every kind, and nothing that is not so."""

from __future__ import annotations

import hmac
import json
import re
from base64 import b64decode, b64encode
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest
from standardwebhooks import Webhook

from http_gateway.docs import webhooks
from http_gateway.docs.reference import render as render_reference
from http_gateway.docs.webhooks import duration, render
from http_gateway.openapi.document import document, webhooks_document
from http_gateway.openapi.events import webhook_examples
from server.app import SERVICES
from server.config import SETTINGS
from server.events.rules import EventType
from server.webhooks import rules
from server.webhooks.egress.client import MAX_READ

from ...fronts import HttpFront
from .pages import section, text_of, topic

DOCUMENT = webhooks_document()
RECEIVERS = Path(webhooks.__file__).parent / "receivers"
RAW_LIMIT = 100_000


@pytest.fixture(scope="module")
def made() -> str:
    """The page, made here."""
    return render(DOCUMENT).html.decode()


def panels(html: str) -> list[str]:
    """Returns the code that a part of the page shows, as a reader copies it."""
    return [text_of(code) for code in re.findall(r"<pre[^>]*><code>(.*?)</code>", html, re.DOTALL)]


def test_page_is_served_as_it_is_made_with_what_keeps_it_safe(http: HttpFront, made: str) -> None:
    status, headers, text = http.exchange("GET", "/docs/webhooks")

    assert (status, text.decode()) == (200, made)
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert headers["content-security-policy"] == render(DOCUMENT).policy
    assert headers["referrer-policy"] == "no-referrer"


def test_policy_names_what_is_inlined_by_its_hash(made: str) -> None:
    policy = render(DOCUMENT).policy

    for kind in ("style", "script"):
        for text in re.findall(rf"<{kind}>(.*?)</{kind}>", made, re.DOTALL):
            assert f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" in policy
    assert not re.search(r"<[^>]+\s(style|on\w+)=", made)


def test_page_is_light_and_loads_nothing(made: str) -> None:
    assert len(made.encode()) < RAW_LIMIT
    loaded = re.findall(r'<(?:script|img|iframe|link)[^>]*\s(?:src|href)="([^"]*)"', made)
    assert {url for url in loaded if not url.startswith("data:")} == set()
    assert not re.search(r"@import|url\(", made)


def test_every_link_leads_somewhere(made: str) -> None:
    reference = render_reference(document(SERVICES)).html.decode()
    pages = {"/docs/webhooks": made, "/docs": reference}
    anchors = {path: set(re.findall(r'\sid="([^"]+)"', html)) for path, html in pages.items()}
    links = [
        (here, url)
        for here, html in pages.items()
        for url in re.findall(r'<a[^>]* href="([^"]+)"', html)
    ]

    for here, url in links:
        path, _, anchor = url.partition("#")
        if path.startswith(("http", "/openapi")):
            continue
        assert anchor in {"", *anchors[path or here]}, url
    assert ("/docs", "/docs/webhooks") in links
    assert ("/docs/webhooks", "/docs") in links


@pytest.mark.parametrize("kind", EventType)
def test_every_kind_is_shown_with_what_it_means_and_a_real_event(
    made: str, kind: EventType
) -> None:
    operation = DOCUMENT["webhooks"][kind]["post"]
    shown = section(made, re.escape(kind))

    assert operation["description"] in text_of(shown)
    (example,) = panels(shown)
    assert json.loads(example) == webhook_examples().events[kind]
    for name in webhook_examples().events[kind].get("previous", {}):
        assert f"<code>{name}</code>" in shown


def test_request_that_is_shown_can_be_verified(made: str) -> None:
    request, secret = panels(topic(made, "request"))
    head, _, body = request.partition("\n\n")
    headers = dict(line.split(": ", 1) for line in head.splitlines())
    sent_at = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
    signature = Webhook(secret).sign(headers["webhook-id"], sent_at, body)

    assert headers["webhook-signature"] == signature
    assert json.loads(body)["id"] == headers["webhook-id"]


def test_signature_can_be_made_by_hand_as_the_page_says(made: str) -> None:
    request, secret = panels(topic(made, "request"))
    head, _, body = request.partition("\n\n")
    headers = dict(line.split(": ", 1) for line in head.splitlines())
    key = b64decode(secret.removeprefix("whsec_"))
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{body}"
    signature = b64encode(hmac.digest(key, content.encode(), "sha256")).decode()

    assert headers["webhook-signature"] == f"v1,{signature}"
    said = text_of(topic(made, "receiving"))
    assert "HMAC-SHA256 of id.timestamp.body" in said
    assert "the base64-decoded part of the secret after whsec_" in said


@pytest.mark.parametrize(
    ("number", "file"), list(enumerate(["receiver.py", "receiver.mjs", "receiver.go"]))
)
def test_receivers_are_the_programs_that_are_tested(made: str, number: int, file: str) -> None:
    shown = panels(topic(made, "receiving"))[number]

    assert shown == (RECEIVERS / file).read_text().rstrip().replace("\t", "  ")


def test_page_tells_the_numbers_that_delivery_keeps_to(made: str) -> None:
    retries, endings = (text_of(topic(made, name)) for name in ("retries", "endings"))

    waits = re.findall(r"\d+  (.*) after the previous attempt", retries)
    assert waits == [duration(seconds) for seconds in rules.RETRY_DELAYS]
    assert f"after {rules.FAILURES_BEFORE_PAUSE} failures in a row" in endings
    assert f"has failed for {rules.DISABLE_AFTER // 3_600_000} hours" in endings
    assert f"responds with {rules.GONE}" in endings
    receiving = text_of(topic(made, "receiving"))
    assert f"at most {MAX_READ // 1024} KiB are read" in receiving
    assert f"At most {rules.MAX_IN_FLIGHT_PER_ENDPOINT} requests" in receiving


def test_every_setting_that_is_named_is_one(made: str) -> None:
    named = set(re.findall(r"ROSTER_WEBHOOK_\w+", made))

    assert named == {s.environment for s in SETTINGS.values() if s.name.startswith("webhook_")}


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (5, "5 seconds"),
        (90, "90 seconds"),
        (300, "5 minutes"),
        (7_200, "2 hours"),
        (86_400, "24 hours"),
        (432_000, "5 days"),
    ],
)
def test_times_are_told_in_the_greatest_unit_of_which_they_are_several(
    seconds: int, words: str
) -> None:
    assert duration(seconds) == words
