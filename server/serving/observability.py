"""Metrics, request log and traces of a process.

The metrics port opens before everything else and closes after everything else.
"""

from __future__ import annotations

from contextlib import AsyncExitStack

from prometheus_client import CollectorRegistry

from ..observability.log_writer import STANDARD_ERROR
from ..observability.metrics_server import Gather, listen
from ..observability.observability import Observability, create_tracing
from ..observability.request_log import RequestLog
from ..observability.sources import of_log
from .certificates import expiry_samples
from .options import ObservabilityOptions, ProcessOptions
from .reserved_ports import port_in_use


async def start_observability(
    process: ProcessOptions, stack: AsyncExitStack
) -> tuple[Observability, str]:
    """Starts until the stack is closed. Returns also the URL of the metrics; empty for none.

    Raises PortInUse, and SettingError if the packages for tracing are not installed.
    """
    options = process.observability
    observability = Observability(
        RequestLog(options.log_level, options.log_sampling, as_text=options.as_text),
        create_tracing() if options.traces else None,
    )
    observability.exposition.add(of_log(STANDARD_ERROR))
    files = process.tls_files
    observability.exposition.add(lambda: expiry_samples(files))
    stack.push_async_callback(observability.close)
    if options.address is None:
        return observability, ""
    registry = observability.exposition.registry()

    async def gather() -> CollectorRegistry:
        return registry

    return observability, await serve_metrics(options, gather, stack)


async def serve_metrics(
    options: ObservabilityOptions, gather: Gather, stack: AsyncExitStack
) -> str:
    """Serves metrics until the stack is closed, and returns their URL. Raises PortInUse."""
    assert options.address is not None
    tls = options.identity.context if options.identity else None
    try:
        address = await listen(gather, options.address, tls, stack)
    except OSError as error:
        raise port_in_use("metrics_address", options.address) from error
    return f"{'https' if tls else 'http'}://{address}/metrics"
