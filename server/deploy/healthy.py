"""Checks that the HTTP port of this machine responds; the health check of a container.

python -m rosterd.server.deploy.healthy

Reads the HTTP address from the environment. Exits with 0 if /healthz returns 200, otherwise
with 1.
"""

from __future__ import annotations

import http.client
import os
import ssl
import sys
from contextlib import closing

from ..config import Settings
from ..values.addresses import Address

SECONDS = 2.0
# Loopback addresses for wildcard listen addresses. They need no name resolution.
_LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared with, not listened on


def is_alive(address: Address, *, tls: bool) -> bool:
    """Requests /healthz. The certificate is not verified: it need not name a loopback address."""
    address = Address(_LOOPBACK.get(address.host, address.host), address.port)
    with closing(_connection(address, tls=tls)) as connection:
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False


def _connection(address: Address, *, tls: bool) -> http.client.HTTPConnection:
    if not tls:
        return http.client.HTTPConnection(*address, timeout=SECONDS)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return http.client.HTTPSConnection(*address, timeout=SECONDS, context=context)


def main() -> None:
    rows = (Settings.http_address, Settings.http_tls_certificate)
    settings = Settings({row.name: os.environ.get(row.environment) or row.default for row in rows})
    sys.exit(not is_alive(settings.http_address, tls=bool(settings.http_tls_certificate)))


if __name__ == "__main__":
    main()
