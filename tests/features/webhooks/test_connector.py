"""Tests the address check of connections, without the checks before it."""

from __future__ import annotations

import ssl

import pytest
from aiohttp import ClientConnectorError, ClientSession

from rosterd.server.features.webhooks.egress.connector import EgressConnector
from rosterd.server.features.webhooks.egress.policy import BlockedAddress
from rosterd.server.features.webhooks.egress.resolver import SystemLookup

from .raw_receivers import (
    EGRESS_POLICY,
    PRIVATE,
    PUBLIC,
    lookup_returning,
    ok,
    responding,
    run,
    running_receiver,
)


@pytest.mark.parametrize("host", [PRIVATE, f"[::ffff:{PRIVATE}]", "[::1]", "0.0.0.0"])
def test_address_in_a_url_is_checked_when_the_socket_is_created(host: str) -> None:
    async def main() -> int:
        tls = ssl.create_default_context()
        async with (
            running_receiver(ok, host=PRIVATE) as receiver,
            ClientSession(connector=EgressConnector(EGRESS_POLICY, SystemLookup(), tls)) as session,
        ):
            with pytest.raises(ClientConnectorError) as raised:
                await session.post(f"http://{host}:{receiver.port}/")
            assert isinstance(raised.value.os_error, BlockedAddress)
            return receiver.connections

    assert run(main()) == 0


def test_name_is_resolved_for_each_new_connection() -> None:
    async def main() -> None:
        tls = ssl.create_default_context()
        lookup = lookup_returning([PUBLIC], [PRIVATE])
        async with (
            running_receiver(responding("HTTP/1.1 200 OK\nConnection: close")) as receiver,
            ClientSession(connector=EgressConnector(EGRESS_POLICY, lookup, tls)) as session,
        ):
            url = f"http://example.com:{receiver.port}/"
            async with session.post(url, data=b"{}") as response:
                assert response.status == 200
            with pytest.raises(ClientConnectorError) as raised:
                await session.post(url)
            assert isinstance(raised.value.os_error, BlockedAddress)

    run(main())
