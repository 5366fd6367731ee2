"""The replies of a server stream, as they come, into an answer.

The answer begins with the first records, and with what the server said of the call
before them; until then an error is an answer like any other. After that it is the last
record, `{"error": …}`, or, in a form that has no place for it, the answer breaks off.
Where there is no record for long, a heartbeat keeps the connection, and may begin the answer;
not in a table, where no line counts for nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from aiohttp import web
from grpc.aio import AioRpcError
from roster.v1 import errors_pb2

from .. import errors, headers
from ..answers import Answer
from ..faults import Reason, RequestFault
from ..routing.bindings import Binding
from .answer import StreamedAnswer
from .forms import NDJSON, Form, form_given, form_of

log = logging.getLogger(__name__)

# After how long without a record, in seconds, there is a heartbeat; at most twice this.
HEARTBEAT_SECONDS = 15.0
# How long a heartbeat waits to learn what the server says at the start of its answer.
START_SECONDS = 0.1


class Replies:
    """What becomes of the replies of one call.

    `fault` tells what is wrong with the body of the request, if anything is, and
    `is_unread` whether there is more of it.
    """

    def __init__(
        self,
        request: web.BaseRequest,
        request_id: str,
        binding: Binding,
        *,
        fault: Callable[[], RequestFault | None],
        is_unread: Callable[[], bool],
    ) -> None:
        assert binding.replies is not None
        self._fields = binding.replies
        self._request_id = request_id
        self._fault = fault
        self._is_unread = is_unread
        self._form = form_given(request, binding.replies)
        self._answer = StreamedAnswer(request, binding.success_status, request_id)

    async def pass_on(self, call: Any) -> Answer | StreamedAnswer:
        """Answers with the replies. Raises AioRpcError if the call fails before there is one."""
        try:
            with self._beating(call):
                error = await self._records(call)
            if error is not None and not self._answer.has_begun:
                return errors.response(error, self._request_id, close=self._is_unread())
            await self._end(call, error)
        except ConnectionError:
            self._answer.break_off()
        except Exception:
            if not self._answer.has_begun:
                raise
            log.exception("the gateway failed", extra={"requestId": self._request_id})
            self._answer.break_off()
        return self._answer

    async def _records(self, call: Any) -> errors_pb2.Error | None:
        """Writes the records of the replies. Returns what went wrong, if anything did."""
        try:
            async for reply in call:
                form = self._form or form_of(self._fields, reply)
                records = form.write(self._fields, reply)
                if not records:
                    continue
                self._form = form
                await self._begin(call, form)
                if self._answer.is_head:
                    return None
                await self._answer.write(records)
        except AioRpcError as failed:
            if not self._answer.has_begun:
                raise
            return errors.error_of(failed)
        except ConnectionError:
            raise
        except Exception:
            log.exception("the gateway failed", extra={"requestId": self._request_id})
            return errors_pb2.Error(reason=Reason.Value("INTERNAL"), message=errors.FAILED)
        fault = self._fault()
        return fault.error if fault else None

    async def _begin(self, call: Any, form: Form) -> None:
        """Writes the head, if that was not done. By then there is a reply, or none at all."""
        if not self._answer.has_begun:
            await self._head(form, await call.initial_metadata())

    async def _head(self, form: Form, said: Any) -> None:
        if not self._answer.has_begun:
            more = {**form.headers, **headers.returned(said)}
            await self._answer.begin(form.content_type, more)

    async def _end(self, call: Any, error: errors_pb2.Error | None) -> None:
        """Ends the answer. Raises ConnectionError where it cannot tell of an error."""
        form = self._form or NDJSON
        await self._begin(call, form)
        if error is not None:
            if form.error is None:
                raise ConnectionAbortedError("a table has no place for an error")
            if self._is_unread():
                self._answer.keep_alive = False
            await self._answer.write(form.error(errors.written(error, self._request_id)))
        elif form.end:
            await self._answer.write(form.end)
        await self._answer.end()

    @contextmanager
    def _beating(self, call: Any) -> Iterator[None]:
        """Has heartbeats written meanwhile."""
        if self._answer.is_head:
            yield
            return
        beating = asyncio.ensure_future(self._beat(call))
        try:
            yield
        finally:
            beating.cancel()

    async def _beat(self, call: Any) -> None:
        """Writes a heartbeat whenever nothing else was written for so long."""
        # Where the client has gone, whoever writes the records learns it too.
        with suppress(ConnectionError):
            while True:
                before = self._answer.sent
                await asyncio.sleep(HEARTBEAT_SECONDS)
                form = self._form
                if form is not None and form.heartbeat and self._answer.sent == before:
                    await self._head(form, await _said_so_far(call))
                    await self._answer.write(form.heartbeat)


async def _said_so_far(call: Any) -> Any:
    """Returns what the server says at the start of its answer; nothing if it did not begin."""
    try:
        async with asyncio.timeout(START_SECONDS):
            return await call.initial_metadata()
    except TimeoutError:
        return ()
