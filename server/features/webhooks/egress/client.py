"""The HTTP client that sends all requests to webhooks.

Both the URL and the address that is connected to are checked. Redirects are not followed, and
no proxy and no cookies are used. Receivers are not trusted: a request has a total timeout,
however slowly the receiver responds, and only the beginning of the response is read.

TLS uses the certificate authorities of the system, or the file in SSL_CERT_FILE.
"""

from __future__ import annotations

import logging
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from io import BytesIO

from aiohttp import ClientResponse, ClientSession, ClientTimeout, DummyCookieJar
from yarl import URL

from ....rpc.errors import ValidationError
from .attempt_time import AttemptTime
from .connector import EgressConnector
from .outcome import Outcome, blocked_address, error_for_exception, error_for_status, retry_after
from .policy import BLOCKED, EgressPolicy
from .resolver import Lookup, LookupNotStarted, SystemLookup
from .urls import check_url

log = logging.getLogger(__name__)

# The total timeout: DNS lookup, connection, TLS, request, and response with its body.
TIMEOUT_SECONDS = 15
# Bytes of a body that are read. The rest of a longer one is ignored.
MAX_READ = 16 * 1024
MAX_STORED = 2 * 1024
MAX_HEADER_LINE = 8 * 1024
MAX_HEADERS = 128

# The headers of every request.
HEADERS = {
    "Accept": "*/*",
    # A compressed response is not decompressed.
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
    "User-Agent": f"Roster-Webhooks/{version('roster')}",
}


@dataclass
class _PartialResponse:
    """The part of a response that has arrived."""

    status: int | None = None
    retry_after: float | None = None
    body: bytearray = field(default_factory=bytearray)


class Client:
    """Sends requests to webhooks; a context manager, one per process.

    It does not limit requests in flight; callers do, per endpoint and per account.
    """

    def __init__(
        self,
        egress_policy: EgressPolicy,
        *,
        seconds: float = TIMEOUT_SECONDS,
        lookup: Lookup | None = None,
    ) -> None:
        self.egress_policy = egress_policy
        self._seconds = seconds
        self._lookup = lookup or SystemLookup()
        self._tls = ssl.create_default_context()
        self._tls.set_alpn_protocols(["http/1.1"])

    async def __aenter__(self) -> Client:
        self._session = ClientSession(
            connector=EgressConnector(self.egress_policy, self._lookup, self._tls),
            headers=HEADERS,
            cookie_jar=DummyCookieJar(),
            timeout=ClientTimeout(total=None),
            auto_decompress=False,
            trust_env=False,
            read_bufsize=MAX_READ,
            max_line_size=MAX_HEADER_LINE,
            max_field_size=MAX_HEADER_LINE,
            max_headers=MAX_HEADERS,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Outcome:
        """Sends a body once, with HEADERS and others, and returns the outcome.

        Failures of the receiver do not raise. Raises LookupNotStarted if no attempt was made.
        """
        start, limited = time.monotonic(), AttemptTime(self._seconds)
        received = _PartialResponse()
        error = await self._attempt(url, body, headers, received, limited)
        return Outcome(
            status=received.status,
            error=error,
            retry_after=received.retry_after,
            milliseconds=round((time.monotonic() - start - limited.paused_seconds) * 1000),
            body=bytes(received.body[:MAX_STORED]),
        )

    async def _attempt(
        self,
        url: str,
        body: bytes,
        headers: Mapping[str, str],
        received: _PartialResponse,
        limited: AttemptTime,
    ) -> str:
        """Returns the error; empty for a success."""
        try:
            # Checked again, because the policy may have changed since the URL was stored.
            target = URL(check_url(url, self.egress_policy))
        except ValidationError:
            log.warning("delivery to a URL that is not allowed rejected")
            return BLOCKED
        try:
            async with limited.limit():
                status = await self._exchange(target, body, headers, received)
        except LookupNotStarted:
            raise
        except Exception as error:  # noqa: BLE001 - reported in the outcome
            blocked = blocked_address(error)
            if blocked is not None:
                # Without path and query, which may contain secrets.
                log.warning(
                    "delivery to a blocked address rejected",
                    extra={"host": target.raw_host, "address": blocked.address},
                )
            return error_for_exception(error)
        return error_for_status(status)

    async def _exchange(
        self, target: URL, body: bytes, headers: Mapping[str, str], received: _PartialResponse
    ) -> int:
        response = await self._session.post(
            target, data=BytesIO(body), headers=headers, allow_redirects=False
        )
        try:
            received.status = response.status
            received.retry_after = retry_after(
                response.headers.get("Retry-After"), datetime.now(UTC)
            )
            await _read(response, received.body)
        finally:
            # Closes the connection unless the response was read to its end.
            response.close()
        return response.status


async def _read(response: ClientResponse, body: bytearray) -> None:
    while len(body) < MAX_READ:
        chunk = await response.content.read(MAX_READ - len(body))
        if not chunk:
            return
        body += chunk
