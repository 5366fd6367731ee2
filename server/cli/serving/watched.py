"""What a process is watched with, and the port on which it tells its figures.

The port opens before anything else, and closes after everything else has ended.
"""

from __future__ import annotations

from contextlib import AsyncExitStack

from prometheus_client import CollectorRegistry

from ...watching.call_log import CallLog
from ...watching.operations import Gather, listen
from ...watching.tracing import Tracing
from ...watching.watch import Watch
from .reserve import port_in_use
from .watch_options import WatchOptions


async def watched(options: WatchOptions, stack: AsyncExitStack) -> tuple[Watch, str]:
    """Returns what a process is watched with until the stack is closed, and where it is read.

    Raises PortInUse, and SettingError where spans are wanted that cannot be made.
    """
    watch = Watch(
        CallLog(enabled=options.log_calls, as_text=options.as_text),
        Tracing() if options.traces else None,
    )
    stack.push_async_callback(watch.close)
    if options.address is None:
        return watch, ""
    registry = watch.exposition.registry()

    async def gather() -> CollectorRegistry:
        return registry

    return watch, await serve_figures(options, gather, stack)


async def serve_figures(options: WatchOptions, gather: Gather, stack: AsyncExitStack) -> str:
    """Serves the page of figures until the stack is closed; returns where. Raises PortInUse."""
    assert options.address is not None
    tls = options.identity.context if options.identity else None
    try:
        address = await listen(gather, options.address, tls, stack)
    except OSError as error:
        raise port_in_use("metrics_address", options.address) from error
    return f"{'https' if tls else 'http'}://{address}/metrics"
