"""roster serve"""

from __future__ import annotations

from ..config import OVER_GRPC, SettingError, Settings
from ..serving.launch import launch
from ..serving.observability_options import ObservabilityOptions, start_log
from ..serving.options import core_options, grpc_options, http_options
from ..serving.process import Service
from ..serving.role import Role
from .common.options import Worker, takes_settings


@takes_settings
def serve(settings: Settings, worker: Worker = Role.ALONE) -> None:
    """Serve gRPC and JSON over HTTP."""
    start_log(settings)
    settings.validate()
    http, grpc, core = http_options(settings), grpc_options(settings), core_options(settings)
    if grpc.identity is not None and settings.http_channel == OVER_GRPC:
        raise SettingError(
            f"{Settings.http_channel.environment}={OVER_GRPC} requires a gRPC port without TLS. For"
            " a gRPC port with TLS, use `roster gateway`."
        )
    in_process = settings.http_channel != OVER_GRPC

    def service(observability: ObservabilityOptions) -> Service:
        from ..serving.services import GrpcService  # noqa: PLC0415 - a supervisor needs no gRPC

        origins = settings.cors_origins
        return GrpcService(grpc, core, observability, worker, http, in_process, origins)

    addresses = {"http_address": http.address, "grpc_address": grpc.address}
    launch("serve", settings, worker, addresses, service, (http.identity, grpc.identity))
