"""What a process is watched with, and the port on which it tells its figures.

The port opens before anything else, and closes after everything else has ended.
"""

from __future__ import annotations

from contextlib import AsyncExitStack

from prometheus_client import CollectorRegistry

from ..observability.metrics_server import Gather, listen
from ..observability.observability import Observability, create_tracing
from ..observability.request_log import RequestLog
from .observability_options import ObservabilityOptions
from .reserved_ports import port_in_use


async def watched(
    options: ObservabilityOptions, stack: AsyncExitStack
) -> tuple[Observability, str]:
    """Returns what a process is watched with until the stack is closed, and where it is read.

    Raises PortInUse, and SettingError where spans are wanted that cannot be made.
    """
    watch = Observability(
        RequestLog(enabled=options.log_calls, as_text=options.as_text),
        create_tracing() if options.traces else None,
    )
    stack.push_async_callback(watch.close)
    if options.address is None:
        return watch, ""
    registry = watch.exposition.registry()

    async def gather() -> CollectorRegistry:
        return registry

    return watch, await serve_metrics(options, gather, stack)


async def serve_metrics(
    options: ObservabilityOptions, gather: Gather, stack: AsyncExitStack
) -> str:
    """Serves the page of figures until the stack is closed; returns where. Raises PortInUse."""
    assert options.address is not None
    tls = options.identity.context if options.identity else None
    try:
        address = await listen(gather, options.address, tls, stack)
    except OSError as error:
        raise port_in_use("metrics_address", options.address) from error
    return f"{'https' if tls else 'http'}://{address}/metrics"
