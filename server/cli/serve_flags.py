"""The flags that more than one of the commands take that serve."""

from __future__ import annotations

from typing import Annotated

import typer

from ..serving.role import Role
from .output import option

HttpAddress = Annotated[str, option("http_address")]
HttpTlsCertificate = Annotated[str, option("http_tls_certificate")]
HttpTlsKey = Annotated[str, option("http_tls_key")]
GrpcAddress = Annotated[str, option("grpc_address")]
GrpcTlsCertificate = Annotated[str, option("grpc_tls_certificate")]
GrpcTlsKey = Annotated[str, option("grpc_tls_key")]
GrpcTlsClientCa = Annotated[str, option("grpc_tls_client_ca")]
DatabasePool = Annotated[str, option("database_pool")]
BootstrapApiKey = Annotated[str, option("bootstrap_api_key")]
SecretKey = Annotated[str, option("secret_key")]
BackupFolder = Annotated[str, option("backup_folder")]
HttpChannel = Annotated[str, option("http_channel")]
RateLimit = Annotated[str, option("rate_limit")]
TrustedProxies = Annotated[str, option("trusted_proxies")]
Workers = Annotated[str, option("workers")]
WebhookAllowNets = Annotated[str, option("webhook_allow_nets")]
WebhookAllowHttp = Annotated[str, option("webhook_allow_http")]
LogLevel = Annotated[str, option("log_level")]
LogFormat = Annotated[str, option("log_format")]
MetricsAddress = Annotated[str, option("metrics_address")]
MetricsTlsCertificate = Annotated[str, option("metrics_tls_certificate")]
MetricsTlsKey = Annotated[str, option("metrics_tls_key")]
Tracing = Annotated[str, option("tracing")]
DangerouslyInPlaintext = Annotated[str, option("dangerously_in_plaintext")]
# Which of several processes this is, which `workers.py` starts and looks after.
Worker = Annotated[Role, typer.Option("--worker", hidden=True)]


def is_set(context: typer.Context, name: str) -> bool:
    """Whether a flag or the environment sets a parameter of a command."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"
