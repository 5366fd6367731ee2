"""TLS: certificates, keys and authorities from files, checked before anything is served."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path

from .config import SETTINGS, SettingError


@dataclass(frozen=True)
class Identity:
    """A certificate, with those between it and its authority, and its private key; in PEM.

    `context` is the same for a server over HTTP.
    """

    certificate: bytes
    key: bytes = field(repr=False)
    context: ssl.SSLContext = field(repr=False)


def read_identity(prefix: str, certificate: str, key: str) -> Identity | None:
    """Returns what the files `<prefix>_certificate` and `<prefix>_key` hold; None without both.

    Raises SettingError if one is missing or they do not fit.
    """
    if not certificate and not key:
        return None
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
