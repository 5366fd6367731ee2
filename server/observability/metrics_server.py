"""Serves metrics for Prometheus on a separate port."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from ..values.addresses import Address

# Returns a registry with the current samples.
Gather = Callable[[], Awaitable[CollectorRegistry]]
# Seconds for a running scrape to end when the server stops.
GRACE_SECONDS = 1.0


async def listen(
    gather: Gather, address: Address, tls: ssl.SSLContext | None, stack: AsyncExitStack
) -> Address:
    """Serves /metrics until the stack is closed. Raises OSError if the port is not available."""

    async def metrics(request: web.Request) -> web.Response:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        body = encode(await gather())
        return web.Response(body=body, headers={"Content-Type": content_type})

    app = web.Application()
    app.router.add_get("/metrics", metrics)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=GRACE_SECONDS)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, *address, ssl_context=tls).start()
    return address._replace(port=runner.addresses[0][1])
