"""Reads and validates TLS certificates, private keys and CA certificates from files.

The certificate of a port can be reloaded while it serves. The next handshake uses the new one;
existing connections stay open.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..config import SETTINGS, SettingError


@dataclass(frozen=True)
class Identity:
    """A certificate chain and its private key, in PEM; `context` is the same for an HTTP server.

    `client_ca` contains the CA certificates for client certificates; None if clients need none.
    """

    certificate: bytes
    key: bytes = field(repr=False)
    context: ssl.SSLContext = field(repr=False)
    client_ca: bytes | None = None


class ServerIdentity:
    """The identity of a port, which can be reloaded from the files of its settings.

    Each handshake of `context` uses the `current` identity. Raises SettingError if a file is
    missing or the files do not match.
    """

    def __init__(self, prefix: str, certificate: str, key: str, client_ca: str = "") -> None:
        self._prefix = prefix
        self._files = (certificate, key)
        self._client_ca = client_ca
        self.current = self._read()
        self.context = self.current.context
        self.context.sni_callback = self._use_current

    @property
    def certificate(self) -> str:
        return self._files[0]

    def reload(self) -> None:
        """Reloads the files. On failure, raises SettingError and keeps the current identity."""
        self.current = self._read()

    def _read(self) -> Identity:
        identity = read_identity(self._prefix, *self._files)
        if not self._client_ca:
            return identity
        name = f"{self._prefix}_client_ca"
        return replace(identity, client_ca=read_authorities(name, self._client_ca))

    def _use_current(
        self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext
    ) -> None:
        connection.context = self.current.context


def read_identity(prefix: str, certificate: str, key: str) -> Identity:
    """Reads the files of the settings `<prefix>_certificate` and `<prefix>_key`.

    Raises SettingError if one is missing or they do not match.
    """
    names = [SETTINGS[f"{prefix}_{suffix}"].environment for suffix in ("certificate", "key")]
    if not certificate or not key:
        raise SettingError(f"{names[0]} and {names[1]} must both be set, or neither.")
    contents = [_read(name, path) for name, path in zip(names, (certificate, key), strict=True)]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        # Without `password`, OpenSSL would ask for the one of an encrypted key on the terminal.
        context.load_cert_chain(certificate, key, password="")
    except (ssl.SSLError, ValueError) as error:
        if getattr(error, "reason", "") == "KEY_VALUES_MISMATCH":
            raise SettingError(
                f"{names[1]} is not the private key of the certificate in {names[0]}:"
                f" {key} and {certificate}."
            ) from error
        raise SettingError(
            f"{names[0]} and {names[1]} must be a certificate and its unencrypted private key in"
            f" PEM: {certificate} and {key}."
        ) from error
    return Identity(contents[0], contents[1], context)


def read_authorities(name: str, path: str) -> bytes:
    """Reads the CA certificates in the file of a setting. Raises SettingError."""
    setting = SETTINGS[name].environment
    content = _read(setting, path)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except ssl.SSLError as error:
        raise SettingError(f"{setting} contains no certificate in PEM: {path}.") from error
    return content


def _read(setting: str, path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise SettingError(f"{setting} cannot be read: {path}: {error.strerror}.") from error
