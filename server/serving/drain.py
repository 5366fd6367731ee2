"""Drains a process before its ports close.

1. Health checks report that the process is not ready. It continues to serve, so that clients and
   load balancers have time to switch to another process. Every HTTP response closes its
   connection, so that no client sends its next request on a connection that is being closed.
2. The ports close. Unary calls end within milliseconds. Streams are ended after a few seconds with
   an error that states how to resume.
"""

from __future__ import annotations

import asyncio

from ..app import App

# Seconds for which a process serves after it has reported that it is not ready.
DRAIN_SECONDS = 0.5
# Seconds for which streams may continue after that; less than closing a port waits for.
STREAM_SECONDS = 5.0


async def drain(app: App | None = None) -> None:
    """Continues to serve for a while; the process already reports that it is not ready."""
    await asyncio.sleep(DRAIN_SECONDS)
    if app is not None:
        app.end_watches()
        asyncio.get_running_loop().call_later(STREAM_SECONDS, app.end_streams)
