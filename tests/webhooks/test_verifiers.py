"""The published verifiers take what is signed here and nothing else; so do the page's receivers."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from server.clock import system_clock
from server.events.envelope import PREFIX
from server.ids import Ids
from server.webhooks.egress.client import Client
from server.webhooks.endpoints.signing import make_secret, sign
from server.webhooks.rules import DeliveryStatus

from .raw_receivers import EGRESS_POLICY, run
from .receiver_programs import LANGUAGES, Language, running
from .worker import DatabaseLocation, TestClock, running_worker

pytestmark = pytest.mark.verify

SECRET, OLD_SECRET, OTHER_SECRET = (make_secret() for _ in range(3))
TEXT = '{"id":"evt_1","data":{"tag":{"name":"Zoë \U0001f98a \u2028 Łódź"}}}'
MINUTE = 60_000


@pytest.fixture(scope="module", params=LANGUAGES)
def language(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Language:
    """Each language in turn."""
    return LANGUAGES[request.param](tmp_path_factory.mktemp(request.param))


def request(
    *secrets: str, known: str = SECRET, text: str = TEXT, sent: str = TEXT, ago: int = 0
) -> dict[str, Any]:
    """Returns a request that is signed with secrets, as somebody sees it who knows one."""
    headers = sign("evt_1", system_clock() - ago, text, secrets)
    return {
        "secret": known,
        "headers": headers,
        "body": base64.b64encode(sent.encode()).decode(),
    }


def judged(language: Language, requests: Mapping[str, dict[str, Any]]) -> dict[str, bool]:
    """Returns of each request whether the verifier of a language accepts it."""
    done = subprocess.run(
        language.verify,
        input="".join(json.dumps(each) + "\n" for each in requests.values()),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    answers = done.stdout.splitlines()
    return {name: answer == "accepted" for name, answer in zip(requests, answers, strict=True)}


def test_verifier_accepts_what_is_signed_with_a_secret_that_it_knows(language: Language) -> None:
    requests = {
        "by one secret": request(SECRET),
        "by two, of which the first is known": request(SECRET, OLD_SECRET),
        "by two, of which the second is known": request(SECRET, OLD_SECRET, known=OLD_SECRET),
        "of plain letters": request(SECRET, text="{}", sent="{}"),
        "four minutes ago": request(SECRET, ago=4 * MINUTE),
    }

    assert judged(language, requests) == dict.fromkeys(requests, True)


def test_verifier_refuses_everything_else(language: Language) -> None:
    requests = {
        "another body": request(SECRET, sent=TEXT.replace("Zoë", "Zoe")),
        "the same JSON in other words": request(SECRET, sent=json.dumps(json.loads(TEXT))),
        "another secret": request(OTHER_SECRET),
        "two other secrets": request(OTHER_SECRET, OLD_SECRET),
        "six minutes ago": request(SECRET, ago=6 * MINUTE),
        "six minutes ahead": request(SECRET, ago=-6 * MINUTE),
    }

    assert judged(language, requests) == dict.fromkeys(requests, False)


def test_receiver_of_the_page_takes_what_is_delivered(language: Language, tmp_path: Path) -> None:
    location = DatabaseLocation(tmp_path / "roster.db", TestClock(system_clock()))

    async def post_once() -> None:
        async with running_worker(location) as worker:
            with running(language, worker.secret, tmp_path) as receiver:
                await worker.add_webhook(receiver.url)
                await worker.create_tags("Zoë")
                await worker.wait_for_deliveries(DeliveryStatus.SUCCEEDED)

                (line,) = receiver.wait_for_lines(1)
                assert line.startswith("1 tag.created")
                assert "Zoë" in line

    run(post_once())


def test_receiver_of_the_page_refuses_forgeries_and_works_once_on_what_comes_twice(
    language: Language, tmp_path: Path
) -> None:
    ids = Ids(system_clock)

    def event(number: int) -> dict[str, Any]:
        return {"id": PREFIX + ids.next(), "type": "a.b", "sequence": number, "data": {}}

    async def answered(url: str, told: dict[str, Any], secret: str = SECRET) -> int | None:
        text = json.dumps(told)
        headers = sign(told["id"], system_clock(), text, [secret])
        async with Client(EGRESS_POLICY) as client:
            return (await client.post(url, text.encode(), headers)).status

    async def post() -> None:
        first, forged, last = (event(number) for number in (1, 2, 3))
        with running(language, SECRET, tmp_path) as receiver:
            statuses = [
                await answered(receiver.url, first),
                await answered(receiver.url, forged, OTHER_SECRET),
                await answered(receiver.url, first),
                await answered(receiver.url, last),
            ]

            assert statuses == [204, 400, 204, 204]
            assert [line.split()[0] for line in receiver.wait_for_lines(2)] == ["1", "3"]

    run(post())
