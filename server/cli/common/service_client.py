"""An HTTP client for commands that call a running service."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

import aiohttp
import orjson
import uvloop
import yarl

from ...config import API_KEY, URL
from ...serving.console import CommandError, ExitCode
from .endings import interruptible
from .files import CHUNK_BYTES
from .flags import error_text

Result = TypeVar("Result")

CONNECT_SECONDS = 10.0
# The service sends nothing while it skips lines that an earlier run has already imported.
READ_SECONDS = 300.0
# Errors that may not occur again if the request is repeated: HTTP statuses, and the codes that can
# end a response.
_TRANSIENT = {408, 429, 500, 502, 503, 504, 507}
_TRANSIENT_CODES = {
    "Internal",
    "Unavailable",
    "DeadlineExceeded",
    "RequestTimeout",
    "ResponseNotRead",
}
_INVALID = "ValidationError"
_NONE: Mapping[str, Any] = {}
_KEY_HINT = (
    "To create a key, run roster keys create --scope write on the machine of the service."
    " roster accounts list lists its accounts."
)


def run(call: Coroutine[Any, Any, Result], *, if_interrupted: str = "Interrupted.") -> Result:
    """Runs calls of a service. Raises CommandError with this message after Ctrl-C."""
    with interruptible(if_interrupted):
        return uvloop.run(call)


def fingerprint(key: str) -> str:
    """Returns a short hash that identifies an API key without revealing it."""
    return hashlib.sha256(key.encode()).hexdigest()[:16]


class ServiceClient:
    """A client with an API key of one account, to be used as an async context manager."""

    def __init__(self, url: str, key: str) -> None:
        """Raises CommandError if the URL or the key is malformed."""
        if not _is_http_url(url):
            raise CommandError(f"{url!r} is not an http:// or https:// URL.", ExitCode.USAGE)
        if not key:
            raise CommandError(
                f"An API key is required. Set {API_KEY} or use --api-key. {_KEY_HINT}",
                ExitCode.USAGE,
            )
        if not (key.isascii() and key.isprintable()):
            raise CommandError("The API key contains invalid characters.", ExitCode.USAGE)
        self.url = url.rstrip("/")
        self.key = key
        # The fields of the last request, which errors name.
        self._sent: Mapping[str, Any] = {}

    async def __aenter__(self) -> ServiceClient:
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=CONNECT_SECONDS, sock_read=READ_SECONDS
        )
        self._session = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {self.key}", "User-Agent": "roster"},
            timeout=timeout,
            read_bufsize=CHUNK_BYTES,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def count_subscribers(self, **query: str) -> int:
        """Returns the number of subscribers that match these filters."""
        page = await self.get("/api/subscribers", limit="1", **query)
        try:
            return int(page["total"])
        except (ValueError, LookupError, TypeError):
            raise self.not_roster() from None

    async def get(self, path: str, **query: str) -> Any:
        """Returns the JSON value at a path."""
        async with self.request("GET", path, query) as response:
            return await self._json(response)

    async def get_page(self, path: str, query: Mapping[str, str]) -> tuple[Any, str]:
        """Returns the JSON value of a page and the token of the next page; empty on the last."""
        async with self.request("GET", path, query) as response:
            link = response.links.get("next")
            token = yarl.URL(str(link["url"])).query.get("pageToken", "") if link else ""
            return await self._json(response), token

    async def post(self, path: str, body: Any, *, fields: Mapping[str, Any] = _NONE) -> Any:
        """Sends a JSON value to a path and returns the JSON value of the response.

        Errors also name these fields.
        """
        async with self.request("POST", path, {}, fields=fields, json=body) as response:
            return await self._json(response)

    async def put(self, path: str, data: bytes, **query: str) -> Any:
        """Sends bytes to a path and returns the JSON value of the response."""
        async with self.request("PUT", path, query, data=data) as response:
            return await self._json(response)

    async def _json(self, response: aiohttp.ClientResponse) -> Any:
        body = b"".join([block async for block in line_blocks(response)])
        try:
            return orjson.loads(body)
        except ValueError:
            raise self.not_roster() from None

    def not_roster(self) -> CommandError:
        """Returns the error for a response that Roster does not send."""
        return CommandError(f"The server at {self.url} is not Roster.", ExitCode.REJECTED)

    @asynccontextmanager
    async def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | Sequence[str]],
        *,
        fields: Mapping[str, Any] = _NONE,
        **options: Any,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Sends a request and yields the response when its headers arrive.

        Errors name the fields of the request, and others that are given. Raises CommandError unless
        its status is 2xx.
        """
        self._sent = {**query, **(options.get("json") or {}), **fields}
        try:
            response = await self._session.request(
                method, f"{self.url}{path}", params=query, allow_redirects=False, **options
            )
        except aiohttp.ClientConnectorCertificateError as error:
            raise CommandError(
                f"The TLS certificate of {self.url} is not trusted: {error.certificate_error}. To"
                " trust a private CA, set SSL_CERT_FILE to a file with its certificate.",
                ExitCode.UNREACHABLE,
            ) from error
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise CommandError(
                f"Cannot connect to {self.url}. Set {URL} or use --url for another address.",
                ExitCode.UNREACHABLE,
            ) from error
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            lost, is_plain = connection_lost(error), self.url.startswith("http:")
            tls_hint = "If the port requires TLS, use a URL with https://."
            raise lost.with_hint(tls_hint if is_plain else "") from error
        async with response:
            try:
                if not 200 <= response.status < 300:
                    raise await self._rejection(response)
                yield response
            finally:
                # Otherwise an upload that the service no longer reads keeps the connection open.
                connection = response.connection
                if connection is not None and connection.transport is not None:
                    connection.transport.abort()

    async def _rejection(self, response: aiohttp.ClientResponse) -> CommandError:
        code = ExitCode.INCOMPLETE if response.status in _TRANSIENT else ExitCode.REJECTED
        try:
            error = _error_of(orjson.loads(await response.read()))
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError):
            return CommandError(self._foreign_error(response.status), code)
        text = error_text(error, self._sent)
        if response.status == 401:
            text = f"The service at {self.url} does not accept this API key. {_KEY_HINT}"
        elif response.status == 403:
            text = f"This API key is not permitted to do this: {text}"
        elif error.get("code") != _INVALID:
            text = f"The service at {self.url} rejected the request: {text}"
        return CommandError(text, code, error)

    def _foreign_error(self, status: int) -> str:
        """Returns the message for an error that Roster did not send, as a proxy does."""
        if status == 413:
            return (
                f"A proxy at {self.url} rejected the request because of its size (HTTP 413)."
                " Roster reads files of any size: raise the limit of the proxy, such as"
                " client_max_body_size of nginx, or import the file in parts."
            )
        return (
            f"The server at {self.url} responded with HTTP {status}, and not with an error of"
            " Roster. It may be a proxy, or another service."
        )

    def error_of_line(self, line: bytes) -> CommandError | None:
        """Returns the error with which the service ended a streamed response, if it is one."""
        if not line.startswith(b'{"error"'):
            return None
        error = _error_of(orjson.loads(line))
        text = error_text(error, self._sent)
        if error.get("code") != _INVALID:
            text = f"The service ended the response with an error: {text}"
        is_transient = error.get("code") in _TRANSIENT_CODES
        code = ExitCode.INCOMPLETE if is_transient else ExitCode.REJECTED
        return CommandError(text, code, error)

    def split_error(self, block: bytes) -> tuple[bytes, CommandError | None]:
        """Splits off the last line if the service ended the response with an error."""
        cut = block.rfind(b"\n", 0, len(block) - 1) + 1
        error = self.error_of_line(block[cut:])
        return (block, None) if error is None else (block[:cut], error)


def _error_of(body: Any) -> Mapping[str, Any]:
    """Returns the error in a body. Raises ValueError if it is not one of the service."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        raise ValueError("not an error of the service")
    return error


def _is_http_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


async def line_blocks(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Yields the body as it arrives, in blocks of complete lines.

    The last line may lack its line break. Raises CommandError if the connection is lost; an
    incomplete line is then dropped.
    """
    rest: list[bytes] = []
    try:
        async for chunk in response.content.iter_any():
            cut = chunk.rfind(b"\n") + 1
            if cut:
                yield b"".join((*rest, chunk[:cut]))
                rest = []
            rest.append(chunk[cut:])
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        raise connection_lost(error) from error
    if any(rest):
        yield b"".join(rest)


def connection_lost(error: Exception) -> CommandError:
    """Returns the error for a connection that failed after it was established."""
    timed_out = isinstance(error, TimeoutError)
    silent = f"The service sent no data for {READ_SECONDS:.0f} seconds."
    return CommandError(silent if timed_out else "The connection was lost.", ExitCode.INCOMPLETE)
