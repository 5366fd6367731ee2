"""Services on PostgreSQL: two on one database, and one whose server is restarted under it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rosterd.server.security.encryption import make_key
from rosterd.server.serving.console import ExitCode

from ..behavior.helpers import call_concurrently, statuses
from ..cli.commands import FREE, error_line, roster
from ..conftest import Account, new_account
from ..features.webhooks.receiver import Receiver, Reply
from ..fronts import HttpFront, Response
from ..postgres import Postgres
from ..processes import Service, start

# Without the warning that the test server runs without fsync.
ERROR_LOG_SETTINGS = {**FREE, "ROSTER_LOG_LEVEL": "error"}


def serve(postgres: Postgres, folder: Path, url: str, **settings: str) -> Service:
    """Starts a service on a database of the server."""
    folder.mkdir(exist_ok=True)
    return start(
        folder,
        ROSTER_DATABASE_URL=url,
        ROSTER_SECRET_KEY=postgres.secret_key,
        ROSTER_LOG_LEVEL="error",
        **settings,
    )


@pytest.fixture(scope="module")
def two_services(
    postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Service, Service]]:
    """Two services, started concurrently on one new database."""
    folder = tmp_path_factory.mktemp("two")
    url = postgres.new_database().replace("postgres:@", "postgres:sesame@")
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lambda name: serve(postgres, folder / name, url), ("one", "other"))
    yield one, other
    assert [one.stop(), other.stop()] == [0, 0]


@pytest.fixture
def accounts(two_services: tuple[Service, Service]) -> tuple[Account, Account]:
    """One new account, called through each of the two services."""
    one, other = two_services
    own = new_account(one, HttpFront("one", one.http))
    return own, Account(own.id, own.key, HttpFront("other", other.http), other)


def through_both(
    accounts: tuple[Account, Account], count: int, rpc: str, **request: Any
) -> list[Response]:
    """Makes the same call concurrently, half of the times through each service."""
    calls = [partial(accounts[number % 2].call, rpc, **request) for number in range(count)]
    return call_concurrently(*calls)


def test_two_services_that_start_together_create_one_schema_and_account(
    two_services: tuple[Service, Service],
) -> None:
    keys = [service.first_key for service in two_services if service.first_key]

    assert len(keys) == 1
    for service in two_services:
        assert HttpFront("http", service.http).call("ListTags", keys[0], {}).status == 200


def test_one_of_50_concurrent_creates_of_an_email_through_two_services_succeeds(
    accounts: tuple[Account, Account],
) -> None:
    responses = through_both(
        accounts, 50, "CreateSubscriber", email="ada@example.com", tags=["vip"]
    )

    assert statuses(responses) == [201] + [409] * 49
    created = next(response.body["subscriber"] for response in responses if response.status == 201)
    for account in accounts:
        found = account.ok("ListSubscribers")
        assert (found["subscribers"], found["total"]) == ([created], 1)


def test_tags_can_be_deleted_while_they_are_added(
    accounts: tuple[Account, Account],
) -> None:
    def create(number: int) -> Response:
        return accounts[0].call("CreateSubscriber", email=f"{number}@example.com", tags=["vip"])

    def delete() -> Response:
        found = accounts[1].ok("ListTags")["tags"]
        return accounts[1].call("DeleteTag", id=found[0]["id"] if found else "0" * 26)

    responses = call_concurrently(
        *[partial(create, number) for number in range(15)], *[delete] * 15
    )

    assert {response.status for response in responses[:15]} == {201}
    assert {response.status for response in responses[15:]} <= {204, 404}


def test_20_requests_with_one_idempotency_key_through_two_services_have_one_effect(
    accounts: tuple[Account, Account],
) -> None:
    def create(account: Account) -> Response:
        body, headers = b'{"name": "once", "scope": "read"}', {"Idempotency-Key": "key"}
        assert isinstance(account.front, HttpFront)
        return account.front.send("POST", "/api/keys", account.key, body=body, headers=headers)

    responses = call_concurrently(*[partial(create, accounts[number % 2]) for number in range(20)])

    created = [response.body for response in responses if response.status == 201]
    assert created
    assert all(body == created[0] for body in created)
    assert {response.status for response in responses} <= {201, 409}
    assert accounts[0].ok("ListApiKeys")["total"] == 2


def test_webhook_test_in_progress_in_one_service_is_not_started_in_another(
    accounts: tuple[Account, Account], receiver: Receiver
) -> None:
    account, other_account = accounts
    created = account.ok("CreateWebhook", url=receiver.url)["webhook"]
    path, responses = f"/api/webhooks/{created['id']}/test", []

    def send(through: Account) -> None:
        assert isinstance(through.front, HttpFront)
        headers = {"Idempotency-Key": "key"}
        responses.append(through.front.send("POST", path, through.key, headers=headers))

    receiver.replies = [Reply(before=partial(send, other_account))]
    send(account)
    send(other_account)

    assert [response.status for response in responses] == [409, 200, 200]
    assert responses[0].code == "IdempotencyKeyInUse"
    assert responses[1].body == responses[2].body
    assert len(receiver.received) == 1


def test_two_admin_keys_that_revoke_each_other_through_two_services_leave_one(
    accounts: tuple[Account, Account],
) -> None:
    account, other_account = accounts
    for _ in range(5):
        own = account.ok("ListApiKeys")["apiKeys"][0]["id"]
        created = account.ok("CreateApiKey", name="other", scope="admin")
        other = other_account.with_key(created["secret"])

        responses = call_concurrently(
            partial(account.call, "RevokeApiKey", id=created["apiKey"]["id"]),
            partial(other.call, "RevokeApiKey", id=own),
        )

        assert statuses(responses) in ([204, 401], [204, 409])
        if responses[1].status == 204:
            account, other_account = account.with_key(other.key), other
        assert account.ok("ListApiKeys")["total"] == 1


# The command line


def test_database_is_served_only_with_its_secret_key(two_services: tuple[Service, Service]) -> None:
    settings = {"ROSTER_DATABASE_URL": two_services[0].database_url, **ERROR_LOG_SETTINGS}

    missing = roster("serve", **settings)
    another = roster("serve", ROSTER_SECRET_KEY=make_key(), **settings)

    assert "is missing. Set ROSTER_SECRET_KEY" in error_line(missing, ExitCode.DATABASE)
    assert "another secret key" in error_line(another, ExitCode.DATABASE)


@pytest.mark.parametrize("arguments", [("serve",), ("accounts", "list")], ids=" ".join)
def test_unreachable_server_is_reported_in_one_line_without_its_password(
    arguments: tuple[str, ...],
) -> None:
    url = "postgresql://ada:sesame@127.0.0.1:1/roster"

    line = error_line(roster(*arguments, ROSTER_DATABASE_URL=url, **FREE), ExitCode.DATABASE)

    assert "127.0.0.1" in line
    assert "sesame" not in line
