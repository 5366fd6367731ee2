"""Files of TLS certificates, keys and authorities."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from rosterd.server.config import SettingError
from rosterd.server.security.tls import ServerIdentity, read_authorities, read_identity

from ..stubs.authority import Authority


@pytest.fixture
def certificate(tmp_path: Path) -> str:
    """A certificate, with its key in the same folder."""
    certificate, key = Authority().certify("server")
    (tmp_path / "server.pem").write_bytes(certificate)
    (tmp_path / "server.key").write_bytes(key)
    return str(tmp_path / "server.pem")


@pytest.fixture
def key(certificate: str) -> str:
    return str(Path(certificate).with_suffix(".key"))


def test_key_of_another_certificate_is_rejected(certificate: str, key: str) -> None:
    Path(key).write_bytes(Authority().certify("other")[1])

    with pytest.raises(SettingError, match="is not the private key of the certificate"):
        read_identity("http_tls", certificate, key)


def test_change_is_reported_once_the_files_have_stayed_the_same(certificate: str, key: str) -> None:
    files = ServerIdentity("http_tls", certificate, key)
    before = files.current
    assert not files.have_changed()
    renewed = Authority().certify("renewed")
    Path(certificate).write_bytes(renewed[0])
    assert not files.have_changed()
    Path(key).write_bytes(renewed[1])
    assert not files.have_changed()

    assert files.have_changed()
    files.reload()

    assert files.current != before
    assert not files.have_changed()


def test_expiry_is_that_of_the_first_certificate_and_of_the_last_authority(
    certificate: str, key: str, tmp_path: Path
) -> None:
    chain = [Authority().certify("server", days=days)[0] for days in (20, 10)]
    Path(certificate).write_bytes(Path(certificate).read_bytes() + b"".join(chain))
    (tmp_path / "ca.pem").write_bytes(b"".join(chain))

    expiries = ServerIdentity("grpc_tls", certificate, key, str(tmp_path / "ca.pem")).expiries

    days = {name: round((expiry - time.time()) / 86_400) for name, expiry in expiries.items()}
    assert days == {"grpc_tls_certificate": 1, "grpc_tls_client_ca": 20}


def test_failed_reload_keeps_the_identity(certificate: str, key: str) -> None:
    identity = ServerIdentity("http_tls", certificate, key)
    before = identity.current
    Path(certificate).write_text("no certificate")

    with pytest.raises(SettingError, match="must be a certificate and its unencrypted private key"):
        identity.reload()

    assert identity.current is before
    # The invalid file is not read at each check.
    assert not identity.have_changed()
    assert not identity.have_changed()


def test_encrypted_key_is_rejected_without_a_password_prompt(certificate: str, key: str) -> None:
    opened = load_pem_private_key(Path(key).read_bytes(), None)
    encrypted = opened.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"sesame")
    )
    Path(key).write_bytes(encrypted)

    with pytest.raises(SettingError, match="unencrypted private key"):
        read_identity("http_tls", certificate, key)


@pytest.mark.parametrize("text", ["", "no certificate"])
def test_file_without_authorities_is_rejected(text: str, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(text)

    with pytest.raises(SettingError, match="ROSTER_UPSTREAM_TLS_CA contains no certificate"):
        read_authorities("upstream_tls_ca", str(tmp_path / "ca.pem"))
