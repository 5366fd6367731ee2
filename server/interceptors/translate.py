"""From exceptions to status codes and google.rpc details; nothing else knows codes.

An error of `errors.py` is told as it is. Anything else is a fault of the
service: the log gets the whole story, the caller one calm sentence.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import cache
from math import ceil
from typing import Any

from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc import StatusCode
from grpc.aio import AbortError
from grpc_status import rpc_status
from roster.v1 import errors_pb2

from .. import caller, deadline
from ..errors import DeadlineExceeded, Internal, RosterError
from ..messages import Context
from .base import Interceptor, Method, Proceed, ProceedStream, add_trailing_metadata
from .deadlines import Deadlines

log = logging.getLogger(__name__)

DOMAIN = "roster"
# How long a call may take when it names no deadline of its own, and the most
# that it may ask for: nobody waits longer for an answer from a list of addresses.
DEADLINE_SECONDS = 30.0
# The faults that are told of one request: they travel in metadata, which is bounded.
MAX_DETAILS = 20
MAX_DETAIL_BYTES = 120


class Translate(Interceptor):
    """Applies the deadline, and turns what a call raises into a status."""

    def __init__(self) -> None:
        super().__init__()
        self._deadlines = Deadlines()

    async def around(
        self, method: Method, proceed: Proceed, request: Any, context: Context
    ) -> Message:
        remaining = context.time_remaining()
        limit = DEADLINE_SECONDS if remaining is None else min(remaining, DEADLINE_SECONDS)
        task, end = self._start(limit)
        deadline.set_deadline(end)
        try:
            if limit <= 0:
                raise DeadlineExceeded
            return await proceed(request, context)
        except BaseException as error:  # noqa: BLE001 - what is not ours is raised again
            told = self._told(method, task, error)
        finally:
            self._deadlines.end(task)
        await abort(context, told)
        raise AssertionError("abort always raises")

    async def around_stream(
        self, method: Method, proceed: ProceedStream, request: Any, context: Context
    ) -> AsyncGenerator[Message, None]:
        """A stream may take as long as its client gives it.

        Its time goes on while it waits for its client, but only what it does itself is
        cancelled by it: meanwhile the task may be at something else.
        """
        task: asyncio.Task[Any] | None = None
        deadline.set_deadline(None)
        try:
            task = self._start_stream(context)
            async with aclosing(proceed(request, context)) as replies:
                async for reply in replies:
                    self._end_stream(task)
                    yield reply
                    task = self._start_stream(context)
            return
        except BaseException as error:  # noqa: BLE001 - what is not ours is raised again
            told = self._told(method, task, error)
        finally:
            self._end_stream(task)
        await abort(context, told)

    def _start_stream(self, context: Context) -> asyncio.Task[Any] | None:
        """Gives the current task what a stream has left. Raises DeadlineExceeded if nothing is."""
        remaining = context.time_remaining()
        if remaining is not None and remaining <= 0:
            raise DeadlineExceeded
        return None if remaining is None else self._start(remaining)[0]

    def _end_stream(self, task: asyncio.Task[Any] | None) -> None:
        if task is not None:
            self._deadlines.end(task)

    def _start(self, seconds: float) -> tuple[asyncio.Task[Any], float]:
        task = asyncio.current_task()
        assert task is not None
        return task, self._deadlines.start(task, seconds)

    def _told(
        self, method: Method, task: asyncio.Task[Any] | None, error: BaseException
    ) -> RosterError:
        """Returns what the caller is told of an error; raises what is not to be told."""
        if isinstance(error, RosterError):
            return error
        if isinstance(error, asyncio.CancelledError) and task and self._deadlines.expired(task):
            return DeadlineExceeded()
        if isinstance(error, AbortError) or not isinstance(error, Exception):
            raise error
        log.error(
            "%s failed", method.name, exc_info=error, extra={"requestId": caller.request_id()}
        )
        return Internal()


async def abort(context: Context, error: RosterError) -> None:
    """Ends the call with the status and details of an error."""
    request_id = caller.request_id()
    status = rpc_status.to_status(status_of(error, request_id))
    add_trailing_metadata(context, *(status.trailing_metadata or ()))
    if error.retry_after is not None:
        add_trailing_metadata(
            context,
            # HTTP knows whole seconds.
            ("retry-after", str(max(1, ceil(error.retry_after)))),
            # By this, gRPC's own retries wait as long (gRFC A6).
            ("grpc-retry-pushback-ms", str(ceil(error.retry_after * 1000))),
        )
    await context.abort(status.code, status.details)


def status_of(error: RosterError, request_id: str) -> status_pb2.Status:
    """Returns the error as google.rpc.Status with ErrorInfo and RequestInfo.

    Where the error has them, with BadRequest and RetryInfo.
    """
    details: list[Message] = [error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN)]
    if error.details:
        details.append(
            error_details_pb2.BadRequest(
                field_violations=[
                    error_details_pb2.BadRequest.FieldViolation(
                        field=_cut(detail.field),
                        description=_cut(detail.message),
                        reason=detail.code,
                    )
                    for detail in error.details[:MAX_DETAILS]
                ]
            )
        )
    if error.retry_after is not None:
        delay = Duration()
        delay.FromMilliseconds(ceil(error.retry_after * 1000))
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    details.append(error_details_pb2.RequestInfo(request_id=request_id))
    packed = []
    for detail in details:
        packed.append(AnyMessage())
        packed[-1].Pack(detail)
    return status_pb2.Status(code=_code(error.reason), message=error.message, details=packed)


def _cut(text: str) -> str:
    """Returns a text that fits into metadata beside nineteen others."""
    if len(text) <= MAX_DETAIL_BYTES // 4:
        return text
    return text.encode()[:MAX_DETAIL_BYTES].decode(errors="ignore")


@cache
def _code(reason: str) -> int:
    """Returns the status code that errors.proto gives to a reason."""
    value = errors_pb2.Error.Reason.DESCRIPTOR.values_by_name[reason]
    code = value.GetOptions().Extensions[errors_pb2.error_mapping].grpc
    assert StatusCode[code_pb2.Code.Name(code)]
    return int(code)
