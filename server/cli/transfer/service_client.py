"""A running service, as commands reach it over HTTP."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiohttp
import orjson

from ...config import API_KEY
from ...console import ExitCode
from .errors import TransferError

# How long the service may take to accept a connection, and how long it may then be
# silent. It is silent while it passes over lines that an earlier run has told of.
CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 300.0
# Bytes that are sent or kept at once.
PIECE = 1 << 17
# Errors that may be gone when the same is asked again.
_PASSING = {"Internal", "Unavailable", "DeadlineExceeded", "RateLimited", "RequestTimeout"}


def fingerprint(key: str) -> str:
    """Returns what tells a key from others, and does not give it away."""
    return hashlib.sha256(key.encode()).hexdigest()[:16]


class First(NamedTuple):
    """How many subscribers a list has, and the id of the first; empty if it has none."""

    total: int
    id: str


class Remote:
    """A running service and a key of an account on it. Open while it is entered."""

    def __init__(self, url: str, key: str) -> None:
        """Raises TransferError if it is no address, or not a key."""
        if not _is_address(url):
            raise TransferError(f"{url!r} is not an http:// or https:// address.", ExitCode.USAGE)
        if not key:
            raise TransferError(
                f"An API key is needed: give one in {API_KEY} or with --api-key.",
                ExitCode.USAGE,
            )
        if not (key.isascii() and key.isprintable()):
            raise TransferError("The API key holds characters that no key has.", ExitCode.USAGE)
        self.url = url.rstrip("/")
        self.key = key

    async def __aenter__(self) -> Remote:
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=CONNECT_SECONDS, sock_read=SILENCE_SECONDS
        )
        self._session = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {self.key}", "User-Agent": "roster"},
            timeout=timeout,
            read_bufsize=PIECE,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._session.close()

    async def first(self, **query: str) -> First:
        """Returns what a list begins with that has these filters and this order."""
        page = await self.get("/api/subscribers", limit="1", **query)
        try:
            return First(int(page["total"]), page["subscribers"][0]["id"] if page["total"] else "")
        except (ValueError, LookupError, TypeError):
            raise self.stranger() from None

    async def get(self, path: str, **query: str) -> Any:
        """Returns the JSON that is at a path."""
        async with self.answer("GET", path, query) as answer:
            body = b"".join([block async for block in blocks(answer)])
        try:
            return orjson.loads(body)
        except ValueError:
            raise self.stranger() from None

    def stranger(self) -> TransferError:
        """Returns what an answer is called that no service of ours would give."""
        return TransferError(f"What answers at {self.url} is not Roster.", ExitCode.REFUSED)

    @asynccontextmanager
    async def answer(
        self, method: str, path: str, query: Mapping[str, str], **more: Any
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Sends a request and gives the answer, once it has begun, if it is a good one."""
        try:
            answer = await self._session.request(
                method, f"{self.url}{path}", params=query, allow_redirects=False, **more
            )
        except aiohttp.ClientConnectorCertificateError as error:
            raise TransferError(
                f"What answers at {self.url} cannot be trusted: {error.certificate_error}."
                " Authorities of your own are trusted in a file that SSL_CERT_FILE names.",
                ExitCode.UNREACHABLE,
            ) from error
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise TransferError(
                f"There is no service at {self.url} that can be reached.", ExitCode.UNREACHABLE
            ) from error
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise broken(error) from error
        async with answer:
            if answer.status != 200:
                raise await self._refused(answer)
            yield answer

    async def _refused(self, answer: aiohttp.ClientResponse) -> TransferError:
        """Returns why the service did not take a request."""
        try:
            said = _said(orjson.loads(await answer.read()))
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError):
            said = f"status {answer.status}"
        if answer.status == 401:
            sentence = f"The service at {self.url} does not know this API key."
        elif answer.status == 403:
            sentence = f"This API key may not do that: {said}"
        else:
            sentence = f"The service at {self.url} refused: {said}"
        again = answer.status >= 500 or answer.status == 429
        ending = ExitCode.BROKEN if again else ExitCode.REFUSED
        return TransferError(sentence, ending)


def _is_address(url: str) -> bool:
    """Whether a text is where a service could be."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


async def blocks(answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Yields an answer in blocks of whole lines, as it comes.

    A line without an end comes last. Raises TransferError if the answer breaks off;
    the line that was begun by then is dropped.
    """
    rest: list[bytes] = []
    try:
        async for piece in answer.content.iter_any():
            cut = piece.rfind(b"\n") + 1
            if cut:
                yield b"".join((*rest, piece[:cut]))
                rest = []
            rest.append(piece[cut:])
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        raise broken(error) from error
    if any(rest):
        yield b"".join(rest)


def broken(error: Exception) -> TransferError:
    """Returns what a connection that failed half-way is called."""
    late = isinstance(error, TimeoutError)
    what = "The service has been silent for too long." if late else "The connection broke off."
    return TransferError(what, ExitCode.BROKEN)


def told_error(line: bytes) -> TransferError | None:
    """Returns what the last line of an answer says went wrong half-way, if it is such a line."""
    if not line.startswith(b'{"error"'):
        return None
    body = orjson.loads(line)
    again = body["error"].get("code") in _PASSING
    ending = ExitCode.BROKEN if again else ExitCode.REFUSED
    return TransferError(f"The service broke off: {_said(body)}", ending)


def _said(body: Any) -> str:
    """Returns what an error of the service says, with its details, on one line."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        raise ValueError("not an error of the service")
    details = [f"{each['field']} {each['message']}" for each in error.get("details") or []]
    message = str(error.get("message", error.get("code")))
    return " ".join([message, "; ".join(details)]).strip() if details else message
