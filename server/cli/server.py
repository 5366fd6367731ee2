"""roster server"""

from __future__ import annotations

from ..config import Settings
from ..serving.launch import launch
from ..serving.observability_options import ObservabilityOptions, start_log
from ..serving.options import core_options, grpc_options
from ..serving.process import Service
from ..serving.role import Role
from .common.options import Worker, takes_settings


@takes_settings
def server(settings: Settings, worker: Worker = Role.ALONE) -> None:
    """Serve gRPC only."""
    start_log(settings)
    settings.validate()
    grpc, core = grpc_options(settings), core_options(settings)

    def service(observability: ObservabilityOptions) -> Service:
        from ..serving.services import GrpcService  # noqa: PLC0415 - a supervisor needs no gRPC

        return GrpcService(grpc, core, observability, worker)

    addresses = {"grpc_address": grpc.address}
    launch("server", settings, worker, addresses, service, (grpc.identity,))
