"""roster gateway"""

from __future__ import annotations

from ..config import Settings
from ..serving.launch import launch
from ..serving.observability_options import ObservabilityOptions, start_log
from ..serving.options import http_options, upstream_options
from ..serving.process import Service
from ..serving.role import Role
from .common.options import Worker, takes_settings


@takes_settings
def gateway(settings: Settings, worker: Worker = Role.ALONE) -> None:
    """Serve JSON over HTTP in front of gRPC servers elsewhere."""
    start_log(settings)
    settings.validate()
    http, upstream = http_options(settings), upstream_options(settings)

    def service(observability: ObservabilityOptions) -> Service:
        from ..serving.services import HttpOnly  # noqa: PLC0415 - a supervisor needs no gRPC

        return HttpOnly(http, upstream, observability, worker, settings.cors_origins)

    addresses = {"http_address": http.address}
    launch("gateway", settings, worker, addresses, service, (http.identity,))
