"""Many invalid links and sign-ups: no effect, no difference, and limits per client address."""

from __future__ import annotations

import random
import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rosterd.server.app import INVALID_LINKS

from ..behavior.helpers import create_subscriber, unsubscribe_token
from ..conftest import Account, new_account
from ..fronts import HttpFront
from ..processes import Service, start

# A response to an invalid link takes 50 milliseconds.
CLIENTS = 32
# Headers that differ between two responses.
UNIQUE = {"date", "x-request-id"}


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


def open_link(
    account: Account, method: str, token: str, address: str, path: str = ""
) -> tuple[int, tuple[tuple[str, str], ...], bytes]:
    assert isinstance(account.front, HttpFront)
    path = f"/{path or random.choice('cu')}/{token}"
    body = b"" if method == "POST" else None
    headers = {"X-Forwarded-For": address}
    status, received, text = account.front.exchange(method, path, body=body, headers=headers)
    return status, tuple(sorted((n, v) for n, v in received.items() if n not in UNIQUE)), text


def test_invalid_links_are_throttled_per_client_address(account: Account) -> None:
    create_subscriber(account)
    token = unsubscribe_token(account, "ada@example.com")

    with ThreadPoolExecutor(CLIENTS) as pool:
        opened = [pool.submit(open_link, account, "GET", "u", "192.0.2.1") for _ in range(500)]
    statuses = Counter(each.result()[0] for each in opened)
    pages = {status: page for status, _, page in (each.result() for each in opened)}

    assert statuses.keys() == {404, 429}
    assert b"<h1>This link does not work</h1>" in pages[404]
    assert b"<h1>Too many attempts</h1>" in pages[429]  # of TOO_MANY_INVALID_LINKS
    # Some tokens were added in the meantime.
    assert INVALID_LINKS.calls <= statuses[404] < INVALID_LINKS.calls + 100
    # Mailbox providers unsubscribe many people from one address.
    assert open_link(account, "POST", token, "192.0.2.1", path="u")[0] == 200
    assert open_link(account, "GET", "u", "192.0.2.2")[0] == 404


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
