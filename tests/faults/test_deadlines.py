"""Deadlines that a client sets with the header Grpc-Timeout, over both channels."""

from __future__ import annotations

from typing import Any

import pytest

from ..behavior.helpers import emails
from ..conftest import Account
from ..fronts import HttpFront, Response
from ..http_gateway.serving import run
from .test_http import both_http
from .test_streams import EXPORT, IMPORT, connection, row


def send(
    account: Account, method: str, path: str, timeout: str, body: bytes | None = None
) -> Response:
    assert isinstance(account.front, HttpFront)
    headers = {"Grpc-Timeout": timeout}
    return account.front.send(method, path, account.key, body=body, headers=headers)


@both_http
@pytest.mark.parametrize("key", [True, False])
def test_malformed_timeout_is_reported_to_authorized_callers(
    account: Account, *, key: bool
) -> None:
    caller = account if key else account.with_key("nonsense")

    responses = [send(caller, "GET", path, "5 seconds") for path in ("/api/tags", EXPORT)]

    for response in responses:
        assert response.status == (400 if key else 401)
        assert response.violations == ([("Grpc-Timeout", "INVALID_FORMAT")] if key else [])


@both_http
def test_import_ends_at_its_deadline_and_keeps_reported_rows(account: Account) -> None:
    async def main() -> list[Any]:
        async with connection(account) as client:
            await client.begin(
                "POST", IMPORT, Authorization=f"Bearer {account.key}", Grpc_Timeout="700m"
            )
            await client.send(row(1))
            return (await client.response()).records  # and no more of the body

    result, last = run(main())

    assert (result["outcome"], last["error"]["code"]) == ("CREATED", "DeadlineExceeded")
    assert emails(account) == ["a1@example.com"]
