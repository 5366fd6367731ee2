"""How a process that serves takes its leave, before anything of it is closed.

Those who watch its health are told first that it is not ready, and it goes on to serve
for a while: they turn elsewhere meanwhile. Each answer over HTTP says that its
connection ends with it, so that no client sends its next request into one that was just
closed. Only then do the ports close. Calls are few milliseconds from their end by then;
streams may be far from it, and are ended after a while by an error that says how they
go on.
"""

from __future__ import annotations

import asyncio

from ..app import App

# How long it goes on to serve after it has said that it does not, in seconds.
DRAIN_SECONDS = 0.5
# How long streams may go on after that. It is less than what closing a port waits for.
STREAM_SECONDS = 5.0


async def drain(app: App | None = None) -> None:
    """Serves on for a while; whoever asks has been told by then that this process is not ready."""
    await asyncio.sleep(DRAIN_SECONDS)
    if app is not None:
        app.end_watches()
        asyncio.get_running_loop().call_later(STREAM_SECONDS, app.end_streams)
