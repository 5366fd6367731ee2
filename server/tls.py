"""TLS: certificates, keys and authorities from files, checked before anything is served.

What a port is served with can be read again while it serves: renewed certificates are used from
the next handshake on, and connections that exist are kept.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field, replace
from pathlib import Path

from .config import SETTINGS, SettingError


@dataclass(frozen=True)
class Identity:
    """A certificate, with those between it and its authority, and its private key; in PEM.

    `context` is the same for a server over HTTP. `client_ca` holds the authorities that must have
    certified the callers; None if callers need no certificate.
    """

    certificate: bytes
    key: bytes = field(repr=False)
    context: ssl.SSLContext = field(repr=False)
    client_ca: bytes | None = None


class ServerIdentity:
    """The identity of a port, which can be reloaded from the files of its settings.

    `current` is what was read last. `context` stays the same object, and each of its handshakes
    uses the current identity. Raises SettingError if a file is missing or they do not fit.
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
        """The file with the certificate."""
        return self._files[0]

    def reload(self) -> None:
        """Reads the files again. On failure, raises SettingError and changes nothing."""
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
    """Returns what the files `<prefix>_certificate` and `<prefix>_key` hold.

    Raises SettingError if one is missing or they do not fit.
    """
    names = [SETTINGS[f"{prefix}_{what}"].environment for what in ("certificate", "key")]
    if not certificate or not key:
        raise SettingError(f"{names[0]} and {names[1]} go together, and one of them is empty.")
    found = [_read(name, path) for name, path in zip(names, (certificate, key), strict=True)]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        # Without a password that fits none, a sealed key would ask for one on the terminal.
        context.load_cert_chain(certificate, key, password="")
    except (ssl.SSLError, ValueError) as error:
        if getattr(error, "reason", "") == "KEY_VALUES_MISMATCH":
            raise SettingError(
                f"{names[1]} is not the private key of the certificate in {names[0]}:"
                f" {key} and {certificate}."
            ) from error
        raise SettingError(
            f"{names[0]} and {names[1]} are not a certificate and its open private key in PEM:"
            f" {certificate} and {key}."
        ) from error
    return Identity(found[0], found[1], context)


def read_authorities(name: str, path: str) -> bytes:
    """Returns the authorities that a setting names a file of. Raises SettingError."""
    setting = SETTINGS[name].environment
    found = _read(setting, path)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except ssl.SSLError as error:
        raise SettingError(f"{setting} holds no certificate in PEM: {path}.") from error
    return found


def _read(setting: str, path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise SettingError(f"{setting} cannot be read: {path}: {error.strerror}.") from error
