"""Writes the responses of a server stream to HTTP as they arrive.

The HTTP response starts when the server accepts the call, which it shows by initial metadata that
is not empty; a failed call can have only trailing metadata. If a server sends no initial
metadata, the HTTP response starts with the first record. An error before that is a normal error
response. A later error is the last record, `{"error": …}`, or, in a format without errors, an
aborted connection.

If nothing was written for `stream_keepalive_seconds`, a keepalive record is written, except in
CSV, where each line counts, and if the client has data to read. It also starts the response if
the server has sent nothing yet. One follows the head after `FIRST_KEEPALIVE_SECONDS`, because
`fetch` of Firefox returns a response only when the first byte of its body has arrived.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import orjson
from grpc.aio import AioRpcError

from .. import errors
from ..body import is_unread
from ..channel.cancellation import cancellation_error
from ..headers import add_vary, response_headers
from ..request import Request
from ..request_errors import HttpError
from ..responses import Response
from ..routing.bindings import Binding
from .client_stream import RequestMessages
from .formats import NDJSON, ResponseFormat, format_of_reply, format_of_request
from .response import StreamResponse

log = logging.getLogger(__name__)

FIRST_KEEPALIVE_SECONDS = 1.0


class ResponseWriter:
    """Writes the response of one call.

    `message` is the request without its records, and `messages` are those with the records of its
    body, if the client streams. The rest of the body is discarded if the client stops reading.
    """

    def __init__(
        self,
        request: Request,
        request_id: str,
        binding: Binding,
        message: Any,
        messages: RequestMessages | None,
    ) -> None:
        assert binding.response_records is not None
        self._fields = binding.response_records.selected_by(message)
        self._request = request
        self._request_id = request_id
        self._messages = messages
        self._format = format_of_request(request, binding.response_records, message)
        on_stop = messages.discard_rest if messages else None
        self._response = StreamResponse(request, binding.success_status, request_id, on_stop)
        self._policy = request.options.policy
        self._keepalive_seconds = request.options.stream_keepalive_seconds

    async def write_response(self, call: Any) -> Response | StreamResponse:
        """Writes the response. Raises AioRpcError if the call fails before it is accepted."""
        error = None
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(None) as head_timeout:
                    with self._background_tasks(call, head_timeout):
                        error = await self._write_records(call)
            if error is not None and not self._response.has_started:
                return errors.response(error, self._request_id, close=is_unread(self._request))
            await self._end(call, error)
        except ConnectionError:
            self._response.abort()
        except Exception:
            if not self._response.has_started:
                raise
            log.exception("the gateway failed", extra={"requestId": self._request_id})
            self._response.abort()
        return self._response

    async def _write_records(self, call: Any) -> HttpError | None:
        """Writes the records. Returns the error that ended them, if any."""
        try:
            async for reply in call:
                if self._messages is not None and self._messages.error is not None:
                    # A summary of an incomplete body would look like success.
                    self._fields.clear_others(reply)
                response_format = self._format or format_of_reply(self._fields, reply)
                records = response_format.encode(self._fields, reply)
                # Released before the write, which waits for a slow client.
                del reply
                if not records:
                    continue
                self._format = response_format
                await self._start(call, response_format)
                if self._response.is_head:
                    return None
                await self._response.write(records)
        except AioRpcError as failed:
            return self._call_error(failed)
        except asyncio.CancelledError:
            cancellation = await cancellation_error(call)
            if cancellation is None:
                raise
            return self._call_error(cancellation)
        except ConnectionError:
            raise
        except Exception:
            log.exception("the gateway failed", extra={"requestId": self._request_id})
            return errors.INTERNAL
        error = self._messages.error if self._messages else None
        return error.error if error else None

    def _call_error(self, failed: AioRpcError) -> HttpError:
        """Returns the error that ends the response, or raises it if there is no response yet."""
        if not self._response.has_started:
            raise failed
        return errors.call_error(failed, self._policy.errors)

    async def _start(self, call: Any, response_format: ResponseFormat) -> None:
        """Writes the head unless it is written. Must be called after the first message."""
        if not self._response.has_started:
            await self._write_head(response_format, await call.initial_metadata())

    async def _write_head(self, response_format: ResponseFormat, metadata: Any) -> None:
        if not self._response.has_started:
            more = {**response_format.headers, **response_headers(metadata, self._policy.headers)}
            add_vary(more, "Accept")
            await self._response.start(response_format.content_type, more)

    async def _end(self, call: Any, error: HttpError | None) -> None:
        """Ends the response. Raises ConnectionError if the format has no errors."""
        response_format = self._format or NDJSON
        await self._start(call, response_format)
        if error is not None:
            if response_format.encode_error is None:
                raise ConnectionAbortedError("the format has no errors")
            if is_unread(self._request):
                self._response.keep_alive = False
            body = orjson.dumps(errors.as_json(error, self._request_id))
            await self._response.write(response_format.encode_error(body))
        elif response_format.end:
            await self._response.write(response_format.end)
        await self._response.end()

    @contextmanager
    def _background_tasks(self, call: Any, head_timeout: asyncio.Timeout) -> Iterator[None]:
        """Starts the response, and writes keepalive records, while the records are written.

        `head_timeout` ends the response to a HEAD request after its head.
        """
        tasks = [asyncio.ensure_future(self._start_if_accepted(call, head_timeout))]
        if not self._response.is_head:
            tasks.append(asyncio.ensure_future(self._write_keepalives()))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()

    async def _start_if_accepted(self, call: Any, head_timeout: asyncio.Timeout) -> None:
        """Writes the head when the server has accepted the call, if the format is known."""
        # If the client disconnects, writing the records fails too.
        with suppress(ConnectionError):
            metadata = await call.initial_metadata()
            if metadata and self._format is not None:
                await self._write_head(self._format, metadata)
                if self._response.is_head:
                    head_timeout.reschedule(asyncio.get_running_loop().time())
                    return
                began = self._response.written_at
                await asyncio.sleep(FIRST_KEEPALIVE_SECONDS)
                if self._response.written_at == began and self._format.keepalive:
                    await self._response.write(self._format.keepalive)

    async def _write_keepalives(self) -> None:
        loop = asyncio.get_running_loop()
        with suppress(ConnectionError):
            while True:
                due = self._response.written_at + self._keepalive_seconds
                response_format = self._format
                if loop.time() < due:
                    await asyncio.sleep(due - loop.time())
                elif response_format is None or self._response.has_unread:
                    await asyncio.sleep(self._keepalive_seconds)
                elif response_format.keepalive:
                    await self._write_head(response_format, ())
                    await self._response.write(response_format.keepalive)
                else:
                    return
