"""TLS on both ports, and between a gateway and its servers."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2

from roster.v1.tags_pb2 import DeleteTagRequest
from roster.v1.tags_pb2_grpc import TagServiceStub
from rosterd.http_gateway.channel.upstream import UpstreamChannel
from rosterd.server.app import SERVICES
from rosterd.server.features.accounts.rules import make_secret
from rosterd.server.serving.console import ExitCode
from rosterd.server.serving.gateway_policy import POLICY

from ..cli.commands import error_line, in_new_process
from ..cli.transfers import counts_of, people, write_ndjson
from ..components import Component, running, status_of
from ..fronts import HttpFront, health_stub
from ..observability.helpers import metrics_url, samples_of, value
from ..stubs.authority import Authority
from ..stubs.recorder import recording

KEY = make_secret()


@dataclass(frozen=True)
class Certificates:
    """Files with the certificates of two authorities, of a server and of a gateway."""

    folder: Path

    def __getitem__(self, name: str) -> str:
        return str(self.folder / name)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    folder = tmp_path_factory.mktemp("certificates")
    for kind in ("trusted", "untrusted"):
        authority = Authority()
        (folder / f"{kind}-ca.pem").write_bytes(authority.certificate)
        for name in ("server", "gateway"):
            certificate, key = authority.certify(name)
            (folder / f"{kind}-{name}.pem").write_bytes(certificate)
            (folder / f"{kind}-{name}.key").write_bytes(key)
    return Certificates(folder)


@pytest.fixture(scope="module")
def server(
    certificates: Certificates, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Component]:
    """A server that requires client certificates of its authority."""
    folder = tmp_path_factory.mktemp("server")
    with running(
        "serve-grpc",
        folder,
        ROSTER_DATABASE_URL=f"sqlite:///{folder}/roster.db",
        ROSTER_BOOTSTRAP_API_KEY=KEY,
        ROSTER_GRPC_TLS_CERTIFICATE=certificates["trusted-server.pem"],
        ROSTER_GRPC_TLS_KEY=certificates["trusted-server.key"],
        ROSTER_GRPC_TLS_CLIENT_CA=certificates["trusted-ca.pem"],
    ) as component:
        yield component


@pytest.fixture(scope="module")
def gateway(
    server: Component, certificates: Certificates, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Component]:
    """A gateway with a client certificate for the server and a certificate for HTTPS."""
    with running(
        "serve-http",
        tmp_path_factory.mktemp("gateway"),
        ROSTER_UPSTREAM=server.grpc,
        ROSTER_UPSTREAM_TLS_CA=certificates["trusted-ca.pem"],
        ROSTER_UPSTREAM_TLS_CERTIFICATE=certificates["trusted-gateway.pem"],
        ROSTER_UPSTREAM_TLS_KEY=certificates["trusted-gateway.key"],
        ROSTER_HTTP_TLS_CERTIFICATE=certificates["trusted-server.pem"],
        ROSTER_HTTP_TLS_KEY=certificates["trusted-server.key"],
    ) as component:
        yield component


def client_context(certificates: Certificates, name: str = "trusted-ca.pem") -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certificates[name])


def get(address: str, path: str, context: ssl.SSLContext) -> tuple[int, object]:
    connection = http.client.HTTPSConnection(address, timeout=20, context=context)
    with closing(connection):
        connection.request("GET", path, headers={"X-API-Key": KEY})
        response = connection.getresponse()
        return response.status, json.loads(response.read())


def connect_with_tls(address: str, context: ssl.SSLContext) -> ssl.SSLSocket:
    host, _, port = address.rpartition(":")
    plain = socket.create_connection((host, int(port)), timeout=20)
    return context.wrap_socket(plain, server_hostname=host)


def test_gateway_and_server_with_mutual_tls_serve_https(
    gateway: Component, certificates: Certificates
) -> None:
    status, body = get(gateway.http, "/api/tags", client_context(certificates))

    assert (status, body) == (200, {"tags": [], "total": 0, "page": 1, "limit": 20})
    assert get(gateway.http, "/readyz", client_context(certificates))[0] == 200
    assert value(samples_of(metrics_url(gateway.printed)), "roster_ready") == 1


@pytest.mark.parametrize("path", ["/healthz", "/api/tags", "/docs", "/missing"])
def test_responses_over_tls_require_https_from_browsers(
    gateway: Component, certificates: Certificates, path: str
) -> None:
    connection = http.client.HTTPSConnection(
        gateway.http, timeout=20, context=client_context(certificates)
    )
    with closing(connection):
        connection.request("GET", path)
        response = connection.getresponse()

    assert response.getheader("Strict-Transport-Security") == "max-age=31536000"


def test_plaintext_gets_no_response_on_a_port_with_tls(gateway: Component) -> None:
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        status_of(gateway.http, "/healthz")


@pytest.mark.filterwarnings("ignore:.*TLSv1_1 is deprecated:DeprecationWarning")
def test_tls_version_below_1_2_is_rejected(gateway: Component, certificates: Certificates) -> None:
    context = client_context(certificates)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1

    with pytest.raises((ssl.SSLError, ConnectionError)):
        connect_with_tls(gateway.http, context)


@pytest.mark.parametrize(
    "certificate_name", ["", "untrusted"], ids=["none", "of another authority"]
)
def test_server_rejects_clients_without_a_certificate_of_its_authority(
    server: Component, certificates: Certificates, certificate_name: str
) -> None:
    files = (
        [f"{certificate_name}-gateway.key", f"{certificate_name}-gateway.pem"]
        if certificate_name
        else []
    )
    credentials = grpc.ssl_channel_credentials(
        *[Path(certificates[name]).read_bytes() for name in ("trusted-ca.pem", *files)]
    )

    with (
        grpc.secure_channel(server.grpc, credentials) as channel,
        pytest.raises(grpc.RpcError) as error,
    ):
        health_stub(channel).Check(health_pb2.HealthCheckRequest(), timeout=20)

    assert error.value.code() is grpc.StatusCode.UNAVAILABLE


def test_gateway_that_the_server_rejects_is_not_ready(
    server: Component, certificates: Certificates, tmp_path: Path
) -> None:
    settings = {
        "ROSTER_UPSTREAM": server.grpc,
        "ROSTER_UPSTREAM_TLS_CA": certificates["trusted-ca.pem"],
    }

    with running("serve-http", tmp_path, **settings) as component:
        assert status_of(component.http, "/healthz") == 200
        assert status_of(component.http, "/readyz") == 503
        assert value(samples_of(metrics_url(component.printed)), "roster_ready") == 0
        response = HttpFront("http", component.http).call("CreateTag", KEY, {"name": "vip"})
        assert (response.status, response.code) == (503, "Unavailable")


@pytest.mark.parametrize("trusted", ["nothing", "the public", "another authority"])
def test_gateway_sends_no_api_key_to_an_untrusted_server(
    certificates: Certificates, trusted: str
) -> None:
    certificate, key = Authority().certify("server")
    server_credentials = grpc.ssl_server_credentials([(key, certificate)])
    credentials = {
        "nothing": None,
        "the public": grpc.ssl_channel_credentials(),
        "another authority": grpc.ssl_channel_credentials(
            Path(certificates["trusted-ca.pem"]).read_bytes()
        ),
    }[trusted]

    async def call(address: str) -> None:
        async with UpstreamChannel(address, SERVICES, POLICY.idempotency, credentials) as channel:
            await TagServiceStub(channel).DeleteTag(
                DeleteTagRequest(), metadata=[("x-api-key", KEY)]
            )

    with recording(server_credentials) as recorder:
        with pytest.raises(grpc.RpcError) as error:
            asyncio.run(call(recorder.address))
        assert error.value.code() is grpc.StatusCode.UNAVAILABLE
        assert recorder.calls == []


def test_import_trusts_the_authorities_in_ssl_cert_file(
    gateway: Component, certificates: Certificates, tmp_path: Path
) -> None:
    rows = write_ndjson(tmp_path / "people.ndjson", people(3))
    url = f"https://{gateway.http}"

    alone = in_new_process("import", rows, "--url", url, ROSTER_API_KEY=KEY)
    trusted = in_new_process(
        "import",
        rows,
        "--url",
        url,
        "--json",
        # aiohttp reads the authorities when it is imported, so this needs a new interpreter.
        under=("env",),
        ROSTER_API_KEY=KEY,
        SSL_CERT_FILE=certificates["trusted-ca.pem"],
    )

    assert "is not trusted" in error_line(alone, ExitCode.UNREACHABLE)
    assert counts_of(trusted)["created"] == 3
