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
from grpc_health.v1 import health_pb2, health_pb2_grpc
from roster.v1.tags_pb2 import DeleteTagRequest
from roster.v1.tags_pb2_grpc import TagServiceStub

from http_gateway.channel.upstream import UpstreamChannel
from server.accounts.rules import make_secret
from server.addresses import parse_upstream
from server.app import SERVICES
from server.config import SettingError
from server.console import ExitCode
from server.serving.options import grpc_options, http_options, upstream_options

from ..cli.test_commands import complaint, roster
from ..cli.transfers import counted, people, written
from ..fronts import HttpFront
from ..parts import Part, running, status_of
from ..stubs.authority import Authority
from ..stubs.recorder import recording

KEY = make_secret()


@dataclass(frozen=True)
class Papers:
    """Files with the certificates of an authority, of a server and of a gateway."""

    folder: Path

    def __getitem__(self, name: str) -> str:
        return str(self.folder / name)


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    folder = tmp_path_factory.mktemp("papers")
    for kind in ("own", "strange"):
        authority = Authority()
        (folder / f"{kind}-ca.pem").write_bytes(authority.certificate)
        for name in ("server", "gateway"):
            certificate, key = authority.certify(name)
            (folder / f"{kind}-{name}.pem").write_bytes(certificate)
            (folder / f"{kind}-{name}.key").write_bytes(key)
    return Papers(folder)


@pytest.fixture(scope="module")
def server(papers: Papers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Part]:
    """A server that requires client certificates of its authority."""
    folder = tmp_path_factory.mktemp("server")
    with running(
        "server",
        folder,
        ROSTER_DATABASE_URL=f"sqlite:///{folder}/roster.db",
        ROSTER_BOOTSTRAP_API_KEY=KEY,
        ROSTER_GRPC_TLS_CERTIFICATE=papers["own-server.pem"],
        ROSTER_GRPC_TLS_KEY=papers["own-server.key"],
        ROSTER_GRPC_TLS_CLIENT_CA=papers["own-ca.pem"],
    ) as part:
        yield part


@pytest.fixture(scope="module")
def gateway(
    server: Part, papers: Papers, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Part]:
    """A gateway that shows its certificate to the server, and one of its own over HTTP."""
    with running(
        "gateway",
        tmp_path_factory.mktemp("gateway"),
        ROSTER_UPSTREAM=server.grpc,
        ROSTER_UPSTREAM_TLS_CA=papers["own-ca.pem"],
        ROSTER_UPSTREAM_TLS_CERTIFICATE=papers["own-gateway.pem"],
        ROSTER_UPSTREAM_TLS_KEY=papers["own-gateway.key"],
        ROSTER_HTTP_TLS_CERTIFICATE=papers["own-server.pem"],
        ROSTER_HTTP_TLS_KEY=papers["own-server.key"],
    ) as part:
        yield part


def trusting(papers: Papers, name: str = "own-ca.pem") -> ssl.SSLContext:
    return ssl.create_default_context(cafile=papers[name])


def get(address: str, path: str, context: ssl.SSLContext) -> tuple[int, object]:
    connection = http.client.HTTPSConnection(address, timeout=20, context=context)
    with closing(connection):
        connection.request("GET", path, headers={"X-API-Key": KEY})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def shaken(address: str, context: ssl.SSLContext) -> ssl.SSLSocket:
    """Returns a connection over TLS."""
    host, _, port = address.rpartition(":")
    plain = socket.create_connection((host, int(port)), timeout=20)
    return context.wrap_socket(plain, server_hostname=host)


def test_gateway_and_server_that_know_each_other_answer_over_https(
    gateway: Part, papers: Papers
) -> None:
    status, body = get(gateway.http, "/api/tags", trusting(papers))

    assert (status, body) == (200, {"tags": [], "total": 0, "page": 1, "limit": 20})
    assert get(gateway.http, "/readyz", trusting(papers))[0] == 200


def test_address_is_printed_as_https(gateway: Part) -> None:
    assert f"https://{gateway.http}" in "".join(gateway.printed)


def test_client_that_trusts_another_authority_leaves(gateway: Part, papers: Papers) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        get(gateway.http, "/healthz", trusting(papers, "strange-ca.pem"))


def test_plaintext_is_not_answered_on_a_port_with_tls(gateway: Part) -> None:
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        status_of(gateway.http, "/healthz")


@pytest.mark.filterwarnings("ignore:.*TLSv1_1 is deprecated:DeprecationWarning")
def test_tls_before_1_2_is_not_spoken(gateway: Part, papers: Papers) -> None:
    context = trusting(papers)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1

    with pytest.raises((ssl.SSLError, ConnectionError)):
        shaken(gateway.http, context)


def test_http_1_1_is_chosen_of_what_a_client_offers(gateway: Part, papers: Papers) -> None:
    context = trusting(papers)
    context.set_alpn_protocols(["h2", "http/1.1"])

    with shaken(gateway.http, context) as connection:
        assert connection.selected_alpn_protocol() == "http/1.1"


def test_malformed_request_over_tls_is_answered_and_leaves_no_traceback(
    gateway: Part, papers: Papers
) -> None:
    with shaken(gateway.http, trusting(papers)) as connection:
        connection.sendall(b"nonsense\r\n\r\n")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 400")

    assert "Traceback" not in gateway.log.read_text()


@pytest.mark.parametrize("shown", ["", "strange"], ids=["none", "of another authority"])
def test_server_takes_no_calls_from_whom_its_authority_has_not_certified(
    server: Part, papers: Papers, shown: str
) -> None:
    files = [f"{shown}-gateway.key", f"{shown}-gateway.pem"] if shown else []
    credentials = grpc.ssl_channel_credentials(
        *[Path(papers[name]).read_bytes() for name in ("own-ca.pem", *files)]
    )

    with (
        grpc.secure_channel(server.grpc, credentials) as channel,
        pytest.raises(grpc.RpcError) as refused,
    ):
        health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=20)

    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE


def test_gateway_whom_the_server_does_not_take_is_not_ready(
    server: Part, papers: Papers, tmp_path: Path
) -> None:
    settings = {"ROSTER_UPSTREAM": server.grpc, "ROSTER_UPSTREAM_TLS_CA": papers["own-ca.pem"]}

    with running("gateway", tmp_path, **settings) as part:
        assert status_of(part.http, "/healthz") == 200
        assert status_of(part.http, "/readyz") == 503
        answer = HttpFront("http", part.http).call("CreateTag", KEY, {"name": "vip"})
        assert (answer.status, answer.code) == (503, "Unavailable")


@pytest.mark.parametrize("trusted", ["nothing", "the public", "another authority"])
def test_gateway_shows_no_key_to_a_server_that_it_does_not_trust(
    papers: Papers, trusted: str
) -> None:
    certificate, key = Authority().certify("server")
    own = grpc.ssl_server_credentials([(key, certificate)])
    credentials = {
        "nothing": None,
        "the public": grpc.ssl_channel_credentials(),
        "another authority": grpc.ssl_channel_credentials(Path(papers["own-ca.pem"]).read_bytes()),
    }[trusted]

    async def call(address: str) -> None:
        async with UpstreamChannel(address, SERVICES, credentials) as channel:
            await TagServiceStub(channel).DeleteTag(
                DeleteTagRequest(), metadata=[("x-api-key", KEY)]
            )

    with recording(own) as recorder:
        with pytest.raises(grpc.RpcError) as refused:
            asyncio.run(call(recorder.address))
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
        assert recorder.calls == []


def test_rows_are_imported_over_https_from_whom_the_environment_trusts(
    gateway: Part, papers: Papers, tmp_path: Path
) -> None:
    rows = written(tmp_path / "people.ndjson", people(3))
    url = f"https://{gateway.http}"

    alone = roster("import", rows, "--url", url, ROSTER_API_KEY=KEY)
    trusted = roster(
        "import",
        rows,
        "--url",
        url,
        "--json",
        ROSTER_API_KEY=KEY,
        SSL_CERT_FILE=papers["own-ca.pem"],
    )

    assert "cannot be trusted" in complaint(alone, ExitCode.UNREACHABLE)
    assert counted(trusted)["created"] == 3


# What is refused before anything is served


NOWHERE = {"ROSTER_DATABASE_URL": "sqlite:////nowhere/roster.db"}


@pytest.mark.parametrize(
    ("command", "settings", "named"),
    [
        ("serve", {"ROSTER_HTTP_ADDRESS": "0.0.0.0:0"}, "ROSTER_HTTP_TLS_CERTIFICATE"),
        ("server", {"ROSTER_GRPC_ADDRESS": "[::]:0"}, "ROSTER_GRPC_TLS_CERTIFICATE"),
        ("gateway", {"ROSTER_UPSTREAM": "ipv4:10.0.0.1:1"}, "ROSTER_UPSTREAM_TLS_CA"),
    ],
)
def test_plaintext_beyond_this_machine_is_rejected(
    command: str, settings: dict[str, str], named: str
) -> None:
    line = complaint(roster(command, **{**NOWHERE, **settings}), ExitCode.USAGE)

    assert named in line
    assert "ROSTER_DANGEROUSLY_IN_PLAINTEXT=true" in line


def test_every_place_of_plaintext_is_looked_at() -> None:
    with pytest.raises(SettingError, match="ROSTER_HTTP_ADDRESS leads"):
        http_options("10.0.0.1:80", "", "", risk=False)
    with pytest.raises(SettingError, match="ROSTER_GRPC_ADDRESS leads"):
        grpc_options("10.0.0.1:80", "", "", "", risk=False)


def test_authorities_of_callers_take_tls(papers: Papers) -> None:
    with pytest.raises(SettingError, match="ROSTER_GRPC_TLS_CLIENT_CA"):
        grpc_options("127.0.0.1:0", "", "", papers["own-ca.pem"], risk=False)


def test_gateway_shows_its_certificate_over_tls_alone(papers: Papers) -> None:
    own = [papers[f"own-gateway.{end}"] for end in ("pem", "key")]

    with pytest.raises(SettingError, match="ROSTER_UPSTREAM_TLS_CA"):
        upstream_options(parse_upstream("127.0.0.1:1"), "", *own)


def test_gateway_in_the_process_of_the_server_goes_to_no_port_with_tls(papers: Papers) -> None:
    done = roster(
        "serve",
        **NOWHERE,
        ROSTER_HTTP_CHANNEL="grpc",
        ROSTER_GRPC_TLS_CERTIFICATE=papers["own-server.pem"],
        ROSTER_GRPC_TLS_KEY=papers["own-server.key"],
    )

    assert "ROSTER_HTTP_CHANNEL" in complaint(done, ExitCode.USAGE)


def test_plaintext_beyond_loopback_is_served_if_allowed(tmp_path: Path) -> None:
    with running(
        "gateway",
        tmp_path,
        ROSTER_HTTP_ADDRESS="0.0.0.0:0",
        ROSTER_DANGEROUSLY_IN_PLAINTEXT="true",
    ) as part:
        assert status_of(part.http.replace("0.0.0.0", "127.0.0.1"), "/healthz") == 200
