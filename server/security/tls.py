"""Reads and validates TLS certificates, private keys and CA certificates from files.

They can be reloaded while the process serves. The next handshake uses the new ones; existing
connections stay open.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from ..config import SETTINGS, SettingError

Contents = TypeVar("Contents")
# The device, inode, modification time and size of each file; None for one that is missing.
Stamps = tuple[tuple[int, ...] | None, ...]


@dataclass(frozen=True)
class Identity:
    """A certificate chain and its private key, in PEM; `context` is the same for an HTTP server.

    `client_ca` contains the CA certificates for client certificates; None if clients need none.
    """

    certificate: bytes
    key: bytes = field(repr=False)
    context: ssl.SSLContext = field(repr=False, compare=False)
    client_ca: bytes | None = None


class Trust(NamedTuple):
    """What a client trusts and presents: CA certificates, and the identity of the client.

    `authorities` is None for the public ones.
    """

    authorities: bytes | None
    identity: Identity | None


class TlsFiles(Generic[Contents]):
    """The contents of TLS files, which can be reloaded.

    `paths` has the path of each file by its setting, empty for none. `read` returns the contents
    of all, and raises SettingError if a file is missing or the files do not match.
    """

    def __init__(self, paths: Mapping[str, str], read: Callable[[], Contents]) -> None:
        self.paths = {setting: path for setting, path in paths.items() if path}
        self._read = read
        self._listeners: list[Callable[[], None]] = []
        self._seen = self._loaded = self._stamps()
        self.current = read()
        self.expiries = self._read_expiries()

    def listen(self, listener: Callable[[], None]) -> None:
        """Calls a function after each change of the contents."""
        self._listeners.append(listener)

    def reload(self) -> None:
        """Reloads the files. On failure, raises SettingError and keeps the current contents."""
        self._loaded = self._stamps()
        contents = self._read()
        self.expiries = self._read_expiries()
        if contents != self.current:
            self.current = contents
            for listener in self._listeners:
                listener()

    def have_changed(self) -> bool:
        """Whether the files have changed since they were read, and not since the last check.

        The second condition waits until both a certificate and its key have been replaced.
        """
        before, self._seen = self._seen, self._stamps()
        return self._loaded != self._seen == before

    def _stamps(self) -> Stamps:
        return tuple(map(_stamp, self.paths.values()))

    def _read_expiries(self) -> Mapping[str, float]:
        """Returns when the certificates of each setting expire, in seconds since 1970."""
        expiries = {
            setting: _expiry(Path(path), is_ca=setting.endswith("_ca"))
            for setting, path in self.paths.items()
            if not setting.endswith("_key")
        }
        return {setting: expiry for setting, expiry in expiries.items() if expiry is not None}


class ServerIdentity(TlsFiles[Identity]):
    """The identity of a port. Each handshake of `context` uses the `current` one."""

    def __init__(self, prefix: str, certificate: str, key: str, client_ca: str = "") -> None:
        paths = {"certificate": certificate, "key": key, "client_ca": client_ca}
        super().__init__(
            {f"{prefix}_{suffix}": path for suffix, path in paths.items()},
            partial(read_identity, prefix, certificate, key, client_ca),
        )
        self.context = self.current.context
        self.context.sni_callback = self._use_current

    def _use_current(
        self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext
    ) -> None:
        connection.context = self.current.context


def read_identity(prefix: str, certificate: str, key: str, client_ca: str = "") -> Identity:
    """Reads the files of the settings `<prefix>_certificate`, `<prefix>_key` and `_client_ca`.

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
    except (OSError, ValueError) as error:
        if getattr(error, "reason", "") == "KEY_VALUES_MISMATCH":
            raise SettingError(
                f"{names[1]} is not the private key of the certificate in {names[0]}:"
                f" {key} and {certificate}."
            ) from error
        raise SettingError(
            f"{names[0]} and {names[1]} must be a certificate and its unencrypted private key in"
            f" PEM: {certificate} and {key}."
        ) from error
    authorities = read_authorities(f"{prefix}_client_ca", client_ca) if client_ca else None
    return Identity(contents[0], contents[1], context, authorities)


def read_trust(prefix: str, ca: str, certificate: str, key: str) -> Trust:
    """Reads the files of the settings `<prefix>_ca`, `<prefix>_certificate` and `<prefix>_key`.

    Raises SettingError.
    """
    authorities = read_authorities(f"{prefix}_ca", ca) if ca else None
    identity = read_identity(prefix, certificate, key) if certificate or key else None
    return Trust(authorities, identity)


def read_authorities(name: str, path: str) -> bytes:
    """Reads the CA certificates in the file of a setting. Raises SettingError."""
    setting = SETTINGS[name].environment
    content = _read(setting, path)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except OSError as error:
        raise SettingError(f"{setting} contains no certificate in PEM: {path}.") from error
    return content


def _read(setting: str, path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise SettingError(f"{setting} cannot be read: {path}: {error.strerror}.") from error


def _stamp(path: str) -> tuple[int, ...] | None:
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


def _expiry(file: Path, *, is_ca: bool) -> float | None:
    """Returns when the first certificate of a file expires; of CA certificates the last one.

    A file of CA certificates can contain an old one and its successor. Returns None if the
    certificates cannot be parsed.
    """
    from cryptography import x509  # noqa: PLC0415 - needed with TLS only

    try:
        certificates = x509.load_pem_x509_certificates(file.read_bytes())
    except (OSError, ValueError):
        return None
    ends = [certificate.not_valid_after_utc.timestamp() for certificate in certificates]
    return max(ends) if is_ca else min(ends)
