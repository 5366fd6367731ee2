"""roster server: gRPC alone, for gateways and clients elsewhere."""

from __future__ import annotations

import typer

from ..config import SETTINGS
from .output import DatabaseUrl
from .serving import flags
from .serving.options import (
    core_options,
    grpc_options,
    reach_option,
    start_log,
    worker_count,
)
from .serving.workers import supervise


def server(
    context: typer.Context,
    grpc_address: flags.GrpcAddress = SETTINGS["grpc_address"].default,
    grpc_tls_certificate: flags.GrpcTlsCertificate = "",
    grpc_tls_key: flags.GrpcTlsKey = "",
    grpc_tls_client_ca: flags.GrpcTlsClientCa = "",
    dangerously_in_plaintext: flags.DangerouslyInPlaintext = "",
    workers: flags.Workers = SETTINGS["workers"].default,
    database_url: DatabaseUrl = SETTINGS["database_url"].default,
    database_pool: flags.DatabasePool = SETTINGS["database_pool"].default,
    bootstrap_api_key: flags.BootstrapApiKey = "",
    secret_key: flags.SecretKey = "",
    rate_limit: flags.RateLimit = "",
    webhook_allow_nets: flags.WebhookAllowNets = "",
    webhook_allow_http: flags.WebhookAllowHttp = "",
    log_level: flags.LogLevel = SETTINGS["log_level"].default,
    worker: flags.Worker = False,
) -> None:
    """Serve gRPC alone."""
    start_log(log_level)
    grpc = grpc_options(
        grpc_address,
        grpc_tls_certificate,
        grpc_tls_key,
        grpc_tls_client_ca,
        dangerously_in_plaintext,
    )
    core = core_options(
        database_url=database_url,
        database_pool=database_pool,
        bootstrap_api_key=bootstrap_api_key,
        secret_key=secret_key,
        rate_limit=rate_limit,
        reach=reach_option(webhook_allow_nets, webhook_allow_http),
        log_level=log_level,
    )
    count = worker_count(workers, core)
    if count > 1 and not worker:
        addresses = {"grpc_address": grpc.address}
        raise typer.Exit(supervise("server", count, context.params, addresses))
    from .serving.process import run
    from .serving.services import GrpcAlone

    run(GrpcAlone(grpc, core, shares_ports=worker), worker=worker)
