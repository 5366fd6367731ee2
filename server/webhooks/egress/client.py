"""Every request that Roster makes for a webhook leaves through here.

A delivery goes to the URL that was checked, at an address that was checked when it was
connected to, and nowhere else: no redirect is followed, no proxy and no cookie is used.
The receiver may be anybody's; so a delivery takes seconds at most, whether the receiver
answers, drips or hangs, and of what it says little is read and less is kept.

TLS trusts the authorities of the system, or those in the file that SSL_CERT_FILE names.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from io import BytesIO
from types import TracebackType

from aiohttp import ClientResponse, ClientSession, ClientTimeout, DummyCookieJar
from yarl import URL

from ...errors import ValidationError
from .connector import make_connector
from .outcome import Outcome, blocked, error_for_exception, error_for_status, retry_after
from .policy import BLOCKED, EgressPolicy
from .resolver import Lookup, SystemLookup
from .urls import check_url

log = logging.getLogger(__name__)

# For everything: the look-up, connecting, TLS, sending, and the answer with its body.
TIMEOUT_SECONDS = 15
# A longer answer is cut off, and judged by its status alone.
MAX_READ = 16 * 1024
MAX_STORED = 2 * 1024
MAX_HEADER_LINE = 8 * 1024
MAX_HEADERS = 128

_HEADERS = {
    # What is sent packed all the same is not unpacked.
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
    "User-Agent": f"Roster-Webhooks/{version('roster')}",
}


@dataclass
class _PartialResponse:
    """As much as has arrived of an answer."""

    status: int | None = None
    retry_after: float | None = None
    body: bytearray = field(default_factory=bytearray)


class Client:
    """Sends events to receivers; one serves a whole process, as a context manager.

    It takes any number of deliveries at a time: how many one endpoint and one account
    may have is for the caller to bound.
    """

    def __init__(
        self,
        egress_policy: EgressPolicy,
        *,
        seconds: float = TIMEOUT_SECONDS,
        lookup: Lookup | None = None,
    ) -> None:
        self._egress_policy = egress_policy
        self._seconds = seconds
        self._lookup = lookup or SystemLookup()
        self._tls = ssl.create_default_context()
        self._tls.set_alpn_protocols(["http/1.1"])

    async def __aenter__(self) -> Client:
        self._session = ClientSession(
            connector=make_connector(self._egress_policy, self._lookup, self._tls),
            headers=_HEADERS,
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

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._session.close()

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Outcome:
        """Sends a body once and returns what came of it, whatever the receiver does."""
        begun = time.monotonic()
        received = _PartialResponse()
        error = await self._attempt(url, body, headers, received)
        return Outcome(
            status=received.status,
            error=error,
            retry_after=received.retry_after,
            milliseconds=round((time.monotonic() - begun) * 1000),
            body=bytes(received.body[:MAX_STORED]),
        )

    async def _attempt(
        self, url: str, body: bytes, headers: Mapping[str, str], received: _PartialResponse
    ) -> str:
        """Returns the error; empty for a success."""
        try:
            # Again, since less may be allowed than when the URL was kept.
            target = URL(check_url(url, self._egress_policy))
        except ValidationError:
            log.warning("a delivery to a URL that is not allowed was refused")
            return BLOCKED
        try:
            async with asyncio.timeout(self._seconds):
                status = await self._exchange(target, body, headers, received)
        except Exception as error:  # noqa: BLE001 - told in the outcome
            refused = blocked(error)
            if refused is not None:
                # Without path and query, which may hold secrets.
                log.warning(
                    "a delivery to a blocked address was refused",
                    extra={"host": target.raw_host, "address": refused.address},
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
            # This ends the connection, unless the answer was read to its end.
            response.close()
        return response.status


async def _read(response: ClientResponse, body: bytearray) -> None:
    while len(body) < MAX_READ:
        part = await response.content.read(MAX_READ - len(body))
        if not part:
            return
        body += part
