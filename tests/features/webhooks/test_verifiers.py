"""Tests signatures with the Standard Webhooks libraries and the receivers of `/docs/webhooks`."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rosterd.server.features.events.envelope import PREFIX
from rosterd.server.features.webhooks.egress.client import Client
from rosterd.server.features.webhooks.endpoints.signing import make_secret, sign
from rosterd.server.features.webhooks.rules import DeliveryState
from rosterd.server.values.clock import system_clock
from rosterd.server.values.ids import Ids

from .raw_receivers import EGRESS_POLICY, run
from .receiver_programs import LANGUAGES, Language, running
from .worker import Location, TestClock, running_worker

pytestmark = pytest.mark.verify

SECRET, OLD_SECRET, OTHER_SECRET = (make_secret() for _ in range(3))
TEXT = '{"id":"evt_1","data":{"tag":{"name":"Zoë \U0001f98a \u2028 Łódź"}}}'
MINUTE = 60_000


@pytest.fixture(scope="module", params=LANGUAGES)
def language(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Language:
    return LANGUAGES[request.param](tmp_path_factory.mktemp(request.param))


def request(
    *secrets: str, known: str = SECRET, text: str = TEXT, sent: str = TEXT, ago: int = 0
) -> dict[str, Any]:
    """Returns a request with the signatures of `secrets`, to verify with the secret `known`."""
    headers = sign("evt_1", system_clock() - ago, text, secrets)
    return {
        "secret": known,
        "headers": headers,
        "body": base64.b64encode(sent.encode()).decode(),
    }


def verified(language: Language, requests: Mapping[str, dict[str, Any]]) -> dict[str, bool]:
    """Returns for each request whether the library of a language accepts it."""
    done = subprocess.run(
        language.verify,
        input="".join(json.dumps(request) + "\n" for request in requests.values()),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    results = done.stdout.splitlines()
    return {name: result == "accepted" for name, result in zip(requests, results, strict=True)}


def test_library_accepts_signatures_of_a_known_secret(language: Language) -> None:
    requests = {
        "one secret": request(SECRET),
        "two secrets, the first is known": request(SECRET, OLD_SECRET),
        "two secrets, the second is known": request(SECRET, OLD_SECRET, known=OLD_SECRET),
        "ASCII body": request(SECRET, text="{}", sent="{}"),
        "four minutes ago": request(SECRET, ago=4 * MINUTE),
    }

    assert verified(language, requests) == dict.fromkeys(requests, True)


def test_library_rejects_other_requests(language: Language) -> None:
    requests = {
        "another body": request(SECRET, sent=TEXT.replace("Zoë", "Zoe")),
        "the same JSON, formatted differently": request(SECRET, sent=json.dumps(json.loads(TEXT))),
        "another secret": request(OTHER_SECRET),
        "two other secrets": request(OTHER_SECRET, OLD_SECRET),
        "six minutes ago": request(SECRET, ago=6 * MINUTE),
        "six minutes ahead": request(SECRET, ago=-6 * MINUTE),
    }

    assert verified(language, requests) == dict.fromkeys(requests, False)


def test_documented_receiver_accepts_deliveries(language: Language, tmp_path: Path) -> None:
    location = Location(tmp_path / "roster.db", TestClock(system_clock()))

    async def main() -> None:
        async with running_worker(location) as worker:
            with running(language, worker.secret, tmp_path) as receiver:
                await worker.add_webhook(receiver.url)
                await worker.create_tags("Zoë")
                await worker.wait_for_deliveries(DeliveryState.SUCCEEDED)

                (line,) = receiver.wait_for_lines(1)
                assert line.startswith("1 tag.created")
                assert "Zoë" in line

    run(main())


def test_documented_receiver_rejects_forgeries_and_processes_a_repeated_event_once(
    language: Language, tmp_path: Path
) -> None:
    ids = Ids(system_clock)

    def event(number: int) -> dict[str, Any]:
        return {"id": PREFIX + ids.next(), "type": "a.b", "sequence": number, "data": {}}

    async def post(url: str, event: dict[str, Any], secret: str = SECRET) -> int | None:
        text = json.dumps(event)
        headers = sign(event["id"], system_clock(), text, [secret])
        async with Client(EGRESS_POLICY) as client:
            return (await client.post(url, text.encode(), headers)).status

    async def main() -> None:
        first, forged, last = (event(number) for number in (1, 2, 3))
        with running(language, SECRET, tmp_path) as receiver:
            statuses = [
                await post(receiver.url, first),
                await post(receiver.url, forged, OTHER_SECRET),
                await post(receiver.url, first),
                await post(receiver.url, last),
            ]

            assert statuses == [204, 400, 204, 204]
            assert [line.split()[0] for line in receiver.wait_for_lines(2)] == ["1", "3"]

    run(main())
