"""Writes the replies of a server stream to an HTTP response as they arrive.

The response begins as soon as the server accepts the call, which it shows by sending
initial metadata that is not empty: a response of trailers only has none. A server that
sends none begins the response with its first record. Until then an error is a response
like any other; after that it is the last record, `{"error": …}`, or, in a form that has
no place for it, the response breaks off.

If nothing is written for 15 seconds, a keepalive record is, unless the form is a table,
where every line counts. It also begins the response of a server that has sent nothing yet.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from aiohttp import web
from grpc.aio import AioRpcError

from .. import errors, headers
from ..channel.cancellation import failure_of
from ..errors import HttpError
from ..request_errors import RequestError
from ..responses import Response
from ..routing.bindings import Binding
from .formats import NDJSON, Form, form_given, form_of
from .response import StreamResponse

log = logging.getLogger(__name__)

# How long after the last bytes a keepalive record is written, in seconds.
KEEPALIVE_SECONDS = 15.0


class Replies:
    """Writes the replies of one call.

    `fault` tells what is wrong with the body of the request, if anything is, and
    `is_unread` whether there is more of it. `message` is the request without its records.
    """

    def __init__(
        self,
        request: web.BaseRequest,
        request_id: str,
        binding: Binding,
        message: Any,
        *,
        fault: Callable[[], RequestError | None],
        is_unread: Callable[[], bool],
        keepalive_seconds: float = KEEPALIVE_SECONDS,
    ) -> None:
        assert binding.response_records is not None
        self._fields = binding.response_records
        self._request_id = request_id
        self._fault = fault
        self._is_unread = is_unread
        self._form = form_given(request, binding.response_records, message)
        self._response = StreamResponse(request, binding.success_status, request_id)
        self._keepalive_seconds = keepalive_seconds

    async def pass_on(self, call: Any) -> Response | StreamResponse:
        """Writes the response. Raises AioRpcError if the call fails before it is accepted."""
        error = None
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(None) as until_head:
                    with self._accompanied(call, until_head):
                        error = await self._records(call)
            if error is not None and not self._response.has_begun:
                return errors.response(error, self._request_id, close=self._is_unread())
            await self._end(call, error)
        except ConnectionError:
            self._response.break_off()
        except Exception:
            if not self._response.has_begun:
                raise
            log.exception("the gateway failed", extra={"requestId": self._request_id})
            self._response.break_off()
        return self._response

    async def _records(self, call: Any) -> HttpError | None:
        """Writes the records of the replies. Returns what went wrong, if anything did."""
        try:
            async for reply in call:
                form = self._form or form_of(self._fields, reply)
                records = form.write(self._fields, reply)
                if not records:
                    continue
                self._form = form
                await self._begin(call, form)
                if self._response.is_head:
                    return None
                await self._response.write(records)
        except AioRpcError as failed:
            return self._error(failed)
        except asyncio.CancelledError as cancelled:
            return self._error(await failure_of(cancelled, call))
        except ConnectionError:
            raise
        except Exception:
            log.exception("the gateway failed", extra={"requestId": self._request_id})
            return errors.INTERNAL
        fault = self._fault()
        return errors.of(fault.error) if fault else None

    def _error(self, failed: AioRpcError) -> HttpError:
        """Returns the error that ends the response; raises it if the response has not begun."""
        if not self._response.has_begun:
            raise failed
        return errors.error_of(failed)

    async def _begin(self, call: Any, form: Form) -> None:
        """Writes the head, if that was not done. By then there is a reply, or none at all."""
        if not self._response.has_begun:
            await self._head(form, await call.initial_metadata())

    async def _head(self, form: Form, said: Any) -> None:
        if not self._response.has_begun:
            more = {"Vary": "Accept", **form.headers, **headers.returned(said)}
            await self._response.begin(form.content_type, more)

    async def _end(self, call: Any, error: HttpError | None) -> None:
        """Ends the answer. Raises ConnectionError where it cannot tell of an error."""
        form = self._form or NDJSON
        await self._begin(call, form)
        if error is not None:
            if form.error is None:
                raise ConnectionAbortedError("a table has no place for an error")
            if self._is_unread():
                self._response.keep_alive = False
            await self._response.write(form.error(errors.written(error, self._request_id)))
        elif form.end:
            await self._response.write(form.end)
        await self._response.end()

    @contextmanager
    def _accompanied(self, call: Any, until_head: asyncio.Timeout) -> Iterator[None]:
        """Has the response begun and kept alive while its records are read.

        `until_head` ends the reading once the head is written, if that is all that is asked for.
        """
        tasks = [asyncio.ensure_future(self._open(call, until_head))]
        if not self._response.is_head:
            tasks.append(asyncio.ensure_future(self._keep_alive()))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()

    async def _open(self, call: Any, until_head: asyncio.Timeout) -> None:
        """Writes the head once the server has accepted the call, if the form is known."""
        # If the client has gone, the task that writes the records learns it too.
        with suppress(ConnectionError):
            said = await call.initial_metadata()
            if said and self._form is not None:
                await self._head(self._form, said)
                if self._response.is_head:
                    until_head.reschedule(asyncio.get_running_loop().time())

    async def _keep_alive(self) -> None:
        """Writes a keepalive record whenever nothing was written for so long."""
        loop = asyncio.get_running_loop()
        with suppress(ConnectionError):
            while True:
                due = self._response.written_at + self._keepalive_seconds
                form = self._form
                if loop.time() < due:
                    await asyncio.sleep(due - loop.time())
                elif form is None:
                    await asyncio.sleep(self._keepalive_seconds)
                elif form.heartbeat:
                    await self._head(form, ())
                    await self._response.write(form.heartbeat)
                else:
                    return
