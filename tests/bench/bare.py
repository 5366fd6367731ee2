"""The measure of the gateway: aiohttp alone, answering the same bytes.

    python -m tests.bench.bare

Prints its port, then serves until it is ended. PUT /answer sets the body that
every other path answers with from then on.
"""

from __future__ import annotations

import asyncio

import uvloop
from aiohttp import web


async def serve() -> None:
    answer = b"{}"

    def headers() -> dict[str, str]:
        return {
            "Content-Type": "application/json",
            "X-Request-Id": "0123456789abcdef000000000001",
            "X-Content-Type-Options": "nosniff",
            "Server": "roster",
        }

    async def teach(request: web.Request) -> web.Response:
        nonlocal answer
        answer = await request.read()
        return web.Response(status=204)

    async def get(request: web.Request) -> web.Response:
        return web.Response(body=answer, headers=headers())

    async def post(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(status=201, body=answer, headers=headers())

    app = web.Application()
    app.router.add_put("/answer", teach)
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
