"""Many invalid links and sign-ups: no effect, no difference, and limits per client address."""

from __future__ import annotations

import random
import signal
import string
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rosterd.server.app import INVALID_LINKS
from rosterd.server.values.ids import first_id_at

from ..behavior.helpers import (
    confirm_token,
    create_subscriber,
    signed_unsubscribe_token,
    unsubscribe_token,
)
from ..conftest import Account, new_account
from ..fronts import HttpFront
from ..processes import Service, start

TOKENS = 10_000
# A response to an invalid link takes 50 milliseconds.
CLIENTS = 32
# Headers that differ between two responses.
UNIQUE = {"date", "x-request-id"}
URL_SAFE = string.ascii_letters + string.digits + "-_"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    running = start(
        tmp_path_factory.mktemp("links"),
        ROSTER_TRUSTED_PROXIES="127.0.0.1",
        ROSTER_SIGNUP_RATE_LIMIT="3/60",
        ROSTER_PUBLIC_URL="https://news.example.com/mail/",
    )
    yield running
    assert (running.stop(), running.traces()) == (0, [])


@pytest.fixture
def account(service: Service) -> Account:
    return new_account(service, HttpFront("http", service.http))


def random_token(account: Account, valid: list[str]) -> str:
    """Returns a token that is random, or differs from a valid one in some characters."""
    match random.randrange(4):
        case 0:
            return "".join(random.choices(URL_SAFE, k=random.randrange(1, 120)))
        case 1:
            mac = "".join(random.choices("0123456789abcdef", k=32))
            return f"u{account.id}{first_id_at(random.randrange(2**47))}{mac}"
        case 2:
            return random.choice(valid)[: random.randrange(1, 80)]
    characters = list(random.choice(valid))
    for _ in range(random.randrange(1, 4)):
        characters[random.randrange(len(characters))] = random.choice(URL_SAFE)
    return "".join(characters)


def open_link(
    account: Account, method: str, token: str, address: str, path: str = ""
) -> tuple[int, tuple[tuple[str, str], ...], bytes]:
    assert isinstance(account.front, HttpFront)
    path = f"/{path or random.choice('cu')}/{token}"
    body = b"" if method == "POST" else None
    headers = {"X-Forwarded-For": address}
    status, received, text = account.front.exchange(method, path, body=body, headers=headers)
    return status, tuple(sorted((n, v) for n, v in received.items() if n not in UNIQUE)), text


@pytest.mark.verify
def test_random_tokens_have_no_effect_and_equal_responses(account: Account) -> None:
    people = [create_subscriber(account, f"{name}@example.com") for name in ("ada", "bob", "eve")]
    valid = [
        new_token(account, person["id"])
        for person in people
        for new_token in (confirm_token, unsubscribe_token)
    ]
    valid += [signed_unsubscribe_token(account, person) for person in people]
    before = account.ok("ListSubscribers")
    tokens = {random_token(account, valid) for _ in range(TOKENS)} - {*valid}

    def open_one(number: int, token: str) -> Any:
        # Each client sends fewer than are throttled.
        address = f"10.0.0.{number // 100}"
        return open_link(account, random.choice(("GET", "POST")), token, address)

    with ThreadPoolExecutor(CLIENTS) as pool:
        responses = set(pool.map(open_one, *zip(*enumerate(tokens), strict=True)))

    assert len(responses) == 1
    assert {status for status, *_ in responses} == {404}
    assert account.ok("ListSubscribers") == before
    assert all(account.ok("ListSubscriberHistory", id=one["id"])["total"] == 1 for one in people)


def test_invalid_links_are_throttled_per_client_address(account: Account) -> None:
    create_subscriber(account)
    token = unsubscribe_token(account, "ada@example.com")

    with ThreadPoolExecutor(CLIENTS) as pool:
        opened = [pool.submit(open_link, account, "GET", "u", "192.0.2.1") for _ in range(500)]
    statuses = Counter(each.result()[0] for each in opened)

    assert statuses.keys() == {404, 429}
    # Some tokens were added in the meantime.
    assert INVALID_LINKS.calls <= statuses[404] < INVALID_LINKS.calls + 100
    # Mailbox providers unsubscribe many people from one address.
    assert open_link(account, "POST", token, "192.0.2.1", path="u")[0] == 200
    assert open_link(account, "GET", "u", "192.0.2.2")[0] == 404


def test_sign_ups_are_limited_per_client_address(account: Account) -> None:
    form = account.with_key(account.new_key("signup"))
    assert isinstance(form.front, HttpFront)
    responses = [
        form.front.exchange(
            "POST",
            "/api/signup",
            form.key,
            body=b'{"email": "ada%d@example.com"}' % number,
            headers={"X-Forwarded-For": f"198.51.100.{number % 2}:{2000 + number}"},
        )
        for number in range(8)
    ]

    assert [status for status, *_ in responses] == [202] * 6 + [429] * 2
    assert int(responses[-1][1]["retry-after"]) > 0
    assert account.ok("ListSubscribers")["total"] == 6


def test_a_link_works_after_a_kill_and_on_another_url(tmp_path: Path) -> None:
    service = start(tmp_path, ROSTER_PUBLIC_URL="https://news.example.com")
    account = new_account(service, HttpFront("http", service.http))
    create_subscriber(account)
    token = unsubscribe_token(account, "ada@example.com")
    service.stop(signal.SIGKILL)

    service = start(tmp_path, ROSTER_PUBLIC_URL="https://other.example.com")
    again = Account(account.id, account.key, HttpFront("http", service.http), service)
    link = again.ok("FollowLink", token=token)["link"]
    service.stop()

    assert link["status"] == "UNSUBSCRIBED"
