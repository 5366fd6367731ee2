"""Rate limit of invalid API keys, and other clients at the same address."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter

import pytest

from rosterd.server.features.accounts.rules import make_secret
from rosterd.server.rpc.interceptors.auth_throttling import RATE

from ..conftest import new_account
from ..fronts import HttpFront
from ..processes import Service, start


@pytest.fixture
def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    running = start(tmp_path_factory.mktemp("wrong"), ROSTER_TRUSTED_PROXIES=request.param)
    yield running
    assert running.stop() == 0


def guess(front: HttpFront, address: str = "") -> tuple[int, dict[str, str]]:
    """Calls with an unknown key, and returns the status and the headers."""
    headers = {"X-Forwarded-For": address} if address else {}
    status, received, _ = front.exchange("GET", "/api/tags", make_secret(), headers=headers)
    return status, received


@pytest.mark.parametrize("service", [""], indirect=True)
def test_invalid_keys_are_throttled_and_valid_keys_are_not(service: Service) -> None:
    front = HttpFront("http", service.http)
    account = new_account(service, front)
    account.ok("ListTags")

    responses = [guess(front, f"198.51.100.{number % 200}") for number in range(RATE.calls + 50)]

    assert {status for status, _ in responses[: RATE.calls]} == {401}
    # Rejections take time, in which the limit allows a call.
    status, headers = max(responses[-2:], key=itemgetter(0))
    assert (status, int(headers["retry-after"])) == (429, 1)
    account.ok("ListTags")
