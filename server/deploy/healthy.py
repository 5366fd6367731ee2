"""Whether the HTTP port of this machine answers: what the health check of a container runs.

python -m server.deploy.healthy

It goes where the settings in the environment say that HTTP is served. It ends with 0 if the
process there is alive, and with 1 otherwise.
"""

from __future__ import annotations

import http.client
import os
import ssl
import sys
from contextlib import closing

from ..addresses import Address, parse_address
from ..config import SETTINGS

SECONDS = 2.0
# Where this machine finds itself if a port is listened on everywhere, names being known or not.
_SELF = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared with, not listened on


def is_alive(address: Address, *, tls: bool) -> bool:
    """Asks for /healthz. Whose certificate it is matters to nobody here, and is not looked at."""
    address = Address(_SELF.get(address.host, address.host), address.port)
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
    place, certificate = SETTINGS["http_address"], SETTINGS["http_tls_certificate"]
    address = parse_address(place.name, os.environ.get(place.environment, place.default))
    sys.exit(not is_alive(address, tls=bool(os.environ.get(certificate.environment))))


if __name__ == "__main__":
    main()
