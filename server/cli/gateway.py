"""roster gateway: JSON over HTTP in front of servers elsewhere."""

from __future__ import annotations

from typing import Annotated

import typer

from ..addresses import check_plaintext, parse_upstream
from ..config import SETTINGS
from .output import option
from .serving import flags
from .serving.options import http_options, start_log, upstream_options, worker_count
from .serving.workers import supervise


def gateway(
    context: typer.Context,
    upstream: Annotated[str, option("upstream")] = SETTINGS["upstream"].default,
    upstream_tls_ca: Annotated[str, option("upstream_tls_ca")] = "",
    upstream_tls_certificate: Annotated[str, option("upstream_tls_certificate")] = "",
    upstream_tls_key: Annotated[str, option("upstream_tls_key")] = "",
    http_address: flags.HttpAddress = SETTINGS["http_address"].default,
    http_tls_certificate: flags.HttpTlsCertificate = "",
    http_tls_key: flags.HttpTlsKey = "",
    dangerously_in_plaintext: flags.DangerouslyInPlaintext = "",
    workers: flags.Workers = SETTINGS["workers"].default,
    log_level: flags.LogLevel = SETTINGS["log_level"].default,
    worker: flags.Worker = False,
) -> None:
    """Serve JSON over HTTP in front of servers elsewhere."""
    start_log(log_level)
    risk = dangerously_in_plaintext
    http = http_options(http_address, http_tls_certificate, http_tls_key, risk)
    servers = parse_upstream(upstream)
    if not upstream_tls_ca:
        check_plaintext("upstream", servers.addresses, risk, "upstream_tls_ca")
    told = upstream_options(servers, upstream_tls_ca, upstream_tls_certificate, upstream_tls_key)
    count = worker_count(workers, None)
    if count > 1 and not worker:
        addresses = {"http_address": http.address}
        raise typer.Exit(supervise("gateway", count, context.params, addresses))
    from .serving.process import run
    from .serving.services import HttpAlone

    run(HttpAlone(http, told, shares_ports=worker), worker=worker)
