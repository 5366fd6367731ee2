"""roster serve: the gRPC server and the gateway in one process, or in each of several."""

from __future__ import annotations

import typer

from ..config import IN_PROCESS, OVER_GRPC, SETTINGS, SettingError, check_choice, parse_boolean
from ..serving.observability_options import observability_options, start_log
from ..serving.options import (
    core_options,
    egress_policy_option,
    grpc_options,
    http_options,
    worker_count,
)
from ..serving.reserved_ports import check_ports
from ..serving.role import Role
from ..serving.supervisor import supervise
from . import serve_flags
from .output import DatabaseUrl


def serve(
    context: typer.Context,
    http_address: serve_flags.HttpAddress = SETTINGS["http_address"].default,
    http_tls_certificate: serve_flags.HttpTlsCertificate = "",
    http_tls_key: serve_flags.HttpTlsKey = "",
    grpc_address: serve_flags.GrpcAddress = SETTINGS["grpc_address"].default,
    grpc_tls_certificate: serve_flags.GrpcTlsCertificate = "",
    grpc_tls_key: serve_flags.GrpcTlsKey = "",
    grpc_tls_client_ca: serve_flags.GrpcTlsClientCa = "",
    dangerously_in_plaintext: serve_flags.DangerouslyInPlaintext = SETTINGS[
        "dangerously_in_plaintext"
    ].default,
    workers: serve_flags.Workers = SETTINGS["workers"].default,
    database_url: DatabaseUrl = SETTINGS["database_url"].default,
    database_pool: serve_flags.DatabasePool = SETTINGS["database_pool"].default,
    bootstrap_api_key: serve_flags.BootstrapApiKey = "",
    http_channel: serve_flags.HttpChannel = SETTINGS["http_channel"].default,
    secret_key: serve_flags.SecretKey = "",
    backup_folder: serve_flags.BackupFolder = "",
    rate_limit: serve_flags.RateLimit = "",
    webhook_allow_nets: serve_flags.WebhookAllowNets = "",
    webhook_allow_http: serve_flags.WebhookAllowHttp = SETTINGS["webhook_allow_http"].default,
    trusted_proxies: serve_flags.TrustedProxies = "",
    log_level: serve_flags.LogLevel = SETTINGS["log_level"].default,
    log_format: serve_flags.LogFormat = SETTINGS["log_format"].default,
    metrics_address: serve_flags.MetricsAddress = SETTINGS["metrics_address"].default,
    metrics_tls_certificate: serve_flags.MetricsTlsCertificate = "",
    metrics_tls_key: serve_flags.MetricsTlsKey = "",
    tracing: serve_flags.Tracing = "",
    worker: serve_flags.Worker = Role.ALONE,
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
        egress_policy=egress_policy_option(webhook_allow_nets, webhook_allow_http),
    )
    in_process = check_choice("http_channel", http_channel, (IN_PROCESS, OVER_GRPC)) == IN_PROCESS
    if grpc.identity is not None and not in_process:
        raise SettingError(
            f"ROSTER_HTTP_CHANNEL={OVER_GRPC} is for a gRPC port in plaintext; `roster gateway`"
            " goes to one with TLS."
        )
    watch = observability_options(
        address=metrics_address,
        address_is_set=serve_flags.is_set(context, "metrics_address"),
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
    from ..serving.process import run
    from ..serving.services import AllInOne

    run(
        AllInOne(http, grpc, core, watch, worker, in_process=in_process),
        worker,
        identities=(http.identity, grpc.identity, watch.identity),
    )
