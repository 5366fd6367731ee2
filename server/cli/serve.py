"""roster serve: the gRPC server and the gateway in one process, or in each of several."""

from __future__ import annotations

import typer

from ..config import IN_PROCESS, OVER_GRPC, SETTINGS, SettingError, check_choice, parse_boolean
from .output import DatabaseUrl
from .serving import flags
from .serving.options import (
    core_options,
    grpc_options,
    http_options,
    reach_option,
    worker_count,
)
from .serving.reserve import check_ports
from .serving.role import Role
from .serving.watch_options import start_log, watch_options
from .serving.workers import supervise


def serve(
    context: typer.Context,
    http_address: flags.HttpAddress = SETTINGS["http_address"].default,
    http_tls_certificate: flags.HttpTlsCertificate = "",
    http_tls_key: flags.HttpTlsKey = "",
    grpc_address: flags.GrpcAddress = SETTINGS["grpc_address"].default,
    grpc_tls_certificate: flags.GrpcTlsCertificate = "",
    grpc_tls_key: flags.GrpcTlsKey = "",
    grpc_tls_client_ca: flags.GrpcTlsClientCa = "",
    dangerously_in_plaintext: flags.DangerouslyInPlaintext = SETTINGS[
        "dangerously_in_plaintext"
    ].default,
    workers: flags.Workers = SETTINGS["workers"].default,
    database_url: DatabaseUrl = SETTINGS["database_url"].default,
    database_pool: flags.DatabasePool = SETTINGS["database_pool"].default,
    bootstrap_api_key: flags.BootstrapApiKey = "",
    http_channel: flags.HttpChannel = SETTINGS["http_channel"].default,
    secret_key: flags.SecretKey = "",
    backup_folder: flags.BackupFolder = "",
    rate_limit: flags.RateLimit = "",
    webhook_allow_nets: flags.WebhookAllowNets = "",
    webhook_allow_http: flags.WebhookAllowHttp = SETTINGS["webhook_allow_http"].default,
    trusted_proxies: flags.TrustedProxies = "",
    log_level: flags.LogLevel = SETTINGS["log_level"].default,
    log_format: flags.LogFormat = SETTINGS["log_format"].default,
    metrics_address: flags.MetricsAddress = SETTINGS["metrics_address"].default,
    metrics_tls_certificate: flags.MetricsTlsCertificate = "",
    metrics_tls_key: flags.MetricsTlsKey = "",
    tracing: flags.Tracing = "",
    worker: flags.Worker = Role.ALONE,
) -> None:
    """Serve gRPC and JSON over HTTP."""
    start_log(log_level, log_format)
    risk = parse_boolean("dangerously_in_plaintext", dangerously_in_plaintext)
    http = http_options(http_address, http_tls_certificate, http_tls_key, risk=risk)
    grpc = grpc_options(
        grpc_address, grpc_tls_certificate, grpc_tls_key, grpc_tls_client_ca, risk=risk
    )
    core = core_options(
        database_url=database_url,
        database_pool=database_pool,
        bootstrap_api_key=bootstrap_api_key,
        secret_key=secret_key,
        backup_folder=backup_folder,
        rate_limit=rate_limit,
        trusted_proxies=trusted_proxies,
        reach=reach_option(webhook_allow_nets, webhook_allow_http),
    )
    in_process = check_choice("http_channel", http_channel, (IN_PROCESS, OVER_GRPC)) == IN_PROCESS
    if grpc.identity is not None and not in_process:
        raise SettingError(
            f"ROSTER_HTTP_CHANNEL={OVER_GRPC} is for a gRPC port in plaintext; `roster gateway`"
            " goes to one with TLS."
        )
    watch = watch_options(
        address=metrics_address,
        address_is_set=flags.is_set(context, "metrics_address"),
        certificate=metrics_tls_certificate,
        key=metrics_tls_key,
        risk=risk,
        log_level=log_level,
        log_format=log_format,
        tracing=tracing,
    )
    count = worker_count(workers, core)
    addresses = {"http_address": http.address, "grpc_address": grpc.address}
    if not worker:
        watch = check_ports(addresses, watch)
    if count > 1 and not worker:
        raise typer.Exit(supervise("serve", count, context.params, addresses, watch))
    # Imported here, since neither other commands nor what looks after workers need gRPC.
    from .serving.process import run
    from .serving.services import Together

    run(
        Together(http, grpc, core, watch, worker, in_process=in_process),
        worker,
        identities=(http.identity, grpc.identity, watch.identity),
    )
