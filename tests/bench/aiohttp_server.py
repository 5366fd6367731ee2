"""The baseline of the gateway: aiohttp alone, which sends the same bytes.

    python -m tests.bench.aiohttp_server

It prints its port and serves until it is terminated. PUT /body sets the body of all later
responses.
"""

from __future__ import annotations

import asyncio

import uvloop
from aiohttp import web


async def serve() -> None:
    body = b"{}"

    def headers() -> dict[str, str]:
        return {
            "Content-Type": "application/json",
            "X-Request-Id": "0123456789abcdef000000000001",
            "X-Content-Type-Options": "nosniff",
            "Server": "roster",
        }

    async def set_body(request: web.Request) -> web.Response:
        nonlocal body
        body = await request.read()
        return web.Response(status=204)

    async def get(request: web.Request) -> web.Response:
        return web.Response(body=body, headers=headers())

    async def post(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(status=201, body=body, headers=headers())

    app = web.Application()
    app.router.add_put("/body", set_body)
    app.router.add_get("/api/subscribers/{id}", get)
    app.router.add_get("/api/subscribers", get)
    app.router.add_post("/api/subscribers", post)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(serve())
