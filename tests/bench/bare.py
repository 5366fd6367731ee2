"""The measure of the gateway: aiohttp alone, answering the same bytes.

    python -m tests.bench.bare

Prints its port, then serves until it is ended. A POST sets what GET on the same
path, and POST on `<path>/post`, answer from then on.
"""

from __future__ import annotations

import asyncio

import uvloop
from aiohttp import web


async def serve() -> None:
    answer = b"{}"

    async def teach(request: web.Request) -> web.Response:
        nonlocal answer
        answer = await request.read()
        return web.Response(status=204)

    async def get(request: web.Request) -> web.Response:
        return web.Response(body=answer, content_type="application/json")

    async def post(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(status=201, body=answer, content_type="application/json")

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
