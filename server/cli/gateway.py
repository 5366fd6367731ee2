"""roster gateway: JSON over HTTP in front of servers elsewhere."""

from __future__ import annotations

from typing import Annotated

import typer

from ..addresses import check_plaintext, parse_upstream
from ..config import SETTINGS, parse_boolean
from ..serving.observability_options import observability_options, start_log
from ..serving.options import http_options, upstream_options, worker_count
from ..serving.reserved_ports import check_ports
from ..serving.role import Role
from ..serving.supervisor import supervise
from . import serve_flags
from .output import option

# Beside a server on the same machine.
GATEWAY_METRICS = "127.0.0.1:9465"


def gateway(
    context: typer.Context,
    upstream: Annotated[str, option("upstream")] = SETTINGS["upstream"].default,
    upstream_tls_ca: Annotated[str, option("upstream_tls_ca")] = "",
    upstream_tls_certificate: Annotated[str, option("upstream_tls_certificate")] = "",
    upstream_tls_key: Annotated[str, option("upstream_tls_key")] = "",
    http_address: serve_flags.HttpAddress = SETTINGS["http_address"].default,
    http_tls_certificate: serve_flags.HttpTlsCertificate = "",
    http_tls_key: serve_flags.HttpTlsKey = "",
    dangerously_in_plaintext: serve_flags.DangerouslyInPlaintext = SETTINGS[
        "dangerously_in_plaintext"
    ].default,
    workers: serve_flags.Workers = SETTINGS["workers"].default,
    log_level: serve_flags.LogLevel = SETTINGS["log_level"].default,
    log_format: serve_flags.LogFormat = SETTINGS["log_format"].default,
    metrics_address: serve_flags.MetricsAddress = GATEWAY_METRICS,
    metrics_tls_certificate: serve_flags.MetricsTlsCertificate = "",
    metrics_tls_key: serve_flags.MetricsTlsKey = "",
    tracing: serve_flags.Tracing = "",
    worker: serve_flags.Worker = Role.ALONE,
) -> None:
    """Serve JSON over HTTP in front of servers elsewhere."""
    start_log(log_level, log_format)
    risk = parse_boolean("dangerously_in_plaintext", dangerously_in_plaintext)
    http = http_options(http_address, http_tls_certificate, http_tls_key, risk=risk)
    servers = parse_upstream(upstream)
    if not upstream_tls_ca:
        check_plaintext("upstream", servers.addresses, "upstream_tls_ca", risk=risk)
    told = upstream_options(servers, upstream_tls_ca, upstream_tls_certificate, upstream_tls_key)
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
    count = worker_count(workers, None)
    addresses = {"http_address": http.address}
    if not worker:
        watch = check_ports(addresses, watch)
    if count > 1 and not worker:
        raise typer.Exit(supervise("gateway", count, context.params, addresses, watch))
    from ..serving.process import run
    from ..serving.services import HttpOnly

    service = HttpOnly(http, told, watch, worker)
    run(service, worker, identities=(http.identity, watch.identity))
