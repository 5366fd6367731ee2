"""Changed certificates are reloaded, at once with SIGHUP, and connections stay open."""

from __future__ import annotations

import http.client
import re
import signal
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.request import urlopen

import grpc
import pytest
from cryptography import x509
from grpc_health.v1 import health_pb2

from ..components import Component, running, status_of, wait_until
from ..fronts import health_stub
from ..postgres import Postgres
from ..stubs.authority import Authority

CHECK = health_pb2.HealthCheckRequest()
OLD, NEW = "old", "new"


@dataclass
class Files:
    """The certificate and key files of a service, and the authority that signs them."""

    folder: Path
    authority: Authority

    @property
    def settings(self) -> dict[str, str]:
        """The settings that use the certificate for HTTP, gRPC and metrics."""
        names = {"CERTIFICATE": self.certificate, "KEY": self.key}
        return {
            f"ROSTER_{port}_TLS_{name}": str(file)
            for port in ("HTTP", "GRPC", "METRICS")
            for name, file in names.items()
        }

    @property
    def certificate(self) -> Path:
        return self.folder / "server.pem"

    @property
    def key(self) -> Path:
        return self.folder / "server.key"

    def write(self, name: str, *, days: float = 100) -> None:
        """Writes a certificate with a common name, and its key."""
        certificate, key = self.authority.certify(name, days=days)
        self.certificate.write_bytes(certificate)
        self.key.write_bytes(key)

    def ssl_context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self.authority.certificate.decode())


# Checks the files often, and ignores SIGHUP, as under nohup.
WATCHING = """
import signal
from rosterd.server.cli import main
from rosterd.server.serving import certificates
signal.signal(signal.SIGHUP, signal.SIG_IGN)
certificates.CHECK_SECONDS = 0.05
main()
"""


@pytest.fixture
def files(tmp_path: Path) -> Files:
    created = Files(tmp_path, Authority())
    created.write(OLD)
    return created


def served_name(address: str, files: Files) -> str:
    """Returns the common name of the certificate in a new handshake."""
    host, _, port = address.rpartition(":")
    context = files.ssl_context()
    context.set_alpn_protocols(["h2", "http/1.1"])
    with (
        socket.create_connection((host, int(port)), timeout=20) as plain,
        context.wrap_socket(plain, server_hostname=host) as connection,
    ):
        shown = connection.getpeercert(binary_form=True)
    assert shown is not None
    (name,) = x509.load_der_x509_certificate(shown).subject
    return str(name.value)


@contextmanager
def open_connections(service: Component, files: Files) -> Iterator[Callable[[], None]]:
    """Opens one connection to each port, and yields a check that these connections still work."""
    credentials = grpc.ssl_channel_credentials(files.authority.certificate)
    with (
        closing(
            http.client.HTTPSConnection(service.http, timeout=20, context=files.ssl_context())
        ) as over_http,
        grpc.secure_channel(service.grpc, credentials) as over_grpc,
    ):
        watch = health_stub(over_grpc).Watch(CHECK)
        next(watch)
        over_http.connect()
        first = over_http.sock

        def check() -> None:
            over_http.request("GET", "/healthz")
            assert over_http.getresponse().read()
            assert over_http.sock is first
            health_stub(over_grpc).Check(CHECK, timeout=20)
            assert watch.is_active()

        check()
        yield check
        watch.cancel()


def metrics_of(component: Component) -> str:
    """Returns the address of the port for metrics."""
    (line,) = [line for line in component.printed if "/metrics" in line]
    return line.split("//")[1].split("/")[0]


@pytest.mark.verify
def test_new_handshakes_use_the_new_certificate_and_open_connections_continue(
    files: Files, tmp_path: Path
) -> None:
    with (
        running("serve", tmp_path, **settings_of(tmp_path), **files.settings) as service,
        open_connections(service, files) as check,
    ):
        ports = (service.http, service.grpc, metrics_of(service))
        assert [served_name(port, files) for port in ports] == [OLD] * 3

        files.write(NEW)
        service.process.send_signal(signal.SIGHUP)

        for port in ports:
            wait_until(lambda port=port: served_name(port, files) == NEW, port)
        check()


def settings_of(folder: Path) -> dict[str, str]:
    return {"ROSTER_DATABASE_URL": f"sqlite:///{folder}/roster.db", "ROSTER_LOG_LEVEL": "info"}


def test_changed_files_are_reloaded_without_a_signal_and_invalid_ones_are_not(
    files: Files, tmp_path: Path
) -> None:
    settings = {**settings_of(tmp_path), **files.settings}
    with (
        running("serve", tmp_path, code=WATCHING, **settings) as service,
        open_connections(service, files) as check,
    ):
        ports = (service.http, service.grpc, metrics_of(service))
        files.certificate.write_text("no certificate")
        kept = "TLS certificate not reloaded, the previous one stays in use"
        wait_until(lambda: service.log.read_text().count(kept) == 3, "no warnings")
        assert [served_name(port, files) for port in ports] == [OLD] * 3

        files.write(NEW)

        for port in ports:
            wait_until(lambda port=port: served_name(port, files) == NEW, port)
        check()
        assert service.log.read_text().count(kept) == 3


def test_certificate_that_expires_soon_is_logged_and_its_end_is_a_metric(
    files: Files, tmp_path: Path
) -> None:
    files.write(OLD, days=13)
    settings = {**files.settings, **settings_of(tmp_path)}
    with running("serve-grpc", tmp_path, **settings) as service:
        url = f"https://{metrics_of(service)}/metrics"
        with urlopen(url, context=files.ssl_context(), timeout=20) as response:
            page = response.read().decode()

    line = re.search(r'_expiry_timestamp_seconds\{setting="grpc_tls_certificate"\} (\S+)', page)
    assert line is not None
    assert round((float(line[1]) - time.time()) / 86_400) == 13
    assert "the certificate in ROSTER_GRPC_TLS_CERTIFICATE expires at" in service.log.read_text()


@pytest.mark.verify
def test_client_authorities_are_reloaded(files: Files, tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.write_bytes(Authority().certificate)
    certificate, key = files.authority.certify("caller")
    credentials = grpc.ssl_channel_credentials(files.authority.certificate, key, certificate)

    def is_accepted() -> bool:
        options = [("grpc.use_local_subchannel_pool", 1)]
        with grpc.secure_channel(service.grpc, credentials, options) as channel:
            try:
                health_stub(channel).Check(CHECK, timeout=20)
            except grpc.RpcError:
                return False
            return True

    settings = {**settings_of(tmp_path), **files.settings, "ROSTER_GRPC_TLS_CLIENT_CA": str(ca)}
    with running("serve-grpc", tmp_path, **settings) as service:
        assert not is_accepted()
        ca.write_bytes(files.authority.certificate)

        service.process.send_signal(signal.SIGHUP)

        wait_until(is_accepted, "the authorities are the old ones")


def test_gateway_presents_a_changed_client_certificate(files: Files, tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.write_bytes(files.authority.certificate)
    server_settings = {
        **settings_of(tmp_path),
        **files.settings,
        "ROSTER_GRPC_TLS_CLIENT_CA": str(ca),
    }
    client = Files(tmp_path / "client", Authority())
    client.folder.mkdir()
    client.write("of another authority")
    with running("serve-grpc", tmp_path, **server_settings) as server:
        gateway_settings = {
            "ROSTER_UPSTREAM": server.grpc,
            "ROSTER_UPSTREAM_TLS_CA": str(ca),
            "ROSTER_UPSTREAM_TLS_CERTIFICATE": str(client.certificate),
            "ROSTER_UPSTREAM_TLS_KEY": str(client.key),
        }
        with running("serve-http", tmp_path, code=WATCHING, **gateway_settings) as gateway:
            assert status_of(gateway.http, "/readyz") == 503

            replace(client, authority=files.authority).write("accepted")

            wait_until(lambda: status_of(gateway.http, "/readyz") == 200, "it is not accepted")


@pytest.mark.verify
def test_all_processes_reload_and_none_is_replaced(
    files: Files, postgres: Postgres, tmp_path: Path
) -> None:
    settings = {
        **files.settings,
        "ROSTER_DATABASE_URL": postgres.new_roster(),
        "ROSTER_SECRET_KEY": postgres.secret_key,
        "ROSTER_PROCESSES": "2",
        "ROSTER_LOG_LEVEL": "info",
    }
    with (
        running("serve", tmp_path, **settings) as service,
        open_connections(service, files) as check,
    ):
        files.write(NEW)
        service.process.send_signal(signal.SIGHUP)

        # Two ports in each process, and the metrics port of the supervisor.
        text = "TLS certificate reloaded"
        wait_until(lambda: service.log.read_text().count(text) == 5, "not all have reloaded")
        ports = (*[service.http, service.grpc] * 8, metrics_of(service))
        assert {served_name(port, files) for port in ports} == {NEW}
        check()
    assert "is replaced" not in service.log.read_text()
